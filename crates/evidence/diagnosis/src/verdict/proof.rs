//! The packets of the capture that show a cause.
//!
//! A cause that loses packets is shown by the lost packets, and one that delays packets by those that waited
//! longest. All other causes hold a sender back, and are shown by the packets before and after its longest
//! pauses.

use super::display_filter::{back, forth, numbers, range};
use super::evidence::RoundSplit;
use super::round_trips::RoundTripSpan;
use crate::limiter::{micros, seconds};
use result::diagnosis::{Cause, CauseShare, PacketProof, ProofKind};
use track::{FirstPackets, LoggedPacket, PacketFate, Track};

/// Least share of a flow's time for which a cause gets a proof. Tables do not name smaller shares either.
pub(super) const MIN_PROVED_SHARE: f64 = 0.01;
/// Packets that a proof lists.
const MAX_PACKETS: usize = 5;
/// Pauses of a proof, each with a packet on both sides.
const MAX_PAUSES: usize = MAX_PACKETS.div_ceil(2);

/// The packets that Wireshark marks at a loss: the gap, and the packets that fill it.
const LOSS_MARKS: &str =
    "tcp.analysis.retransmission || tcp.analysis.out_of_order || tcp.analysis.lost_segment";

/// Returns the proofs of a flow's causes. `losses`: the cause of each lost packet of its log.
pub(super) fn of_causes(
    t: &Track,
    causes: &[CauseShare],
    (rounds, splits): (&[RoundTripSpan], &[RoundSplit]),
    losses: &[(f64, Cause)],
) -> Vec<PacketProof> {
    let shown = causes.iter().filter(|c| c.share >= MIN_PROVED_SHARE && c.seconds > 0.0);
    shown
        .filter_map(|c| {
            let held = HeldTime::of(c.cause, rounds, splits);
            let proof = lost(t, c.cause, losses).or_else(|| match c.cause {
                Cause::ReceiverStalled => zero_windows(t),
                Cause::Nagle => held_back(t),
                Cause::Bottleneck | Cause::Shaped | Cause::AckPath => waited(t, &held),
                _ => None,
            });
            let proof = proof.or_else(|| pauses(t, &held))?;
            Some(PacketProof { cause: Some(c.cause), ..proof })
        })
        .collect()
}

/// Spans in which a cause held the flow for most of the time, seconds since the connection's first packet, in
/// order.
struct HeldTime(Vec<(f64, f64)>);

impl HeldTime {
    fn of(cause: Cause, rounds: &[RoundTripSpan], splits: &[RoundSplit]) -> HeldTime {
        let seconds = |split: &RoundSplit| split.iter().filter(|s| s.0 == cause).map(|s| s.1).sum::<f64>();
        let spans = |least: f64| -> Vec<(f64, f64)> {
            let with = rounds.iter().zip(splits).filter(|(r, split)| seconds(split) > least * r.width);
            with.map(|(r, _)| (r.from, r.from + r.width)).collect()
        };
        let mostly = spans(0.5);
        HeldTime(if mostly.is_empty() { spans(0.0) } else { mostly })
    }

    fn holds(&self, at: f64) -> bool {
        self.holds_from(&mut 0, at)
    }

    /// Returns whether the spans hold `at`. The search begins at the index `next` and leaves there where it
    /// ended: packets are nearly in order of time, so that is mostly where the next search ends.
    fn holds_from(&self, next: &mut usize, at: f64) -> bool {
        let is_over = |span: &(f64, f64)| span.1 < at;
        if !next.checked_sub(1).and_then(|i| self.0.get(i)).is_none_or(is_over) {
            *next = 0;
        }
        if self.0.get(*next).is_some_and(is_over) {
            *next += self.0[*next..].partition_point(is_over);
        }
        self.0.get(*next).is_some_and(|span| span.0 <= at)
    }

    /// Returns the packets of the track's log that passed in these spans.
    fn packets<'a>(&'a self, t: &'a Track) -> impl Iterator<Item = &'a LoggedPacket> {
        let (first, mut next) = (seconds(t.first), 0);
        t.log.iter().filter(move |s| self.holds_from(&mut next, seconds(s.time) - first))
    }
}

