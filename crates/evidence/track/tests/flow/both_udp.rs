//! Both ends of a UDP path: what was lost, how late and how uneven the rest came, whatever clocks, NAT and offload did to it.

use capture::{Frame, PacketFilter, Payload, PcapWriter, UdpFrame};
use std::net::Ipv4Addr;
use std::path::PathBuf;
use track::TrackerOptions;
use track::both_ends::{BothEndsTracks, DatagramsBetween, PairError, track_both_ends};
use track::udp::UdpTrack;
use units::{Stream, Time};

/// 2023-11-14, ns.
const TODAY: u64 = 1_700_000_000_000_000_000;

/// A datagram on its way: which, when it left (ns), when it came, if it did.
#[derive(Clone, Copy)]
struct Trip {
    number: u32,
    left: u64,
    came: Option<u64>,
    /// From the client, or back.
    up: bool,
}

/// How a capture has what passes it.
#[derive(Clone, Copy, Default)]
struct Look {
    /// ns.
    ahead: u64,
    drift: f64,
    /// Another address and port of the client, identifications anew.
    translated: bool,
    /// All payloads are the same, and no identifications.
    alike: bool,
    /// Nothing but headers was captured.
    headers: bool,
    /// So many datagrams are handed over as one.
    joined: usize,
    /// Records stand twice.
    mirrored: bool,
}

/// Datagrams that left (`true`) or came at one end, as a capture there has them.
fn captured(name: &str, trips: &[Trip], client: bool, look: Look) -> PathBuf {
    let mut seen: Vec<(u64, Trip)> = trips
        .iter()
        .filter_map(|t| Some((if t.up == client { Some(t.left) } else { t.came }?, *t)))
        .collect();
    seen.sort_by_key(|(at, t)| (*at, t.number));
    let mut file = PcapWriter::new(Vec::new()).unwrap();
    for (i, group) in seen.chunks(look.joined.max(1)).enumerate() {
        let (at, trip) = group[0];
        let time = Time::from_nanos(TODAY + look.ahead + (at as f64 * (1.0 + look.drift)).round() as u64);
        let (host, port) = if look.translated { (9, 1024) } else { (1, 40_000) };
        let ends = [(Ipv4Addr::new(10, 0, 0, host), port), (Ipv4Addr::new(10, 0, 0, 2), 5004)];
        let [from, to] = if trip.up { [ends[0], ends[1]] } else { [ends[1], ends[0]] };
        let payload_len = 200 * group.len() as u32;
        let payload = Payload::Udp(UdpFrame { sport: from.1, dport: to.1, payload_len });
        let id = match (look.alike, look.translated) {
            (true, _) => 0,
            (_, true) => i as u16 ^ 0x5555,
            _ => (trip.number % 60_000) as u16 + 1,
        };
        let frame =
            Frame { time, src: from.0.into(), dst: to.0.into(), id, dscp: 0, ecn: 0, ttl: 64, payload };
        let (mut bytes, _) = frame.headers().unwrap();
        let number = if look.alike { 0 } else { trip.number };
        bytes.extend([number.to_be_bytes(), [u8::from(trip.up); 4]].concat());
        bytes.resize(28 + payload_len as usize, 7);
        if look.headers {
            bytes.truncate(28);
        }
        for _ in 0..=usize::from(look.mirrored) {
            file.write_packet(time, &bytes).unwrap();
        }
    }
    let path = std::env::temp_dir().join(format!("longfat-udp-{name}-{}.pcap", std::process::id()));
    std::fs::write(&path, file.finish().unwrap()).unwrap();
    path
}

fn both(
    name: &str,
    trips: &[Trip],
    looks: [Look; 2],
    server_first: bool,
) -> Result<BothEndsTracks, PairError> {
    let client = captured(&format!("{name}-c"), trips, true, looks[0]);
    let server = captured(&format!("{name}-s"), trips, false, looks[1]);
    let files = if server_first { [&server, &client] } else { [&client, &server] };
    let files = files.map(|f| f.as_path());
    let out =
        track_both_ends(files, &PacketFilter::default(), TrackerOptions::default(), None, &mut |_, _| {});
    [client, server].iter().for_each(|path| std::fs::remove_file(path).unwrap());
    out
}

