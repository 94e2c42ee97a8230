//! Tracks of deliberately worsened captures: what the damage does not affect is unchanged, and the rest is
//! reported.

use crate::vantage::{Run, one, tracks};
use crate::{BLOAT, KEPT, LOSS, MIDDLE, POLICER, RECEIVER, SENDER, check, close, mean_ms, ms, transfer};
use capture::TcpPacket;
use track::{PauseKind, Track};
use units::Span;

fn policed() -> Run {
    transfer(POLICER, true, "", "", 1)
}

/// Retransmitted, fast, timeouts, lost up, lost down, unique bytes.
fn key(t: &Track) -> [u64; 6] {
    let c = &t.counts;
    [c.retransmitted_packets, c.fast, c.timeouts, c.lost_up, c.lost_down, c.unique_bytes]
}

#[test]
fn sequence_numbers_may_wrap_around() {
    let r = policed();
    let mut packets = r.captures.hosts[SENDER].clone();
    for p in &mut packets {
        let (from, to) =
            if p.src.port == 5201 { (77, u32::MAX - 9_000_000) } else { (u32::MAX - 9_000_000, 77) };
        p.seq = p.seq.wrapping_add(from);
        p.ack = p.ack.wrapping_add(to);
        for (a, b) in &mut p.options.sack {
            (*a, *b) = (a.wrapping_add(to), b.wrapping_add(to));
        }
    }
    let (t, plain) = (one(&packets), r.at(SENDER));
    check(&t);
    assert_eq!(t.counts, plain.counts);
    assert_eq!(t.log, plain.log);
}

#[test]
fn duplicate_records_are_left_out() {
    let r = policed();
    let packets = &r.captures.hosts[SENDER];
    let mut twice: Vec<TcpPacket> = Vec::new();
    for p in packets {
        twice.push(*p);
        twice.push(TcpPacket { time: p.time + Span::from_micros(7), ttl: p.ttl - 1, ..*p });
    }
    twice.sort_by_key(|p| p.time);
    let (t, plain) = (one(&twice), r.at(SENDER));
    // An ACK without IP identification cannot be distinguished from a duplicate ACK.
    let ambiguous = packets.iter().filter(|p| p.id == 0).count() as u64;
    let kept = packets.len() as u64 - t.counts.duplicate_records;
    // Nor, occasionally, a record whose duplicate is far behind it.
    assert!(kept <= ambiguous + 2, "{kept} kept, {ambiguous} in ambiguous");
    assert_eq!(key(&t), key(&plain));
}

#[test]
fn packets_missed_by_the_capture_are_not_losses() {
    let r = policed();
    let mut again = std::collections::HashMap::new();
    r.captures.sent.iter().for_each(|(seq, _)| *again.entry(*seq).or_insert(0) += 1);
    let (mut n, mut missed) = (0, 0);
    let keep = |p: &&TcpPacket| {
        let once = p.len > 0 && again.get(&p.seq) == Some(&1);
        n += once as u32;
        let dropped = once && n.is_multiple_of(97);
        missed += if dropped { p.len as u64 } else { 0 };
        !dropped
    };
    let packets: Vec<TcpPacket> = r.captures.hosts[SENDER].iter().filter(keep).copied().collect();
    let (t, plain) = (one(&packets), r.at(SENDER));
    assert!(missed > 100_000);
    assert_eq!(t.counts.missed_bytes, missed);
    assert_eq!(t.counts.acked_bytes, plain.counts.acked_bytes);
    assert_eq!((t.counts.lost_up, t.counts.lost_down), (plain.counts.lost_up, plain.counts.lost_down));
    assert_eq!(t.counts.retransmitted_packets, plain.counts.retransmitted_packets);
}

#[test]
fn a_capture_of_one_direction_gives_what_it_shows() {
    let r = policed();
    let packets = |data: bool| -> Vec<TcpPacket> {
        r.captures.hosts[SENDER].iter().filter(|p| (p.dst.port == 5201) == data).copied().collect()
    };
    let plain = r.at(SENDER);
    let data = one(&packets(true));
    assert_eq!(data.counts.retransmitted_packets, plain.counts.retransmitted_packets);
    assert_eq!(data.counts.lost_down, plain.counts.lost_down);
    assert_eq!((data.counts.acked_bytes, data.counts.acks, data.rtt.samples()), (0, 0, 0));
    let acks = one(&packets(false));
    assert_eq!(acks.counts.acked_bytes, 20_000_000);
    assert_eq!(acks.counts.missed_bytes, 20_000_000);
    assert_eq!((acks.counts.data_packets, acks.first_data), (0, None));
}

#[test]
fn a_flow_captured_from_the_middle_is_tracked() {
    let r = transfer(LOSS, true, "", "", 1);
    let packets = &r.captures.hosts[RECEIVER];
    let t = one(&packets[packets.len() / 2..]);
    assert!(!t.handshake.syn && t.handshake.wscale.is_none());
    assert!(t.bins.iter().all(|b| b.window.get().is_none()), "the scale is not known");
    assert_eq!(t.mss, Some(1448));
    let rtt = t.rtt.mean().unwrap().as_millis_f64();
    assert!((39.0..45.0).contains(&rtt), "{rtt}: by timestamps, without handshake");
}

/// Segmentation offload: up to `most` consecutive segments sent back to back become one record.
fn offloaded(packets: &[TcpPacket], most: u32) -> Vec<TcpPacket> {
    let mut out: Vec<TcpPacket> = Vec::new();
    for p in packets {
        if let Some(last) = out.last_mut()
            && (last.src, last.ack, last.options) == (p.src, p.ack, p.options)
            && (p.len > 0 && last.len > 0 && last.len.is_multiple_of(1448))
            && last.seq.wrapping_add(last.len) == p.seq
            && last.len < most * 1448
            && p.time.since(last.time) < Span::from_micros(500)
        {
            last.len += p.len;
            continue;
        }
        out.push(*p);
    }
    out
}

