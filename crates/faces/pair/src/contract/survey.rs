//! A survey. If losses look like a policer's, but too little was sent between them to determine its rate, the
//! sender exceeds the rate for as long as that takes. It costs a fifth of what is sent meanwhile. A control
//! that backs off at each loss would rarely reach the rate, and so rarely learn about it.

/// The speed relative to the suspected rate. That rate is known to 1/8 (the log spans eight tolerances), so
/// this is at least 9 % faster than the real one.
const SURVEY_SPEED: f64 = 1.25;
/// The speed while the outcome of the last packets is not known yet.
const WAITING_SPEED: f64 = 0.875;

/// A running survey.
#[derive(Clone, Copy, Debug)]
pub struct RateSurvey {
    rate: f64,
    left: f64,
    last: Option<u64>,
}

impl RateSurvey {
    /// A survey of a rate, bytes per second, that sends this many bytes.
    pub fn new(rate: f64, bytes: f64) -> RateSurvey {
        RateSurvey { rate, left: bytes, last: None }
    }

    /// How fast it sends, bytes per second.
    pub fn pace(&self) -> f64 {
        self.rate * if self.last.is_none() { SURVEY_SPEED } else { WAITING_SPEED }
    }

    /// A packet is sent.
    pub fn on_sent(&mut self, number: u64, bytes: f64) {
        self.left -= bytes;
        if self.left <= 0.0 {
            self.last.get_or_insert(number);
        }
    }

    /// The number of its last packet, once that has been sent.
    pub fn last(&self) -> Option<u64> {
        self.last
    }
}
