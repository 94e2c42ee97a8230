//! Records which datagrams of a flow arrived and when, in a simulated or real run, and summarises them.

use crate::e_model::{SpeechLoss, mos, r_factor};
use result::{Histogram, RealTime, RttSummary};
use transport::{App, JITTER_BUFFER, RatedCodec};
use units::Span;

/// A set of sequence numbers, which are assigned consecutively.
#[derive(Clone, Debug, Default)]
pub struct NumberSet {
    bits: Vec<u64>,
    len: u64,
}

impl NumberSet {
    /// Adds a number and returns whether it is new.
    pub fn insert(&mut self, n: u64) -> bool {
        let (word, bit) = ((n / 64) as usize, 1 << (n % 64));
        if word >= self.bits.len() {
            self.bits.resize(word + 1, 0);
        }
        let new = self.bits[word] & bit == 0;
        self.bits[word] |= bit;
        self.len += new as u64;
        new
    }

    /// Whether the set contains a number.
    pub fn contains(&self, n: u64) -> bool {
        self.bits.get((n / 64) as usize).is_some_and(|word| word & (1 << (n % 64)) != 0)
    }
}

/// Statistics of runs of consecutive lost packets.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
struct LossRuns {
    /// Packets that are known to have arrived or to be lost.
    judged: u64,
    lost: u64,
    runs: u64,
    longest: u64,
}

impl LossRuns {
    /// Finds the runs of losses. `packets` holds, in order of sequence numbers, whether each packet arrived;
    /// `None` is a packet in flight, which ends a run because it is not lost.
    fn from_arrivals(packets: impl Iterator<Item = Option<bool>>) -> LossRuns {
        let mut losses = LossRuns::default();
        let mut run = 0;
        for arrived in packets {
            let Some(arrived) = arrived else {
                run = 0;
                continue;
            };
            losses.judged += 1;
            run = if arrived { 0 } else { run + 1 };
            losses.lost += !arrived as u64;
            losses.runs += (run == 1) as u64;
            losses.longest = losses.longest.max(run);
        }
        losses
    }

    fn share(self) -> f64 {
        self.lost as f64 / self.judged.max(1) as f64
    }

    fn mean_run(self) -> f64 {
        self.lost as f64 / self.runs.max(1) as f64
    }
}

/// Playout of speech at a constant delay.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Playout {
    codec: Option<RatedCodec>,
    jitter_buffer: Span,
}

/// Records the arrivals of one flow. Duplicates are ignored.
#[derive(Clone, Debug, Default)]
pub struct ArrivalMeter {
    delays: Histogram,
    /// Delay of the most recent packet.
    last: Option<Span>,
    arrived: NumberSet,
    dropped: NumberSet,
    /// The highest sequence number that arrived, plus one.
    end: u64,
    /// RFC 3550's J, and its sum over all packets, nanoseconds.
    jitter: f64,
    jitter_sum: f64,
    /// Playout of a voice flow, which needs the delay of every packet; `None` for other flows.
    playout: Option<Playout>,
    delay_of: Vec<Span>,
    /// Ranges of sequence numbers whose losses are counted separately: first, and last plus one.
    spans: Vec<[u64; 2]>,
}

impl ArrivalMeter {
    /// A meter for the datagrams of an application.
    pub fn new(app: &App) -> ArrivalMeter {
        let playout = match app {
            App::Voice { codec, jitter_buffer, .. } => {
                Some(Playout { codec: codec.rated(), jitter_buffer: jitter_buffer.unwrap_or(JITTER_BUFFER) })
            }
            _ => None,
        };
        ArrivalMeter { playout, ..ArrivalMeter::default() }
    }

    /// Counts the losses in these ranges of sequence numbers separately: first, and last plus one.
    pub fn count_separately(&mut self, spans: Vec<[u64; 2]>) {
        self.spans = spans;
    }

    /// The number of lost packets in each range of [`ArrivalMeter::count_separately`], given that `sent`
    /// packets were sent.
    pub fn lost_separately(&self, sent: u64) -> Vec<u64> {
        let sent = sent.max(self.end);
        let lost = |n: &u64| self.is_known(*n) && !self.arrived.contains(*n);
        self.spans.iter().map(|s| (s[0]..s[1].min(sent)).filter(lost).count() as u64).collect()
    }