#[test]
fn super_packets_count_as_their_segments() {
    let r = policed();
    let packets = offloaded(&r.captures.hosts[SENDER], 44);
    assert!(packets.len() < r.captures.hosts[SENDER].len() * 9 / 10, "there are super-packets");
    let (t, plain) = (one(&packets), r.at(SENDER));
    check(&t);
    assert_eq!(t.counts.data_packets, plain.counts.data_packets);
    assert_eq!(t.counts.ip_bytes, plain.counts.ip_bytes);
    assert_eq!(key(&t), key(&plain));
}

#[test]
fn a_port_used_again_is_another_connection() {
    let r = policed();
    let first = &r.captures.hosts[SENDER];
    let later = first.iter().map(|p| {
        let shift = if p.src.port == 5201 { 0 } else { 1_000_000 };
        let time = p.time + Span::from_secs(70);
        let sack = p
            .options
            .sack
            .map(|(a, b)| (a.wrapping_add(1_000_000 - shift), b.wrapping_add(1_000_000 - shift)));
        let options = capture::PacketOptions { sack, ..p.options };
        TcpPacket {
            time,
            seq: p.seq.wrapping_add(shift),
            ack: p.ack.wrapping_add(1_000_000 - shift),
            options,
            ..*p
        }
    });
    let both: Vec<TcpPacket> = first.iter().copied().chain(later).collect();
    let mut tracks = tracks(&both);
    tracks.sort_by_key(|t| t.connection);
    assert_eq!(tracks.iter().map(|t| t.connection).collect::<Vec<_>>(), [0, 1]);
    assert_eq!(key(&tracks[0]), key(&tracks[1]));
}

/// The same packets with the clock moved by this many milliseconds from the middle on.
fn clock_set(packets: &[TcpPacket], by_ms: i64) -> Vec<TcpPacket> {
    let span = Span::from_millis(by_ms.unsigned_abs());
    let moved = |(i, p): (usize, &TcpPacket)| {
        // No time is before the first one.
        let later = if by_ms < 0 { i < packets.len() / 2 } else { i >= packets.len() / 2 };
        TcpPacket { time: if later { p.time + span } else { p.time }, ..*p }
    };
    packets.iter().enumerate().map(moved).collect()
}

#[test]
fn a_clock_step_changes_no_count_and_no_round_trip() {
    for stage in [POLICER, BLOAT] {
        let r = transfer(stage, true, "", "", 1);
        for host in [SENDER, MIDDLE, RECEIVER] {
            let plain = r.at(host);
            for by_ms in [5_000, -5_000, -300] {
                let t = one(&clock_set(&r.captures.hosts[host], by_ms));
                check(&t);
                let label = format!("{stage} at {host}, {by_ms} ms");
                assert_eq!(key(&t), key(&plain), "{label}");
                close(
                    &label,
                    t.rtt.min().unwrap().as_millis_f64(),
                    plain.rtt.min().unwrap().as_millis_f64(),
                    1.0,
                );
                close(&label, mean_ms(&t), mean_ms(&plain), 1.0);
                let lasted = |t: &Track| t.last.since(t.first).as_secs_f64();
                assert!((lasted(&t) - lasted(&plain)).abs() < 0.1, "{label}: {} s", lasted(&t));
                assert!(ms(&t, PauseKind::Silence) + ms(&t, PauseKind::Idle) < 100.0, "{label}");
            }
        }
    }
}

/// Without timestamps, the sender's retransmission timer, which did not expire, shows that less time has
/// passed.
#[test]
fn without_timestamps_a_clock_set_ahead_is_detected_by_missing_retransmissions() {
    let stack = "stack = { timestamps = false }";
    let r = transfer(BLOAT, true, stack, stack, 1);
    let (t, plain) = (one(&clock_set(&r.captures.hosts[SENDER], 5_000)), r.at(SENDER));
    assert_eq!(key(&t), key(&plain));
    let lasted = |t: &Track| t.last.since(t.first).as_secs_f64();
    assert!((lasted(&t) - lasted(&plain)).abs() < 0.1, "{} s", lasted(&t));
    // The sender's timer does expire on a path that stalls for as long.
    let kept = KEPT.replace("600ms", "5s");
    let t = transfer(&kept, true, stack, stack, 1).at(SENDER);
    assert!(lasted(&t) > 8.0, "{} s", lasted(&t));
}

/// A network card with several queues: occasionally a record is written after the next one, or after three.
#[test]
fn reordered_records_are_sorted() {
    for (stage, stack) in [(POLICER, ""), (BLOAT, "stack = { timestamps = false }")] {
        let r = transfer(stage, true, stack, stack, 1);
        for host in [SENDER, RECEIVER] {
            let mut packets = r.captures.hosts[host].clone();
            // Records with equal times are in the order in which they passed, which nothing could restore.
            packets.dedup_by(|b, a| a.time == b.time);
            let plain = one(&packets);
            let mut disordered = packets.clone();
            for i in (0..packets.len() - 4).step_by(8) {
                disordered[i..i + 2 + 2 * (i % 16 / 8)].rotate_left(1);
            }
            let t = one(&disordered);
            assert_eq!(t.counts, plain.counts, "{stage} at {host}");
            assert_eq!(t.log, plain.log, "{stage} at {host}");
            assert_eq!(t.rtt.mean(), plain.rtt.mean());
        }
    }
}
