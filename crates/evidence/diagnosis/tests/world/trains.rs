//! Trains of datagrams through elements of the engine, whose numbers are the truth. Cases are drawn; a
//! policer must be found with its numbers, and nothing else may be called one.

use diagnosis::train::{TrainDoubt, TrainFinding, TrainPacket, evaluate};
use path::{Chain, Ecn, Outbox, Packet, Stage};
use units::{Stream, Time};

/// Size of the datagrams, bytes of IP.
const BYTES: u32 = 600;

fn stage(json: serde_json::Value) -> Stage {
    serde_json::from_value(json).expect("a stage")
}

fn datagram(id: u64) -> Packet<()> {
    Packet { id, size: BYTES, overhead: 0, flow: 0, dscp: 0, ecn: Ecn::NotEct, fragment: None, body: () }
}

/// Sends a train of `count` datagrams at `rate` bit/s through stages. Every datagram is sent up to `late_us`
/// after its time, and its arrival is stamped up to `stamp_us` late.
fn sent(stages: &[Stage], rate: f64, count: u64, noise_us: [f64; 2], seed: u64) -> Vec<TrainPacket> {
    batched(stages, rate, count, noise_us, seed, 0.0)
}

/// Sends a train that reaches the stages in batches, one each `batch` seconds.
fn batched(
    stages: &[Stage],
    rate: f64,
    count: u64,
    [late_us, stamp_us]: [f64; 2],
    seed: u64,
    batch: f64,
) -> Vec<TrainPacket> {
    let names: Vec<String> = (0..stages.len()).map(|i| format!("stage{i}")).collect();
    let mut chain: Chain<()> = Chain::build(seed, names.iter().map(String::as_str).zip(stages));
    let mut random = Stream::new(seed, "train");
    let mut out = Outbox::default();
    let gap = f64::from(BYTES) * 8.0 / rate;
    let mut last = 0.0f64;
    let mut train = Vec::new();
    for id in 0..count {
        let at = (id as f64 * gap + random.unit() * late_us * 1e-6).max(last);
        last = at;
        // The receiver's clock begins elsewhere.
        train.push(TrainPacket { sent: at + 1234.5, arrived: None, bytes: BYTES });
        let reached = if batch > 0.0 { (at / batch).ceil() * batch } else { at };
        let now = Time::from_nanos((reached * 1e9) as u64);
        while let Some(wake) = chain.next_wake().filter(|wake| *wake <= now) {
            chain.handle_wake(wake, &mut out);
        }
        chain.handle_packet(now, datagram(id), &mut out);
    }
    while let Some(wake) = chain.next_wake() {
        chain.handle_wake(wake, &mut out);
    }
    for (at, packet) in &out.sent {
        let stamp = at.as_secs_f64() + random.unit() * stamp_us * 1e-6;
        train[packet.id as usize].arrived = Some(stamp);
    }
    train
}

fn delay() -> Stage {
    stage(serde_json::json!({ "kind": "delay", "delay": "20ms" }))
}

/// A draw between two numbers, evenly on a logarithmic scale.
fn between(random: &mut Stream, low: f64, high: f64) -> f64 {
    low * (high / low).powf(random.unit())
}

fn policer(rate: f64, bucket: f64) -> Stage {
    stage(
        serde_json::json!({ "kind": "policer", "rate": format!("{}bit/s", rate as u64), "burst": format!("{}B", bucket as u64) }),
    )
}

fn loss(share: f64) -> Stage {
    stage(serde_json::json!({ "kind": "loss", "probability": share }))
}

/// The number of datagrams that use up a bucket and then some hundred more.
fn long_enough(bucket: f64, ratio: f64) -> u64 {
    (bucket / f64::from(BYTES) * ratio / (ratio - 1.0)) as u64 + (400.0 * ratio) as u64
}

#[test]
fn a_policer_is_found_with_its_rate_and_bucket() {
    let mut random = Stream::new(7, "policers");
    let mut named = 0;
    for seed in 0..60 {
        let rate = between(&mut random, 1e6, 200e6);
        let bucket = between(&mut random, 8.0 * f64::from(BYTES), (0.25 * rate / 8.0).min(1e6));
        let ratio = 1.4 + 2.0 * random.unit();
        let stages = match seed % 3 {
            0 => vec![policer(rate, bucket), delay()],
            1 => vec![delay(), policer(rate, bucket)],
            _ => vec![policer(rate, bucket), delay(), loss(0.005)],
        };
        let noise = [20.0 * random.unit(), 60.0 * random.unit()];
        let train = sent(&stages, ratio * rate, long_enough(bucket, ratio), noise, seed);
        match evaluate(&train, false) {
            TrainFinding::Policer { rate: found, bucket: size } => {
                named += 1;
                let [rate_error, bucket_error] = [found / rate - 1.0, size / bucket - 1.0];
                let what = format!("{seed}: {rate:.0} bit/s, {bucket:.0} B: {found:.0}, {size:.0}");
                assert!(rate_error.abs() < 0.03, "rate of {what}");
                assert!(bucket_error.abs() < 0.2, "bucket of {what}");
            }
            TrainFinding::Unknown(TrainDoubt::Jitter | TrainDoubt::NoRate) => {}
            other => panic!("{seed}: {rate:.0} bit/s, {bucket:.0} B, ratio {ratio:.2}: {other:?}"),
        }
    }
    assert!(named >= 57, "{named} of 60 policers were named");
}

