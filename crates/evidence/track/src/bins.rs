//! Counts over time, in bins that double their width when there are too many of them.

use crate::{Bin, PauseKind};
use units::{Span, Time};

/// Width of the bins at first.
const FIRST_WIDTH: Span = Span::from_millis(10);
/// Maximum number of bins of a direction while memory suffices.
pub const MAX_BINS: usize = 2048;

/// Bins in order of time. Bins in which nothing happened are left out.
#[derive(Debug)]
pub struct Bins {
    /// Time at which bin 0 begins.
    first: Time,
    width: Span,
    list: Vec<Bin>,
    most: usize,
    /// Index of the bin used last, and its bounds.
    at: usize,
    from: Time,
    to: Time,
}

impl Bins {
    /// Returns an empty list of at most `most` bins; bin 0 begins at `first`.
    pub fn new(first: Time, most: usize) -> Bins {
        Bins::reusing(Vec::new(), first, most)
    }

    /// Returns an empty list as [`Bins::new`] does, but reuses the memory of `list`, which must be empty.
    pub fn reusing(list: Vec<Bin>, first: Time, most: usize) -> Bins {
        Bins { first, width: FIRST_WIDTH, list, most, at: 0, from: Time::ZERO, to: Time::ZERO }
    }

    /// Moves the bins to memory of their exact size and returns the old memory.
    pub fn take_memory(&mut self) -> Vec<Bin> {
        move_to_exact_size(&mut self.list)
    }

    /// Returns the bins of a finished track, to be merged further.
    pub fn of(first: Time, width: Span, list: Vec<Bin>) -> Bins {
        Bins { width, list, ..Bins::new(first, usize::MAX) }
    }

    /// Width of each bin.
    pub fn width(&self) -> Span {
        self.width
    }

    pub fn into_list(self) -> Vec<Bin> {
        self.list
    }

    /// Bytes of memory allocated.
    pub fn bytes(&self) -> usize {
        self.list.capacity() * size_of::<Bin>()
    }

    /// Index of the bin used last.
    pub fn current(&self) -> usize {
        self.at
    }

    /// Prefetches the bin used last; returns a value that depends on it.
    #[inline]
    pub fn fetch(&self) -> u64 {
        self.list.get(self.at).map_or(0, |b| b.index as u64 ^ b.rtts.count as u64)
    }

    /// Returns the bin of time `now`; adds it if there is none.
    #[inline]
    pub fn at(&mut self, now: Time) -> &mut Bin {
        if now < self.from || now >= self.to {
            self.find(now);
        }
        &mut self.list[self.at]
    }

    fn find(&mut self, now: Time) {
        let since = now.since(self.first);
        while self.widths(since) > u32::MAX as u64 {
            self.widen();
        }
        let mut place = self.search(since);
        if place.is_err() && self.list.len() >= self.most {
            while self.list.len() >= self.most || self.widths(since) > u32::MAX as u64 {
                self.widen();
            }
            place = self.search(since);
        }
        let index = self.widths(since);
        self.at = match place {
            Ok(i) => i,
            Err(i) => {
                grow(&mut self.list, self.most);
                self.list.insert(i, Bin { index: index as u32, ..Bin::default() });
                i
            }
        };
        self.from = self.first + self.width * index;
        self.to = self.from + self.width;
    }

    /// Returns the number of whole bin widths in `span`.
    fn widths(&self, span: Span) -> u64 {
        span.as_nanos() / self.width.as_nanos()
    }

    /// Returns the index of the bin that contains the time `since` after bin 0's start, or where it would be
    /// inserted.
    fn search(&self, since: Span) -> Result<usize, usize> {
        let index = self.widths(since) as u32;
        match self.list.last() {
            Some(last) if last.index < index => Err(self.list.len()),
            _ => self.list.binary_search_by_key(&index, |b| b.index),
        }
    }

