//! A survey: where losses look like a policer's, but too little was sent between them to tell its rate, more is sent than it
//! lets through, for as long as pins the rate. It costs a fifth of what is sent meanwhile; a control that backs off from
//! each loss would hear of the rate as seldom as it meets it.

/// Sent so much faster than the suspected rate: that is known to an eighth (as the log spans eight times what counts as near),
/// so it is at least 9 % faster than the real one.
const FASTER: f64 = 1.25;
/// And while the last of it is not heard of, so much slower.
const SLOWER: f64 = 0.875;

/// A survey that goes on.
#[derive(Clone, Copy, Debug)]
pub struct RateSurvey {
    rate: f64,
    left: f64,
    last: Option<u64>,
}

impl RateSurvey {
    /// About a rate, bytes a second, with so many bytes.
    pub fn new(rate: f64, bytes: f64) -> RateSurvey {
        RateSurvey { rate, left: bytes, last: None }
    }

    /// How fast it sends, bytes a second.
    pub fn pace(&self) -> f64 {
        self.rate * if self.last.is_none() { FASTER } else { SLOWER }
    }

    /// A packet leaves.
    pub fn on_sent(&mut self, number: u64, bytes: f64) {
        self.left -= bytes;
        if self.left <= 0.0 {
            self.last.get_or_insert(number);
        }
    }

    /// Its last packet, once that has left.
    pub fn last(&self) -> Option<u64> {
        self.last
    }
}
