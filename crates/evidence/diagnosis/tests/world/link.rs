//! A sender behind a link with a first-in first-out queue, as captures at either end show it.

use crate::talk::{CLIENT, MSS, SERVER, Talk};

/// How the sender's window grows with what is acknowledged.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Growth {
    /// By as much as is acknowledged (RFC 5681 section 3.1), for ever.
    SlowStart,
    /// As in slow start until so many segments, then by one segment a round trip.
    OneEach(u64),
}

/// A transfer through one link, without any loss.
#[derive(Clone, Copy, Debug)]
pub struct Transfer {
    /// Full segments to send.
    pub segments: u64,
    /// First window, segments.
    pub initial: u64,
    pub growth: Growth,
    /// µs that the link takes for a packet.
    pub packet_us: u64,
    /// µs of the empty path, there and back; half of it each way.
    pub rtt: u64,
    /// Capture at the receiver, else at the sender.
    pub at_receiver: bool,
    pub timestamps: bool,
    pub handshake: bool,
    /// Each so many segments a pushed one, as where a server's writes end; 0: none.
    pub push_each: u64,
    /// Largest window, segments.
    pub most: u64,
}

impl Default for Transfer {
    fn default() -> Transfer {
        Transfer {
            segments: 1500,
            initial: 10,
            growth: Growth::SlowStart,
            packet_us: 1200,
            rtt: 20_000,
            at_receiver: false,
            timestamps: true,
            handshake: true,
            push_each: 0,
            most: u64::MAX,
        }
    }
}

impl Transfer {
    /// The client sends; the server acknowledges every second segment, and the last.
    pub fn talk(&self) -> Talk {
        let mut t = Talk { timestamps: self.timestamps, window: [512, 65_535], ..Talk::default() };
        t.open(self.rtt, [Some(7), Some(14)], [1460; 2]);
        let (out, back) = (self.rtt / 2, self.rtt - self.rtt / 2);
        if self.at_receiver {
            // The SYN comes after its way, the answer leaves at once, and its ACK comes a round trip later.
            for (i, at) in [0, 20, self.rtt + 20].into_iter().enumerate() {
                t.packets[i].time = units::Time::ZERO + units::Span::from_micros(t.start + at);
            }
        }
        if !self.handshake {
            t.packets.clear();
        }
        let mss = if self.timestamps { MSS } else { MSS + 12 };
        // Each ACK: when it comes to the sender, and how many segments it covers.
        let mut acks: std::collections::VecDeque<(u64, u64)> = std::collections::VecDeque::new();
        let (mut sent, mut acked, mut window, mut credit) = (0u64, 0u64, self.initial, 0u64);
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
                let seen = if self.at_receiver { shift(arrives) } else { leaves };
                let pushed =
                    self.push_each > 0 && sent.is_multiple_of(self.push_each) || sent == self.segments;
                let mut p = t.packet(seen, CLIENT);
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
                    let seen = if self.at_receiver { left } else { left + back };
                    t.has[SERVER] = t.sent[CLIENT];
                    let mut ack = t.packet(seen, SERVER);
                    ack.options.timestamps = ack
                        .options
                        .timestamps
                        .map(|_| (5_000 + (left / 1000) as u32, 5_000 + (leaves / 1000) as u32));
                    t.packets.push(ack);
                    acks.push_back((left + back, sent));
                }
            }
            let Some((at, all)) = acks.pop_front() else { break };
            let newly = all - acked;
            acked = all;
            now = at;
            window += match self.growth {
                Growth::OneEach(until) if window >= until => {
                    credit += newly;
                    let more = credit / window;
                    credit %= window;
                    more
                }
                _ => newly,
            };
            window = window.min(self.most);
        }
        t
    }
}
