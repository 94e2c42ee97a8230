//! A sender behind a link with a FIFO queue, captured at either end.

use crate::talk::{CLIENT, MSS, SERVER, Talk};

/// How the congestion window grows with each acknowledged segment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Growth {
    /// By the acknowledged amount (RFC 5681 section 3.1), without end.
    SlowStart,
    /// Slow start up to this many segments, then one segment per round trip.
    OnePerRoundTrip(u64),
}

/// A transfer through one link, without loss.
#[derive(Clone, Copy, Debug)]
pub struct Transfer {
    /// Full segments to send.
    pub segments: u64,
    /// Initial window, segments.
    pub initial_window: u64,
    pub growth: Growth,
    /// Serialisation time of a packet at the link, µs.
    pub packet_us: u64,
    /// Round trip of the empty path, µs; half of it in each direction.
    pub rtt: u64,
    /// Capture at the receiver instead of the sender.
    pub at_receiver: bool,
    pub timestamps: bool,
    pub handshake: bool,
    /// Every n-th segment has PSH, as at the end of a server's writes; 0: none has.
    pub push_every: u64,
    /// Largest window, segments.
    pub max_window: u64,
}

impl Default for Transfer {
    fn default() -> Transfer {
        Transfer {
            segments: 1500,
            initial_window: 10,
            growth: Growth::SlowStart,
            packet_us: 1200,
            rtt: 20_000,
            at_receiver: false,
            timestamps: true,
            handshake: true,
            push_every: 0,
            max_window: u64::MAX,
        }
    }
}

impl Transfer {
    /// Builds the packets: the client sends, the server acknowledges every second segment and the last.
    pub fn talk(&self) -> Talk {
        let mut t = Talk { timestamps: self.timestamps, window: [512, 65_535], ..Talk::default() };
        t.open(self.rtt, [Some(7), Some(14)], [1460; 2]);
        let (out, back) = (self.rtt / 2, self.rtt - self.rtt / 2);
        if self.at_receiver {
            // The SYN arrives, the SYN/ACK leaves at once, and its ACK arrives a round trip later.
            for (i, at) in [0, 20, self.rtt + 20].into_iter().enumerate() {
                t.packets[i].time = units::Time::ZERO + units::Span::from_micros(t.start + at);
            }
        }
        if !self.handshake {
            t.packets.clear();
        }
        let mss = if self.timestamps { MSS } else { MSS + 12 };
        // Each ACK's arrival at the sender in µs, and how many segments it covers.
        let mut acks: std::collections::VecDeque<(u64, u64)> = std::collections::VecDeque::new();
        let (mut sent, mut acked, mut window, mut credit) = (0u64, 0u64, self.initial_window, 0u64);
        let (mut now, mut free) = (100_000u64, 0u64);
        let shift = |at: u64| if self.at_receiver { at } else { at - out };
        while acked < self.segments {
            let mut burst = 0;
            while sent < self.segments && sent - acked < window {
                sent += 1;
                let leaves = now + burst * 12;
                burst += 1;
                free = free.max(leaves) + self.packet_us;
                let arrives = free + out;
                let captured_at = if self.at_receiver { shift(arrives) } else { leaves };
                let pushed =
                    self.push_every > 0 && sent.is_multiple_of(self.push_every) || sent == self.segments;
                let mut p = t.packet(captured_at, CLIENT);
                p.len = mss;
                p.options.timestamps = p.options.timestamps.map(|_| {
                    (5_000 + (leaves / 1000) as u32, 5_000 + (now.saturating_sub(back) / 1000) as u32)
                });
                if pushed {
                    p.flags = p.flags | capture::TcpFlags::PSH;
                }
                t.sent[CLIENT] += mss;
                t.packets.push(p);
                if sent.is_multiple_of(2) || sent == self.segments {
                    let left = arrives + 15;
                    let captured_at = if self.at_receiver { left } else { left + back };
                    t.acked[SERVER] = t.sent[CLIENT];
                    let mut ack = t.packet(captured_at, SERVER);
                    ack.options.timestamps = ack
                        .options
                        .timestamps
                        .map(|_| (5_000 + (left / 1000) as u32, 5_000 + (leaves / 1000) as u32));
                    t.packets.push(ack);
                    acks.push_back((left + back, sent));
                }
            }
            let Some((at, covered)) = acks.pop_front() else { break };
            let newly = covered - acked;
            acked = covered;
            now = at;
            window += match self.growth {
                Growth::OnePerRoundTrip(until) if window >= until => {
                    credit += newly;
                    let more = credit / window;
                    credit %= window;
                    more
                }
                _ => newly,
            };
            window = window.min(self.max_window);
        }
        t
    }
}