/// Devices and emulators hand packets on in batches, so a policer sees them later than they were sent.
#[test]
fn batches_before_a_policer_do_not_hide_it_and_make_none_of_random_loss() {
    let mut random = Stream::new(11, "batches");
    let mut named = 0;
    for seed in 0..30 {
        let rate = between(&mut random, 5e6, 100e6);
        let batch = 1e-3 * between(&mut random, 0.3, 2.0);
        let bucket = 8.0 * f64::from(BYTES) + between(&mut random, 8.0, 40.0) * batch * rate / 8.0;
        let ratio = 1.5 + random.unit();
        let stages = [policer(rate, bucket), delay()];
        let count = long_enough(bucket, ratio).max((0.3 * ratio * rate / 8.0 / f64::from(BYTES)) as u64);
        match evaluate(&batched(&stages, ratio * rate, count, [20.0, 60.0], seed, batch), false) {
            TrainFinding::Policer { rate: found, bucket: size } => {
                named += 1;
                let what = format!("{seed}: {rate:.0} bit/s, {bucket:.0} B: {found:.0}, {size:.0}");
                assert!((found / rate - 1.0).abs() < 0.03, "rate of {what}");
                assert!((size / bucket - 1.0).abs() < 0.2, "bucket of {what}");
            }
            TrainFinding::Unknown(_) => {}
            other => panic!("{seed}: {rate:.0} bit/s, {bucket:.0} B: {other:?}"),
        }
        let stages = [loss(between(&mut random, 0.02, 0.5)), delay()];
        let finding = evaluate(&batched(&stages, rate, 1500, [20.0, 60.0], seed, batch), false);
        assert!(!matches!(finding, TrainFinding::Policer { .. }), "{seed}: {finding:?}");
    }
    assert!(named >= 20, "{named} of 30 policers were named");
}

/// A buffer that a batch fills delays and drops whatever it is: neither kind is named.
#[test]
fn a_buffer_shorter_than_a_batch_has_no_kind() {
    let mut random = Stream::new(12, "small buffers");
    for seed in 0..8 {
        let rate = between(&mut random, 300e6, 500e6);
        let bucket = rate / 8.0 * 1e-6 * between(&mut random, 40.0, 80.0);
        let batch = 1e-6 * between(&mut random, 20.0, 60.0);
        let train = batched(&[policer(rate, bucket), delay()], 1.8 * rate, 4000, [5.0, 30.0], seed, batch);
        let finding = evaluate(&train, false);
        assert!(
            matches!(finding, TrainFinding::Unknown(_)),
            "{seed}: {rate:.0} bit/s, {bucket:.0} B: {finding:?}"
        );
    }
}