fn found(name: &str, trips: &[Trip], looks: [Look; 2], server_first: bool) -> BothEndsTracks {
    both(name, trips, looks, server_first).unwrap_or_else(|e| panic!("{name}: {e}"))
}

/// A minute of a datagram each 20 ms up and, if `answered`, down: 20 ms up, 12 down, a queue that comes and goes, a share lost.
fn minute(answered: bool, share: f64) -> Vec<Trip> {
    let mut chance = Stream::new(11, "udp both");
    let mut trips = Vec::new();
    for i in 0..3_000u32 {
        let left = u64::from(i) * 20_000_000;
        let queue = if i % 250 < 50 { u64::from(i % 250) * 400_000 } else { 0 };
        let jitter = if i % 5 == 0 { 0 } else { chance.below(2_000_000) };
        let came = (!chance.chance(share)).then_some(left + 20_000_000 + queue + jitter);
        trips.push(Trip { number: i, left, came, up: true });
        if answered {
            let came = Some(left + 12_000_000 + if i % 7 == 0 { 0 } else { chance.below(1_000_000) });
            trips.push(Trip { number: 1_000_000 + i, left, came, up: false });
        }
    }
    trips
}

fn way(found: &BothEndsTracks, up: bool) -> (&UdpTrack, usize, &DatagramsBetween) {
    let all = found.udp.0.iter().flat_map(|t| [0, 1].map(|side| (t, side)));
    let of =
        |(t, side): &(&UdpTrack, usize)| (t.ends[1 - side].port == 5004) == up && t.ways[*side].packets > 0;
    let mut of = all.filter(of);
    let (t, side) = of.next().expect("the direction is there");
    assert!(of.next().is_none(), "one flow");
    (t, side, t.ways[side].between.as_deref().expect("paired"))
}

/// Losses, delays and jitter are the trips'.
fn is_right(label: &str, found: &BothEndsTracks, trips: &[Trip]) {
    let (t, side, between) = way(found, true);
    let up: Vec<&Trip> = trips.iter().filter(|t| t.up).collect();
    let lost: Vec<u64> = up.iter().filter(|t| t.came.is_none()).map(|t| t.left).collect();
    let arrived = up.len() as u64 - lost.len() as u64;
    assert_eq!(
        (between.unknown_packets, between.lost_packets, between.arrived_packets),
        (0, lost.len() as u64, arrived),
        "{label}"
    );
    // Told by the clock of the capture that was given first, whichever it is.
    let zero = between.lost[0].as_nanos() - lost[0];
    for (told, left) in between.lost.iter().zip(&lost) {
        assert!(told.as_nanos().abs_diff(zero + left) < 3_000_000, "{label}: which were lost");
    }
    let took: Vec<i64> = up.iter().filter_map(|t| Some((t.came? - t.left) as i64)).collect();
    let least = *took.iter().min().unwrap();
    let mean = took.iter().map(|t| t - least).sum::<i64>() as f64 / took.len() as f64;
    let late = between.late.mean().unwrap().as_nanos() as f64;
    assert!((late - mean).abs() < 100_000.0, "{label}: late {late} {mean}");
    let mut came: Vec<(u64, i64)> =
        up.iter().filter_map(|t| Some((t.came?, (t.came? - t.left) as i64))).collect();
    came.sort_unstable();
    let d: u64 = came.windows(2).map(|w| w[0].1.abs_diff(w[1].1)).sum();
    let jitter = d as f64 / (came.len() - 1) as f64;
    let told = between.jitter.unwrap().as_nanos() as f64;
    assert!((told / jitter - 1.0).abs() < 0.01, "{label}: jitter {told} {jitter}");
    assert!(between.max_jitter.unwrap() >= between.jitter.unwrap(), "{label}");
    // The log of the flow has it, too.
    let way = &t.ways[side];
    assert_eq!(way.packets, up.len() as u64, "{label}: it is told as its sender's side has it");
    let in_log = way.log.iter().filter(|p| p.fate == track::PacketFate::LostDown).count();
    assert_eq!(in_log, lost.len(), "{label}");
}

