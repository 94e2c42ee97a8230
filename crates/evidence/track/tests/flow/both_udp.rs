//! Both ends of a UDP path: losses, delays and jitter are found despite clock offset, NAT and offload.

use capture::{Frame, PacketFilter, Payload, PcapWriter, UdpFrame};
use std::net::Ipv4Addr;
use std::path::PathBuf;
use track::TrackerOptions;
use track::both_ends::{BothEndsTracks, DatagramsBetween, PairError, track_both_ends};
use track::udp::UdpTrack;
use units::{Stream, Time};

/// 2023-11-14, ns.
const TODAY: u64 = 1_700_000_000_000_000_000;

/// A datagram: its number, when it left (ns), and when it arrived, if it did.
#[derive(Clone, Copy)]
struct Trip {
    number: u32,
    left: u64,
    came: Option<u64>,
    /// Sent by the client; otherwise by the server.
    up: bool,
}

/// How a capture shows the datagrams.
#[derive(Clone, Copy, Default)]
struct View {
    /// Clock offset, ns.
    ahead: u64,
    drift: f64,
    /// The client has another address and port, and identifications are new.
    translated: bool,
    /// All payloads are equal, without identifications.
    alike: bool,
    /// Only headers were captured.
    headers: bool,
    /// This many datagrams are merged into one.
    joined: usize,
    /// Each record is duplicated.
    mirrored: bool,
}

