//! What happened when: bins that double their width when they become too many.

use crate::Bin;
use units::Span;

/// Width at first.
const WIDTH: u64 = 10_000_000;
/// The most bins of a flow while memory suffices.
pub const MOST_BINS: usize = 2048;

/// Why nothing was sent, as bins count it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PauseKind {
    Idle,
    Ended,
    WindowFull,
    Timeout,
    Silence,
}

/// Bins in the order of time; those in which nothing happened are left out.
#[derive(Debug)]
pub struct Bins {
    /// Where bin 0 begins, nanoseconds.
    first: u64,
    width: u64,
    list: Vec<Bin>,
    most: usize,
    /// The bin asked for last, and its bounds.
    at: usize,
    from: u64,
    to: u64,
}

impl Bins {
    pub fn new(first: u64, most: usize) -> Bins {
        Bins { first, width: WIDTH, list: Vec::new(), most, at: 0, from: 0, to: 0 }
    }

    /// Those of a track.
    pub fn of(first: u64, width: u64, list: Vec<Bin>) -> Bins {
        Bins { width, list, ..Bins::new(first, usize::MAX) }
    }

    pub fn width(&self) -> Span {
        Span::from_nanos(self.width)
    }

    pub fn into_list(self) -> Vec<Bin> {
        self.list
    }

    /// Bytes of memory.
    pub fn bytes(&self) -> usize {
        self.list.capacity() * size_of::<Bin>()
    }

    /// Index of the bin asked for last.
    pub fn at_hand(&self) -> usize {
        self.at
    }

    /// Reads a little of it.
    #[inline]
    pub fn fetch(&self) -> u64 {
        self.list.get(self.at).map_or(0, |b| b.index as u64 ^ b.rtts as u64)
    }

    /// The bin of time `now`.
    #[inline]
    pub fn at(&mut self, now: u64) -> &mut Bin {
        if now < self.from || now >= self.to {
            self.find(now);
        }
        &mut self.list[self.at]
    }

    fn find(&mut self, now: u64) {
        let since = now.saturating_sub(self.first);
        while since / self.width > u32::MAX as u64 {
            self.widen();
        }
        let mut place = self.search(since);
        if place.is_err() && self.list.len() >= self.most {
            while self.list.len() >= self.most || since / self.width > u32::MAX as u64 {
                self.widen();
            }
            place = self.search(since);
        }
        let index = since / self.width;
        self.at = match place {
            Ok(i) => i,
            Err(i) => {
                let bin = Bin {
                    index: index as u32,
                    inflight_min: u32::MAX,
                    window: u32::MAX,
                    rtt_min: u32::MAX,
                    data_delay: u32::MAX,
                    ack_delay: u32::MAX,
                    ..Bin::default()
                };
                self.list.insert(i, bin);
                i
            }
        };
        self.from = self.first.saturating_add(index * self.width);
        self.to = self.from.saturating_add(self.width);
    }

    fn search(&self, since: u64) -> Result<usize, usize> {
        let index = (since / self.width) as u32;
        match self.list.last() {
            Some(last) if last.index < index => Err(self.list.len()),
            _ => self.list.binary_search_by_key(&index, |b| b.index),
        }
    }

    /// Doubles the width.
    fn widen(&mut self) {
        self.width = self.width.saturating_mul(2);
        for bin in &mut self.list {
            bin.index /= 2;
        }
        self.list.dedup_by(|next, bin| {
            let same = next.index == bin.index;
            if same {
                merge(bin, next);
            }
            same
        });
        (self.from, self.to) = (0, 0);
    }

    /// Gives back what its list has in reserve.
    pub fn rest(&mut self) {
        self.list.shrink_to_fit();
    }

    /// Keeps `most` bins at most from now on.
    pub fn limit(&mut self, most: usize) {
        self.most = most;
        if self.list.len() > most {
            while self.list.len() > most {
                self.widen();
            }
            self.list.shrink_to_fit();
        }
    }

    /// Counts the time from `from` to `to` as `why`.
    pub fn spread(&mut self, from: u64, to: u64, why: PauseKind) {
        let mut from = from.max(self.first);
        while from < to && (to - from) / self.width + 2 + self.list.len() as u64 > self.most as u64 {
            if (to - self.first) / self.width < 2 {
                break;
            }
            self.widen();
        }
        while from < to {
            self.at(from);
            let (start, end) = (self.from, self.to.min(to));
            // Differences of whole microseconds: they add up to the bin's width at most.
            let us = ((end - start) / 1000 - (from - start) / 1000) as u32;
            let bin = &mut self.list[self.at];
            let field = match why {
                PauseKind::Idle => &mut bin.idle,
                PauseKind::Ended => &mut bin.ended,
                PauseKind::WindowFull => &mut bin.window_full,
                PauseKind::Timeout => &mut bin.timeout,
                PauseKind::Silence => &mut bin.silence,
            };
            *field = field.saturating_add(us);
            if end <= from {
                break;
            }
            from = end;
        }
    }
}

fn merge(bin: &mut Bin, next: &Bin) {
    let sums: [(&mut u32, u32); 12] = [
        (&mut bin.sent, next.sent),
        (&mut bin.resent, next.resent),
        (&mut bin.acked, next.acked),
        (&mut bin.packets, next.packets),
        (&mut bin.lost, next.lost),
        (&mut bin.acks, next.acks),
        (&mut bin.short, next.short),
        (&mut bin.idle, next.idle),
        (&mut bin.ended, next.ended),
        (&mut bin.window_full, next.window_full),
        (&mut bin.timeout, next.timeout),
        (&mut bin.silence, next.silence),
    ];
    for (sum, n) in sums {
        *sum = sum.saturating_add(n);
    }
    bin.inflight = bin.inflight.max(next.inflight);
    bin.inflight_min = bin.inflight_min.min(next.inflight_min);
    bin.window = bin.window.min(next.window);
    bin.rtt_min = bin.rtt_min.min(next.rtt_min);
    bin.rtt_max = bin.rtt_max.max(next.rtt_max);
    bin.data_delay = bin.data_delay.min(next.data_delay);
    bin.ack_delay = bin.ack_delay.min(next.ack_delay);
    bin.rtt_sum = bin.rtt_sum.saturating_add(next.rtt_sum);
    bin.rtts = bin.rtts.saturating_add(next.rtts);
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn a_pause_is_counted_where_it_was() {
        let mut bins = Bins::new(5 * MS, 64);
        bins.spread(7 * MS, 31 * MS, PauseKind::Idle);
        let idle: Vec<_> = bins.list.iter().map(|b| (b.index, b.idle)).collect();
        assert_eq!(idle, [(0, 8000), (1, 10_000), (2, 6000)]);
    }

    #[test]
    fn too_many_become_half_as_many_and_lose_nothing() {
        let mut bins = Bins::new(0, 64);
        for i in 0..1000 {
            bins.at(i * 10 * MS).packets += 1;
        }
        assert!(bins.list.len() <= 64);
        assert_eq!(bins.width, 160 * MS);
        assert_eq!(bins.list.iter().map(|b| b.packets).sum::<u32>(), 1000);
        assert!(bins.list.is_sorted_by(|a, b| a.index < b.index));
    }

    #[test]
    fn a_long_pause_takes_no_more_bins_than_allowed() {
        let mut bins = Bins::new(0, 64);
        bins.at(0).packets += 1;
        bins.spread(MS, u64::MAX / 2, PauseKind::Idle);
        bins.at(u64::MAX).packets += 1;
        assert!(bins.list.len() <= 64);
    }
}