    /// Whether a packet is known to have arrived or to be lost; false while it is in flight.
    fn is_known(&self, n: u64) -> bool {
        n < self.end || self.dropped.contains(n)
    }

    /// Records that packet `number` arrived `delay` after it was sent.
    pub fn handle_arrival(&mut self, number: u64, delay: Span) {
        if !self.arrived.insert(number) {
            return;
        }
        self.delays.record(delay);
        if let Some(last) = self.last.replace(delay) {
            // RFC 3550 section 6.4.1: D is the difference of transit times, J moves by a sixteenth of |D| -
            // J.
            let d = delay.as_nanos().abs_diff(last.as_nanos()) as f64;
            self.jitter += (d - self.jitter) / 16.0;
            self.jitter_sum += self.jitter;
        }
        self.end = self.end.max(number + 1);
        if self.playout.is_some() {
            let n = number as usize;
            if n >= self.delay_of.len() {
                self.delay_of.resize(n + 1, Span::default());
            }
            self.delay_of[n] = delay;
        }
    }

    /// Records that the path dropped packet `number`.
    pub fn handle_drop(&mut self, number: u64) {
        self.dropped.insert(number);
    }

    /// Delay of the most recent packet.
    pub fn last_delay(&self) -> Option<Span> {
        self.last
    }

    /// Loss runs among `sent` packets, where `has_arrived` says which packets count as received. A packet is
    /// in flight if no later packet has arrived and the path has not dropped it.
    fn runs(&self, sent: u64, has_arrived: impl Fn(u64) -> bool) -> LossRuns {
        LossRuns::from_arrivals((0..sent.max(self.end)).map(|n| self.is_known(n).then(|| has_arrived(n))))
    }

    /// Summary of `sent` packets; `None` if none was sent.
    pub fn summary(&self, sent: u64) -> Option<RealTime> {
        if sent == 0 {
            return None;
        }
        let runs = self.runs(sent, |n| self.arrived.contains(n));
        let mut summary = RealTime {
            delay_ms: RttSummary::of(&self.delays),
            jitter_ms: self.jitter_sum / self.arrived.len.saturating_sub(1).max(1) as f64 / 1e6,
            lost: runs.share(),
            loss_bursts: runs.runs,
            loss_burst_mean: runs.mean_run(),
            loss_burst_max: runs.longest,
            ..RealTime::default()
        };
        if let Some(playout) = self.playout.filter(|_| runs.judged > 0) {
            self.play(playout, sent, &mut summary);
        }
        Some(summary)
    }