/// Writes the datagrams that one end sent (`true`) or received, as a capture there shows them.
fn captured(name: &str, trips: &[Trip], client: bool, view: View) -> PathBuf {
    let mut seen: Vec<(u64, Trip)> = trips
        .iter()
        .filter_map(|t| Some((if t.up == client { Some(t.left) } else { t.came }?, *t)))
        .collect();
    seen.sort_by_key(|(at, t)| (*at, t.number));
    let mut file = PcapWriter::new(Vec::new()).unwrap();
    for (i, group) in seen.chunks(view.joined.max(1)).enumerate() {
        let (at, trip) = group[0];
        let time = Time::from_nanos(TODAY + view.ahead + (at as f64 * (1.0 + view.drift)).round() as u64);
        let (host, port) = if view.translated { (9, 1024) } else { (1, 40_000) };
        let ends = [(Ipv4Addr::new(10, 0, 0, host), port), (Ipv4Addr::new(10, 0, 0, 2), 5004)];
        let [from, to] = if trip.up { [ends[0], ends[1]] } else { [ends[1], ends[0]] };
        let payload_len = 200 * group.len() as u32;
        let payload = Payload::Udp(UdpFrame { sport: from.1, dport: to.1, payload_len });
        let id = match (view.alike, view.translated) {
            (true, _) => 0,
            (_, true) => i as u16 ^ 0x5555,
            _ => (trip.number % 60_000) as u16 + 1,
        };
        let frame =
            Frame { time, src: from.0.into(), dst: to.0.into(), id, dscp: 0, ecn: 0, ttl: 64, payload };
        let (mut bytes, _) = frame.headers().unwrap();
        let number = if view.alike { 0 } else { trip.number };
        bytes.extend([number.to_be_bytes(), [u8::from(trip.up); 4]].concat());
        bytes.resize(28 + payload_len as usize, 7);
        if view.headers {
            bytes.truncate(28);
        }
        for _ in 0..=usize::from(view.mirrored) {
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
    views: [View; 2],
    server_first: bool,
) -> Result<BothEndsTracks, PairError> {
    let client = captured(&format!("{name}-c"), trips, true, views[0]);
    let server = captured(&format!("{name}-s"), trips, false, views[1]);
    let files = if server_first { [&server, &client] } else { [&client, &server] };
    let files = files.map(|f| f.as_path());
    let out =
        track_both_ends(files, &PacketFilter::default(), TrackerOptions::default(), None, &mut |_, _| {});
    [client, server].iter().for_each(|path| std::fs::remove_file(path).unwrap());
    out
}

fn found(name: &str, trips: &[Trip], views: [View; 2], server_first: bool) -> BothEndsTracks {
    both(name, trips, views, server_first).unwrap_or_else(|e| panic!("{name}: {e}"))
}

/// A minute with a datagram every 20 ms up and, if `answered`, down: delays of 20 ms up and 12 ms down, a
/// queue that comes and goes, and a share lost.
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

fn direction(found: &BothEndsTracks, up: bool) -> (&UdpTrack, usize, &DatagramsBetween) {
    let all = found.udp.0.iter().flat_map(|t| [0, 1].map(|side| (t, side)));
    let is_wanted =
        |(t, side): &(&UdpTrack, usize)| (t.ends[1 - side].port == 5004) == up && t.ways[*side].packets > 0;
    let mut flows = all.filter(is_wanted);
    let (t, side) = flows.next().expect("the direction is there");
    assert!(flows.next().is_none(), "one flow");
    (t, side, t.ways[side].between.as_deref().expect("paired"))
}

/// Checks losses, delays and jitter against the trips.
fn is_right(label: &str, found: &BothEndsTracks, trips: &[Trip]) {
    let (t, side, between) = direction(found, true);
    let up: Vec<&Trip> = trips.iter().filter(|t| t.up).collect();
    let lost: Vec<u64> = up.iter().filter(|t| t.came.is_none()).map(|t| t.left).collect();
    let arrived = up.len() as u64 - lost.len() as u64;
    assert_eq!(
        (between.unknown_packets, between.lost_packets, between.arrived_packets),
        (0, lost.len() as u64, arrived),
        "{label}"
    );
    // Times are by the clock of the capture that was given first.
    let zero = between.lost[0].as_nanos() - lost[0];
    for (found_value, left) in between.lost.iter().zip(&lost) {
        assert!(found_value.as_nanos().abs_diff(zero + left) < 3_000_000, "{label}: which were lost");
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
    let found_value = between.jitter.unwrap().as_nanos() as f64;
    assert!((found_value / jitter - 1.0).abs() < 0.01, "{label}: jitter {found_value} {jitter}");
    assert!(between.max_jitter.unwrap() >= between.jitter.unwrap(), "{label}");
    // The flow's log shows the losses too.
    let direction = &t.ways[side];
    assert_eq!(direction.packets, up.len() as u64, "{label}: from its sender's capture");
    let in_log = direction.log.iter().filter(|p| p.fate == track::PacketFate::LostDown).count();
    assert_eq!(in_log, lost.len(), "{label}");
}

#[test]
fn losses_delays_and_jitter_between_both_ends_are_known() {
    let trips = minute(true, 0.02);
    let far = View { ahead: 3_600_000_000_000, drift: 30e-6, ..View::default() };
    let headers = View { headers: true, ..View::default() };
    for (label, views, server_first) in [
        ("plain", [View::default(); 2], false),
        ("clocks", [View::default(), far], false),
        ("server first", [View::default(), far], true),
        ("nat", [View::default(), View { translated: true, ..far }], false),
        ("headers", [headers, View { headers: true, ..far }], false),
        ("mirror", [View { mirrored: true, ..View::default() }, far], false),
    ] {
        let found = found(label, &trips, views, server_first);
        if label == "mirror" {
            let (_, _, between) = direction(&found, true);
            let lost = trips.iter().filter(|t| t.up && t.came.is_none()).count() as u64;
            assert_eq!(
                (between.lost_packets, between.unknown_packets),
                (lost, 0),
                "a duplicate is not a loss"
            );
            continue;
        }
        is_right(label, &found, &trips);
        let paired = &found.paired;
        assert!(paired.clock.two_way, "{label}");
        // 20 ms out and 12 ms back: 4 ms of the offset cannot be seen, and are within the bound.
        let (_, _, between) = direction(&found, true);
        assert!((between.least_ns.unwrap() - 16_000_000).abs() < 200_000, "{label}: {:?}", between.least_ns);
        assert_eq!(paired.paired_udp, [2, if views[1].translated { 2 } else { 0 }], "{label}");
        assert_eq!((paired.alone_udp, paired.missed), ([0, 0], [0, 0]), "{label}");
        let (_, _, back) = direction(&found, false);
        assert_eq!((back.lost_packets, back.arrived_packets), (0, 3_000), "{label}");
    }
}

#[test]
fn one_direction_gives_losses_and_jitter_but_no_minimum_delay() {
    let trips = minute(false, 0.02);
    for (label, views, server_first) in [
        ("one direction", [View::default(); 2], false),
        ("one way, server first", [View::default(), View { ahead: 5_000_000_000, ..View::default() }], true),
    ] {
        let found = found(label, &trips, views, server_first);
        is_right(label, &found, &trips);
        let (_, _, between) = direction(&found, true);
        assert_eq!((found.paired.clock.two_way, between.least_ns), (false, None), "{label}");
    }
}

#[test]
fn the_number_of_lost_equal_datagrams_is_known() {
    let trips = minute(true, 0.05);
    let lost = trips.iter().filter(|t| t.up && t.came.is_none()).count() as u64;
    // Without one distinguishable datagram in each direction nothing can be paired.
    let alike = View { alike: true, ..View::default() };
    let error = both("alike", &trips, [alike; 2], false).map(|_| ()).unwrap_err();
    assert!(matches!(error, PairError::NoneShared { flows: [2, 2], .. }), "{error}");
    // Numbers that are reused after a few seconds.
    let again: Vec<Trip> = trips
        .iter()
        .map(|t| Trip { number: t.number / 1_000_000 * 1_000_000 + t.number % 250, ..*t })
        .collect();
    let mut some = again.clone();
    some[0].number = 999;
    some[1].number = 1_000_999;
    let found = found("repeated", &some, [View::default(); 2], false);
    let (_, _, between) = direction(&found, true);
    assert_eq!((between.lost_packets, between.unknown_packets), (lost, 0));
}

#[test]
fn datagrams_merged_by_offload_are_not_losses() {
    let trips = minute(true, 0.02);
    let joined = View { joined: 4, ..View::default() };
    for views in [[joined, View::default()], [View::default(), joined]] {
        let found = found("joined", &trips, views, false);
        let (_, _, between) = direction(&found, true);
        assert!(between.cut && between.lost_packets == 0, "{between:?}");
    }
}

#[test]
fn captures_of_different_flows_are_refused() {
    let trips = minute(true, 0.0);
    let others: Vec<Trip> = trips.iter().map(|t| Trip { number: t.number + 5_000_000, ..*t }).collect();
    let client = captured("others-c", &trips, true, View::default());
    let server = captured("others-s", &others, false, View::default());
    let files = [client.as_path(), server.as_path()];
    let out =
        track_both_ends(files, &PacketFilter::default(), TrackerOptions::default(), None, &mut |_, _| {});
    files.iter().for_each(|path| std::fs::remove_file(path).unwrap());
    let error = out.map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("no UDP flow (2 and 2 directions)"), "{error}");
}