/// Returns the packets that were lost to the cause.
fn lost(t: &Track, cause: Cause, losses: &[(f64, Cause)]) -> Option<PacketProof> {
    let lost = t.log.iter().filter(|s| s.fate != PacketFate::Passed);
    let by_cause = lost.zip(losses).filter(|(_, loss)| loss.1 == cause).map(|(s, _)| s);
    let rtt = t.rtt.mean().unwrap_or_default();
    let (mut packets, mut total) = (Vec::new(), 0);
    let (mut episodes, mut until) = (0, None);
    for s in by_cause {
        total += u64::from(s.segments);
        if until.is_none_or(|until| s.time > until) {
            episodes += 1;
            until = Some(s.time + rtt);
        }
        if packets.len() < MAX_PACKETS && packets.last() != Some(&s.number) {
            packets.push(s.number);
        }
    }
    (total > 0).then(|| {
        let filter = format!("{} && ({LOSS_MARKS} || {})", forth(t), numbers(&packets));
        PacketProof { kind: ProofKind::Lost, packets, total, episodes: Some(episodes), filter, cause: None }
    })
}

fn zero_windows(t: &Track) -> Option<PacketProof> {
    let filter = format!("{} && tcp.window_size_value == 0 && tcp.flags.reset == 0", back(t));
    first(&t.zero_windows, ProofKind::ZeroWindows, filter)
}

fn held_back(t: &Track) -> Option<PacketProof> {
    let filter = format!("{} && tcp.len > 0 && tcp.len < {}", forth(t), t.mss.unwrap_or(u32::MAX));
    first(&t.held, ProofKind::Held, filter)
}

/// Returns a proof from packets that the tracker noted.
pub(super) fn first(few: &FirstPackets, kind: ProofKind, filter: String) -> Option<PacketProof> {
    let (packets, total) = (few.numbers().to_vec(), few.total());
    (total > 0).then_some(PacketProof { kind, packets, total, filter, ..PacketProof::default() })
}

/// Returns the packets with an RTT above the middle between the least and the greatest of the cause's time.
fn waited(t: &Track, held: &HeldTime) -> Option<PacketProof> {
    let timed = || held.packets(t).filter_map(|s| Some((micros(s.rtt.get()?), s)));
    let shortest = timed().map(|p| p.0).fold(f64::INFINITY, f64::min);
    let longest = timed().map(|p| p.0).fold(0.0, f64::max);
    let mut long: Vec<(f64, &LoggedPacket)> = timed().filter(|p| p.0 >= 0.5 * (shortest + longest)).collect();
    let total = long.iter().map(|(_, s)| u64::from(s.segments)).sum();
    let (from, to) = ends(long.iter().map(|(_, s)| s.number))?;
    long.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.number.cmp(&b.1.number)));
    long.truncate(MAX_PACKETS);
    let packets = long.into_iter().map(|(_, s)| s.number).collect();
    let filter = format!("{} && tcp.len > 0 && {}", forth(t), range(from, to));
    Some(PacketProof { kind: ProofKind::Waited, packets, total, filter, ..PacketProof::default() })
}

/// Returns the packets on both sides of the longest pauses.
fn pauses(t: &Track, held: &HeldTime) -> Option<PacketProof> {
    let since = |s: &LoggedPacket| seconds(s.time) - seconds(t.first);
    let mut gaps: Vec<(f64, usize)> = Vec::new();
    for (i, pair) in t.log.windows(2).enumerate() {
        let (a, b) = (since(&pair[0]), since(&pair[1]));
        let shortest = gaps.last().map_or(0.0, |gap| gap.0);
        if (gaps.len() == MAX_PAUSES && b - a <= shortest) || !held.holds(0.5 * (a + b)) {
            continue;
        }
        let at = gaps.partition_point(|gap| gap.0 >= b - a);
        gaps.insert(at, (b - a, i));
        gaps.truncate(MAX_PAUSES);
    }
    let mut packets: Vec<u32> =
        gaps.iter().flat_map(|g| [t.log[g.1].number, t.log[g.1 + 1].number]).collect();
    if packets.is_empty() {
        packets = held.packets(t).take(MAX_PACKETS).map(|s| s.number).collect();
    }
    packets.sort_unstable();
    packets.dedup();
    let mut total = 0;
    let counted = held.packets(t).inspect(|s| total += u64::from(s.segments)).map(|s| s.number);
    let (from, to) = ends(counted.chain(packets.iter().copied()))?;
    let total = total.max(packets.len() as u64);
    let filter = format!("{} && tcp.len > 0 && {}", forth(t), range(from, to));
    Some(PacketProof { kind: ProofKind::Pauses, packets, total, filter, ..PacketProof::default() })
}

/// Returns the least and the greatest number.
fn ends(numbers: impl Iterator<Item = u32>) -> Option<(u32, u32)> {
    numbers.fold(None, |ends, n| Some(ends.map_or((n, n), |(a, b): (u32, u32)| (a.min(n), b.max(n)))))
}