#[test]
fn what_was_lost_late_and_uneven_between_both_is_known() {
    let trips = minute(true, 0.02);
    let far = Look { ahead: 3_600_000_000_000, drift: 30e-6, ..Look::default() };
    let headers = Look { headers: true, ..Look::default() };
    for (label, looks, server_first) in [
        ("plain", [Look::default(); 2], false),
        ("clocks", [Look::default(), far], false),
        ("server first", [Look::default(), far], true),
        ("nat", [Look::default(), Look { translated: true, ..far }], false),
        ("headers", [headers, Look { headers: true, ..far }], false),
        ("mirror", [Look { mirrored: true, ..Look::default() }, far], false),
    ] {
        let found = found(label, &trips, looks, server_first);
        if label == "mirror" {
            let (_, _, between) = way(&found, true);
            let lost = trips.iter().filter(|t| t.up && t.came.is_none()).count() as u64;
            assert_eq!((between.lost_packets, between.unknown_packets), (lost, 0), "a double is not lost");
            continue;
        }
        is_right(label, &found, &trips);
        let paired = &found.paired;
        assert!(paired.clock.two_way, "{label}");
        // 20 there and 12 back: 4 ms of the offset cannot be seen, and are within the bound.
        let (_, _, between) = way(&found, true);
        assert!((between.least_ns.unwrap() - 16_000_000).abs() < 200_000, "{label}: {:?}", between.least_ns);
        assert_eq!(paired.paired_udp, [2, if looks[1].translated { 2 } else { 0 }], "{label}");
        assert_eq!((paired.alone_udp, paired.missed), ([0, 0], [0, 0]), "{label}");
        let (_, _, back) = way(&found, false);
        assert_eq!((back.lost_packets, back.arrived_packets), (0, 3_000), "{label}");
    }
}

#[test]
fn one_direction_tells_losses_and_jitter_and_not_the_least_delay() {
    let trips = minute(false, 0.02);
    for (label, looks, server_first) in [
        ("one way", [Look::default(); 2], false),
        ("one way, server first", [Look::default(), Look { ahead: 5_000_000_000, ..Look::default() }], true),
    ] {
        let found = found(label, &trips, looks, server_first);
        is_right(label, &found, &trips);
        let (_, _, between) = way(&found, true);
        assert_eq!((found.paired.clock.two_way, between.least_ns), (false, None), "{label}");
    }
}

#[test]
fn of_datagrams_that_look_alike_the_number_lost_is_known() {
    let trips = minute(true, 0.05);
    let lost = trips.iter().filter(|t| t.up && t.came.is_none()).count() as u64;
    // One of each direction is told from the others, or nothing is.
    let alike = Look { alike: true, ..Look::default() };
    let error = both("alike", &trips, [alike; 2], false).map(|_| ()).unwrap_err();
    assert!(matches!(error, PairError::NoneShared { flows: [2, 2], .. }), "{error}");
    // Numbers that are used again after a few seconds.
    let again: Vec<Trip> = trips
        .iter()
        .map(|t| Trip { number: t.number / 1_000_000 * 1_000_000 + t.number % 250, ..*t })
        .collect();
    let mut some = again.clone();
    some[0].number = 999;
    some[1].number = 1_000_999;
    let found = found("repeated", &some, [Look::default(); 2], false);
    let (_, _, between) = way(&found, true);
    assert_eq!((between.lost_packets, between.unknown_packets), (lost, 0));
}

#[test]
fn what_offload_joined_is_not_told_as_lost() {
    let trips = minute(true, 0.02);
    let joined = Look { joined: 4, ..Look::default() };
    for looks in [[joined, Look::default()], [Look::default(), joined]] {
        let found = found("joined", &trips, looks, false);
        let (_, _, between) = way(&found, true);
        assert!(between.cut && between.lost_packets == 0, "{between:?}");
    }
}

#[test]
fn captures_of_other_flows_are_not_put_together() {
    let trips = minute(true, 0.0);
    let others: Vec<Trip> = trips.iter().map(|t| Trip { number: t.number + 5_000_000, ..*t }).collect();
    let client = captured("others-c", &trips, true, Look::default());
    let server = captured("others-s", &others, false, Look::default());
    let files = [client.as_path(), server.as_path()];
    let out =
        track_both_ends(files, &PacketFilter::default(), TrackerOptions::default(), None, &mut |_, _| {});
    files.iter().for_each(|path| std::fs::remove_file(path).unwrap());
    let error = out.map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("no UDP flow (2 and 2 directions)"), "{error}");
}