    /// Doubles the bins' width and merges neighbours.
    fn widen(&mut self) {
        self.width = self.width * 2;
        for bin in &mut self.list {
            bin.index /= 2;
        }
        self.list.dedup_by(|next, bin| {
            let same = next.index == bin.index;
            if same {
                bin.merge(next);
            }
            same
        });
        (self.from, self.to) = (Time::ZERO, Time::ZERO);
    }

    /// Removes the receive windows from all bins: their scale was wrong.
    pub fn forget_windows(&mut self) {
        self.list.iter_mut().for_each(Bin::forget_window);
    }

    /// Frees unused capacity.
    pub fn shrink(&mut self) {
        self.list.shrink_to_fit();
    }

    /// Limits the number of bins to `most` from now on.
    pub fn limit(&mut self, most: usize) {
        self.most = most;
        while self.list.len() > most {
            self.widen();
        }
        self.list.shrink_to(most);
    }

    /// Adds the time between `from` and `to` to the pauses of this kind.
    pub fn spread(&mut self, from: Time, to: Time, kind: PauseKind) {
        let mut from = from.max(self.first);
        while from < to && self.widths(to.since(from)) + 2 + self.list.len() as u64 > self.most as u64 {
            if self.widths(to.since(self.first)) < 2 {
                break;
            }
            self.widen();
        }
        while from < to {
            self.at(from);
            let (start, end) = (self.from, self.to.min(to));
            // Differences of whole microseconds add up to the bin's width at most.
            let us = end.since(start).as_micros() - from.since(start).as_micros();
            self.list[self.at].add_pause(kind, us as u32);
            if end <= from {
                break;
            }
            from = end;
        }
    }
}

/// Makes room for one more entry, as pushing would, but for no more than `most` in all. Room grows by half,
/// not to double: there may be thousands of lists.
#[inline]
pub fn grow<T>(list: &mut Vec<T>, most: usize) {
    if list.len() == list.capacity() {
        let room = (list.len() + list.len() / 2).max(4).min(most.max(list.len() + 1));
        list.reserve_exact(room - list.len());
    }
}

/// Moves the contents of `list` to memory of their exact size; returns the old memory, emptied.
pub fn move_to_exact_size<T: Copy>(list: &mut Vec<T>) -> Vec<T> {
    let exact = list.as_slice().to_vec();
    let mut had = std::mem::replace(list, exact);
    had.clear();
    had
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Time {
        Time::ZERO + Span::from_millis(n)
    }

    #[test]
    fn a_pause_is_spread_over_the_bins_it_covers() {
        let mut bins = Bins::new(ms(5), 64);
        bins.spread(ms(7), ms(31), PauseKind::Idle);
        let idle: Vec<_> = bins.list.iter().map(|b| (b.index, b.paused(PauseKind::Idle))).collect();
        assert_eq!(idle, [(0, Span::from_millis(8)), (1, Span::from_millis(10)), (2, Span::from_millis(6))]);
        assert!(bins.list.iter().all(|b| b.paused(PauseKind::Timeout).is_zero()));
    }

    #[test]
    fn bins_are_merged_without_losing_packets_when_there_are_too_many() {
        let mut bins = Bins::new(Time::ZERO, 64);
        for i in 0..1000 {
            bins.at(ms(10 * i)).packets += 1;
        }
        assert!(bins.list.len() <= 64);
        assert_eq!(bins.width, Span::from_millis(160));
        assert_eq!(bins.list.iter().map(|b| b.packets).sum::<u32>(), 1000);
        assert!(bins.list.is_sorted_by(|a, b| a.index < b.index));
    }

    #[test]
    fn a_long_pause_takes_no_more_bins_than_allowed() {
        let mut bins = Bins::new(Time::ZERO, 64);
        bins.at(Time::ZERO).packets += 1;
        bins.spread(ms(1), Time::from_nanos(u64::MAX / 2), PauseKind::Idle);
        bins.at(Time::from_nanos(u64::MAX)).packets += 1;
        assert!(bins.list.len() <= 64);
    }
}
