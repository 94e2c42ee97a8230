//! HighSpeed TCP: Reno with an increase that grows and a decrease that shrinks with the window, so that large
//! windows need fewer losses: at 83,000 packets one in 10^7 instead of one in 5 * 10^9.
//!
//! ```text
//! w + a(w) / w     each ACK                a(w) = w^2 p(w) 2 b(w) / (2 - b(w))
//! w (1 - b(w))     at a loss               b(w) = (0.1 - 0.5) (ln w - ln 38) / (ln 83000 - ln 38) + 0.5
//!                                          p(w) = 0.078 / w^1.2
//! ```
//!
//! Up to 38 packets a is 1 and b is 1/2, as in Reno. Sources: RFC 3649, sections 5 and 7 and the table of
//! appendix B, which a test recomputes from the formulas; Linux `tcp_highspeed.c` for the arithmetic.
//!
//! | RFC 3649 | here, as in Linux |
//! |---|---|
//! | a(w), b(w) by the formulas | by the table of appendix B: a in whole packets, b in 1/256, rounded down |
//! | p(w) = 0.078 / w^1.2 (section 5) | with 1 / 12.8 for 0.078, as in the program of appendix B |
//! | a(w) / w for each ACK | the same, counted in `cwnd_cnt`, per ACK and not per delivered packet, so that delayed ACKs halve it (RFC 3465 is for Reno) |
//! | a and b between two windows of the table | those of the larger: 2 and 0.44 from 39 packets on |
//! | b for the window at the loss | for the window at the last ACK that could raise it |
//! | above 89,053 packets b continues to fall | a = 72 and b = 24/256 are constant |
//! | limited slow start (RFC 3742) is recommended | slow start is Reno's; the part of an ACK beyond ssthresh is not used |
//!
//! Departure from Linux: Linux bounds the window by 2^25 packets to avoid 32-bit overflow; here 64 bits are
//! used.

use crate::reno::slow_start;
use crate::{Algorithm, Controller, Plain, Socket, Window};
use units::{Label, Stream};

/// Rows of (window, decrease): up to this window in packets the increase is the row's number plus one, and
/// the decrease is in 1/256 (RFC 3649 appendix B).
const TABLE: [(u32, u32); 72] = [
    (38, 128),
    (118, 112),
    (221, 104),
    (347, 98),
    (495, 93),
    (663, 89),
    (851, 86),
    (1058, 83),
    (1284, 81),
    (1529, 78),
    (1793, 76),
    (2076, 74),
    (2378, 72),
    (2699, 71),
    (3039, 69),
    (3399, 68),
    (3778, 66),
    (4177, 65),
    (4596, 64),
    (5036, 62),
    (5497, 61),
    (5979, 60),
    (6483, 59),
    (7009, 58),
    (7558, 57),
    (8130, 56),
    (8726, 55),
    (9346, 54),
    (9991, 53),
    (10661, 52),
    (11358, 52),
    (12082, 51),
    (12834, 50),
    (13614, 49),
    (14424, 48),
    (15265, 48),
    (16137, 47),
    (17042, 46),
    (17981, 45),
    (18955, 45),
    (19965, 44),
    (21013, 43),
    (22101, 43),
    (23230, 42),
    (24402, 41),
    (25618, 41),
    (26881, 40),
    (28193, 39),
    (29557, 39),
    (30975, 38),
    (32450, 38),
    (33986, 37),
    (35586, 36),
    (37253, 36),
    (38992, 35),
    (40808, 35),
    (42707, 34),
    (44694, 33),
    (46776, 33),
    (48961, 32),
    (51258, 32),
    (53677, 31),
    (56230, 30),
    (58932, 30),
    (61799, 29),
    (64851, 28),
    (68113, 28),
    (71617, 27),
    (75401, 26),
    (79517, 26),
    (84035, 25),
    (89053, 24),
];

/// HighSpeed TCP.
#[derive(Clone, Debug, Default)]
pub struct HighSpeed {
    /// The current row of [`TABLE`].
    row: usize,
}

impl HighSpeed {
    /// A controller for a new connection.
    pub fn new() -> HighSpeed {
        HighSpeed::default()
    }
}

impl Algorithm for HighSpeed {
    type Parameters = Plain;
    const LABEL: Label = Label::same("HighSpeed");
    const ABOUT: &'static str =
        "Reno that increases faster and decreases less the larger its window is (RFC 3649).";

    fn controller(_: &Plain, _: Stream) -> Box<dyn Controller> {
        Box::new(HighSpeed::new())
    }
}

impl Controller for HighSpeed {
    fn name(&self) -> &'static str {
        "highspeed"
    }

    fn init(&mut self, _: &Socket, _: &mut Window) {
        *self = HighSpeed::new();
    }

    /// w (1 - b(w)), RFC 3649 section 7.
    fn ssthresh(&mut self, _: &Socket, w: &mut Window) -> u32 {
        let less = (w.cwnd as u64 * TABLE[self.row].1 as u64) >> 8;
        (w.cwnd - less as u32).max(2)
    }

    fn cong_avoid(&mut self, s: &Socket, w: &mut Window, acked: u32) {
        if !s.is_cwnd_limited {
            return; // RFC 7661: a window that is not fully used must not grow
        }
        if w.in_slow_start() {
            slow_start(w, acked);
            return;
        }
        self.row = TABLE.partition_point(|(most, _)| *most < w.cwnd).min(TABLE.len() - 1);
        if w.cwnd < w.cwnd_clamp {
            // w + a(w) / w, RFC 3649 section 7
            w.cwnd_cnt = w.cwnd_cnt.saturating_add(self.row as u32 + 1);
            if w.cwnd_cnt >= w.cwnd {
                w.cwnd_cnt -= w.cwnd;
                w.cwnd += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 3649 appendix B: there is a row wherever a(w) has grown by more than one since the previous row.
    #[test]
    fn the_table_follows_from_the_formulas() {
        let (mut rows, mut last) = (vec![(38, 128)], 1.0);
        for n in 38..=89_053u32 {
            let (w, ln) = (n as f64, libm::log);
            let b = (0.1 - 0.5) * (ln(w) - ln(38.0)) / (ln(83_000.0) - ln(38.0)) + 0.5;
            let a = w * w * 2.0 * b / ((2.0 - b) * libm::pow(w, 1.2) * 12.8);
            if a > last + 1.0 {
                rows.push((n, (b * 256.0) as u32));
                last = a;
            }
        }
        assert_eq!(rows, TABLE);
    }
}