    /// Adds the playout's results to the summary. The playout time is the smallest delay plus the jitter
    /// buffer; a packet that arrives later counts as lost.
    fn play(&self, playout: Playout, sent: u64, summary: &mut RealTime) {
        let due = self.delays.min().unwrap_or_default() + playout.jitter_buffer;
        let runs = self.runs(sent, |n| self.arrived.contains(n) && self.delay_of[n as usize] <= due);
        summary.late = Some(runs.share() - summary.lost);
        summary.jitter_buffer_ms = Some(playout.jitter_buffer.as_millis_f64());
        summary.r_factor = playout.codec.map(|codec| {
            let loss = SpeechLoss { share: runs.share(), run: runs.mean_run() };
            r_factor(codec, codec.delay + due, loss)
        });
        summary.mos = summary.r_factor.map(mos);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use transport::Codec;

    fn ms(n: u64) -> Span {
        Span::from_millis(n)
    }

    fn voice(codec: Codec, jitter_buffer: u64) -> ArrivalMeter {
        ArrivalMeter::new(&App::Voice { codec, jitter_buffer: Some(ms(jitter_buffer)), duration: None })
    }

    fn fed(mut meter: ArrivalMeter, arrivals: &[(u64, u64)]) -> ArrivalMeter {
        arrivals.iter().for_each(|&(n, delay)| meter.handle_arrival(n, ms(delay)));
        meter
    }

    #[test]
    fn losses_within_ranges_are_counted_separately() {
        let mut meter = voice(Codec::G711, 40);
        meter.count_separately(vec![[0, 4], [4, 9], [9, 20]]);
        let mut meter = fed(meter, &[(0, 10), (1, 10), (5, 10)]);
        meter.handle_drop(7);
        // Ten were sent; 6, 8 and 9 may still be in flight.
        assert_eq!(meter.lost_separately(10), [2, 2, 0]);
    }

    /// By hand: delays 10, 26, 26, 10: |D| is 16, 0, 16; J is 1, 15/16, 15/16 + (16 - 15/16) / 16 =
    /// 1.87890625; their mean over three packets is 1.27213541…
    #[test]
    fn jitter_is_computed_as_in_rtp() {
        let meter = fed(ArrivalMeter::default(), &[(0, 10), (1, 26), (2, 26), (3, 10)]);
        let summary = meter.summary(4).unwrap();
        assert_eq!(summary.jitter_ms, (1.0 + 0.9375 + 1.87890625) / 3.0);
        assert_eq!((summary.delay_ms.min, summary.delay_ms.mean, summary.delay_ms.max), (10.0, 18.0, 26.0));
        assert_eq!((summary.lost, summary.loss_bursts, summary.mos, summary.late), (0.0, 0, None, None));
        assert_eq!(meter.last_delay(), Some(ms(10)));
        assert_eq!(ArrivalMeter::default().summary(0), None);
    }

    /// 0 1 . . 4 . 6 and then 7, 8 dropped, 9 in flight, 10 dropped: 2 3, 5, 7 8 and 10 of ten are lost.
    #[test]
    fn packets_in_flight_are_not_lost() {
        let mut meter = fed(ArrivalMeter::default(), &[(0, 1), (1, 1), (4, 1), (6, 1), (6, 9)]);
        for n in [2, 3, 5, 7, 8, 10] {
            meter.handle_drop(n);
        }
        let summary = meter.summary(12).unwrap();
        assert_eq!((summary.lost, summary.loss_bursts, summary.loss_burst_max), (0.6, 4, 2));
        assert_eq!(summary.loss_burst_mean, 1.5);
        // The duplicate of 6 was ignored.
        assert_eq!(summary.delay_ms.max, 1.0);
        // Packets that arrive out of order are not lost.
        let summary = fed(ArrivalMeter::default(), &[(2, 1), (0, 5), (1, 4)]).summary(9).unwrap();
        assert_eq!((summary.lost, summary.loss_bursts), (0.0, 0));
        // All packets were dropped; then: no packet arrived and none is known to be lost.
        let mut meter = ArrivalMeter::default();
        (0..7).for_each(|n| meter.handle_drop(n));
        let summary = meter.summary(7).unwrap();
        assert_eq!((summary.lost, summary.loss_bursts, summary.loss_burst_max), (1.0, 1, 7));
        let summary = voice(Codec::G711, 60).summary(3).unwrap();
        assert_eq!((summary.lost, summary.mos, summary.late), (0.0, None, None));
    }

    /// Delays 20, 25, 20, 91, 80, lost, 85: the buffer of 60 ms ends at 80, so packets 4, 6 and 7 of 7 are
    /// not played: 3/7, in two runs. Speech is recorded 20.125 ms before it leaves, and played after 100.125
    /// ms.
    #[test]
    fn packets_after_their_playout_time_are_not_heard() {
        let meter = fed(voice(Codec::G711, 60), &[(0, 20), (1, 25), (2, 20), (3, 91), (4, 80), (6, 85)]);
        let summary = meter.summary(7).unwrap();
        assert_eq!(summary.lost, 1.0 / 7.0);
        assert!((summary.late.unwrap() - 2.0 / 7.0).abs() < 1e-12);
        let loss = SpeechLoss { share: 3.0 / 7.0, run: 1.5 };
        let want = r_factor(Codec::G711.rated().unwrap(), Span::from_micros(100_125), loss);
        assert_eq!((summary.r_factor, summary.mos), (Some(want), Some(mos(want))));
        assert_eq!(summary.jitter_buffer_ms, Some(60.0));
        // With a larger buffer all packets are in time: 1/7 is lost, played after 111.125 ms.
        let meter = fed(voice(Codec::G711, 71), &[(0, 20), (1, 25), (2, 20), (3, 91), (4, 80), (6, 85)]);
        assert_eq!(meter.summary(7).unwrap().late, Some(0.0));
        // ITU-T publishes no parameters for Opus.
        let summary = fed(voice(Codec::Opus, 60), &[(0, 20)]).summary(1).unwrap();
        assert_eq!((summary.r_factor, summary.mos, summary.late), (None, None, Some(0.0)));
    }
}