/// A sender that is late while the bucket is still full wastes tokens.
#[test]
fn a_sender_that_stalls_at_its_begin_does_not_shrink_the_bucket() {
    let mut random = Stream::new(3, "stall");
    for seed in 0..10 {
        let stall = 5e-3 * random.unit();
        let stalls = |i: u64| if i >= 5 { stall } else { 0.0 };
        let mut chain: Chain<()> = Chain::build(seed, [("policer", &policer(20e6, 30e3))]);
        let mut out = Outbox::default();
        let mut train = Vec::new();
        for i in 0..6000u64 {
            let sent = i as f64 * f64::from(BYTES) * 8.0 / 24e6 + stalls(i);
            chain.handle_packet(Time::from_nanos((sent * 1e9) as u64), datagram(i), &mut out);
            train.push(TrainPacket { sent, arrived: None, bytes: BYTES });
        }
        out.sent.iter().for_each(|(at, p)| train[p.id as usize].arrived = Some(at.as_secs_f64() + 0.02));
        match evaluate(&train, false) {
            TrainFinding::Policer { bucket, .. } => {
                assert!((bucket / 30e3 - 1.0).abs() < 0.1, "{bucket} after {stall} s");
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_queue_is_never_called_a_policer() {
    let mut random = Stream::new(8, "queues");
    let mut named = 0;
    for seed in 0..60 {
        let rate = between(&mut random, 1e6, 200e6);
        let packet = f64::from(BYTES);
        let queue = between(&mut random, 2.0 * packet, (0.2 * rate / 8.0).min(2e5));
        let limiter = if seed % 2 == 0 {
            serde_json::json!({ "kind": "link", "rate": format!("{}bit/s", rate as u64),
                "queue": { "kind": "fifo", "bytes": format!("{}B", queue as u64) } })
        } else {
            let bucket = between(&mut random, 2.0 * packet, 5.0 * queue);
            serde_json::json!({ "kind": "shaper", "rate": format!("{}bit/s", rate as u64), "burst": format!("{}B", bucket as u64),
                "queue": { "kind": "fifo", "bytes": format!("{}B", queue as u64) } })
        };
        let ratio = 1.4 + 2.0 * random.unit();
        let noise = [20.0 * random.unit(), 60.0 * random.unit()];
        let stages = [stage(limiter), delay()];
        let train = sent(&stages, ratio * rate, long_enough(6.0 * queue, ratio), noise, seed);
        match evaluate(&train, false) {
            TrainFinding::Queue { rate: found, .. } => {
                named += 1;
                assert!((found / rate - 1.0).abs() < 0.03, "{seed}: {found:.0} of {rate:.0} bit/s");
            }
            TrainFinding::Unknown(_) => {}
            other => panic!("{seed}: {rate:.0} bit/s, queue {queue:.0} B, ratio {ratio:.2}: {other:?}"),
        }
    }
    assert!(named >= 54, "{named} of 60 queues were named");
}

#[test]
fn random_loss_and_a_path_without_limit_are_not_policers() {
    let mut random = Stream::new(9, "losses");
    for seed in 0..60 {
        let rate = between(&mut random, 2e6, 100e6);
        let share = between(&mut random, 0.001, 0.4);
        let train = sent(&[loss(share), delay()], rate, 1500, [20.0, 60.0], seed);
        let finding = evaluate(&train, false);
        let right = matches!(finding, TrainFinding::Unlimited { .. } | TrainFinding::Unknown(_));
        assert!(right, "{seed}: {share:.3} lost at {rate:.0} bit/s: {finding:?}");
    }
    match evaluate(&sent(&[delay()], 50e6, 1500, [20.0, 60.0], 1), false) {
        TrainFinding::Unlimited { above } => assert!((above / 50e6 - 1.0).abs() < 0.01, "{above}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_shaper_has_its_bucket_and_its_queue() {
    let limiter = stage(serde_json::json!({ "kind": "shaper", "rate": "20Mbit/s", "burst": "60kB",
        "queue": { "kind": "fifo", "bytes": "100kB" } }));
    let train = sent(&[limiter, delay()], 50e6, 2000, [20.0, 60.0], 3);
    let TrainFinding::Queue { rate, bucket: Some(bucket), queue, full: true } = evaluate(&train, false)
    else {
        panic!("{:?}", evaluate(&train, false));
    };
    assert!((rate / 20e6 - 1.0).abs() < 0.01, "{rate}");
    assert!((bucket / 60e3 - 1.0).abs() < 0.1, "{bucket}");
    assert!((queue / 100e3 - 1.0).abs() < 0.1, "{queue}");
}

/// A host that stands still for a moment reads the datagrams of that time faster than they were sent.
#[test]
fn a_receiver_that_stalls_makes_no_bucket() {
    let mut random = Stream::new(13, "stalls");
    let mut named = 0;
    for seed in 0..60 {
        let rate = between(&mut random, 5e6, 100e6);
        let bytes_in = |time: f64| (rate / 8.0 * time) as u64;
        let stall = 1e-3 * between(&mut random, 1.0, 10.0);
        let bucket = bytes_in(1e-3 * between(&mut random, 2.0 + 1e3 * stall, 40.0)).max(4000);
        let queue = serde_json::json!({ "kind": "fifo", "bytes": format!("{}B", bytes_in(0.1)) });
        let rate_text = format!("{}bit/s", rate as u64);
        let has_bucket = seed % 2 == 1;
        let limiter = if has_bucket {
            serde_json::json!({ "kind": "shaper", "rate": rate_text, "burst": format!("{bucket}B"), "queue": queue })
        } else {
            serde_json::json!({ "kind": "link", "rate": rate_text, "queue": queue })
        };
        let ratio = 1.5 + random.unit();
        // Every other train ends before the queue is full.
        let used_up = if has_bucket { bucket as f64 * ratio / (ratio - 1.0) } else { 0.0 };
        let more = if seed % 4 < 2 { 0.08 } else { 0.5 };
        let count = ((used_up + more * rate / 8.0) / f64::from(BYTES)) as u64;
        let mut train = sent(&[stage(limiter), delay()], ratio * rate, count, [2.0, 20.0], seed);
        let first = train.iter().filter_map(|p| p.arrived).fold(f64::INFINITY, f64::min);
        let stalls = [first, first + stall * (1.5 + random.unit()), first + stall * (4.0 + random.unit())];
        let mut last = 0.0;
        for arrived in train.iter_mut().filter_map(|p| p.arrived.as_mut()) {
            let ready = stalls.iter().fold(*arrived, |at, from| {
                if (*from..from + stall).contains(&at) { from + stall } else { at }
            });
            *arrived = ready.max(last + 0.7 * random.unit() * f64::from(BYTES) * 8.0 / (ratio * rate));
            last = *arrived;
        }
        let what = format!("{seed}: {rate:.0} bit/s, {bucket:.0} B, {stall:.4} s");
        let TrainFinding::Queue { rate: found, bucket: size, .. } = evaluate(&train, false) else {
            panic!("{what}: {:?}", evaluate(&train, false));
        };
        assert!((found / rate - 1.0).abs() < 0.03, "{what}: {found:.0} bit/s");
        named += u32::from(has_bucket && size.is_some());
        let right = size.is_none_or(|size| has_bucket && (size / bucket as f64 - 1.0).abs() < 0.2);
        assert!(right, "{what}: bucket {size:?}");
    }
    assert!(named >= 18, "{named} of 30 buckets were found");
}

/// A train just faster than the limit shows no kind of limit, and is not said to have passed as fast as it was sent.
#[test]
fn no_limit_is_named_only_below_the_rate_of_arrival() {
    let link = stage(serde_json::json!({ "kind": "link", "rate": "20Mbit/s",
        "queue": { "kind": "fifo", "bytes": "1MB" } }));
    match evaluate(&sent(&[link, delay()], 21e6, 3000, [2.0, 20.0], 1), false) {
        TrainFinding::Unlimited { above } => assert!((above / 20e6 - 1.0).abs() < 0.01, "{above}"),
        other => panic!("{other:?}"),
    }
}

/// The sender's own device holds it back once its socket's buffer is full, here after 100 datagrams.
#[test]
fn a_queue_of_the_senders_own_device_is_a_limit() {
    let gap = f64::from(BYTES) * 8.0 / 20e6;
    let packet = |i: i32| {
        let arrived = f64::from(i) * gap;
        TrainPacket { sent: (arrived - 100.0 * gap).max(arrived / 2.0), arrived: Some(arrived), bytes: BYTES }
    };
    let train: Vec<TrainPacket> = (0..3000).map(packet).collect();
    match evaluate(&train, true) {
        TrainFinding::Queue { rate, full: false, .. } => assert!((rate / 20e6 - 1.0).abs() < 0.01, "{rate}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_damaged_train_decides_nothing() {
    let unknown = |train: &[TrainPacket]| matches!(evaluate(train, false), TrainFinding::Unknown(_));
    assert!(unknown(&[]));
    let packet = |sent, arrived| TrainPacket { sent, arrived, bytes: BYTES };
    assert!(unknown(&[packet(0.0, None)]));
    assert!(unknown(&vec![packet(0.0, Some(0.0)); 500]), "all at once");
    assert!(unknown(&vec![packet(f64::NAN, Some(f64::INFINITY)); 500]));
    let backwards: Vec<_> = (0..500).map(|i| packet(-f64::from(i), (i % 2 == 0).then_some(1.0))).collect();
    assert!(unknown(&backwards));
    assert!(unknown(&(0..500).map(|i| packet(f64::from(i), None)).collect::<Vec<_>>()), "nothing arrived");
}

#[test]
fn a_large_bucket_with_a_queue_of_one_packet_is_a_policer() {
    let queue = serde_json::json!({ "kind": "fifo", "packets": 1 });
    let shaper = stage(serde_json::json!({
        "kind": "shaper", "rate": "20Mbit/s", "burst": "300kB", "queue": queue,
    }));
    let train = sent(&[shaper, delay()], 40e6, long_enough(300e3, 2.0), [2.0, 2.0], 1);
    match evaluate(&train, false) {
        TrainFinding::Policer { rate, bucket } => {
            assert!(
                (rate / 20e6 - 1.0).abs() < 0.03 && (bucket / 300e3 - 1.0).abs() < 0.2,
                "{rate} {bucket}"
            );
        }
        other => panic!("{other:?}"),
    }
}
