use crate::{ImportError, ImportFormat, Imported, sample};
use path::{QueueConfig, Shaper, Stage};
use scenario::{NamedStage, Scenario};

fn read(text: &str) -> Result<Imported, ImportError> {
    sample::read("router.rsc", text, ImportFormat::RouterOs)
}

fn ok(text: &str) -> Imported {
    read(text).unwrap_or_else(|e| panic!("{e}"))
}

fn scenario(imported: &Imported) -> &Scenario {
    &imported.experiment.variants[0].scenario
}

fn shaper(stages: &[NamedStage]) -> &Shaper {
    let found = stages.iter().find_map(|s| match &s.stage {
        Stage::Shaper(s) => Some(s),
        _ => None,
    });
    found.unwrap_or_else(|| panic!("{stages:?}"))
}

/// Upload comes from the target: the link's second direction.
fn rates(imported: &Imported) -> Vec<(u64, u64)> {
    let links = scenario(imported).links.iter();
    links.map(|l| (shaper(&l.backward).rate.as_bps(), shaper(&l.forward).rate.as_bps())).collect()
}

fn rules(imported: &Imported) -> Vec<(usize, &str)> {
    imported.lint.iter().map(|l| (l.line, l.rule)).collect()
}

const OFFICE: &str = include_str!("../../tests/inputs/21-mikrotik.rsc");

#[test]
fn a_burst_is_a_bucket_of_the_same_duration_and_is_reported() {
    let imported = ok(OFFICE);
    assert_eq!(rates(&imported), [(20_000_000, 20_000_000)]);
    let up = shaper(&scenario(&imported).links[0].backward);
    // 8 s * 15 / 30 = 4 s of 10 Mbit/s more, plus 0.1 s of max-limit as for every bucket.
    assert_eq!(up.burst().get(), 5_000_000 + 250_000);
    assert_eq!(
        (up.peak_rate.map(|r| r.as_bps()), up.peak_burst().map(|b| b.get())),
        (Some(30_000_000), Some(250_000))
    );
    // `default-small`.
    assert_eq!(up.queue().limits().packets, 10);
    assert!(
        imported.toml.contains("30 Mbit/s for 4.0 s until the average over 8 s exceeds 15 Mbit/s"),
        "{}",
        imported.toml
    );
    assert_eq!(rules(&imported), [(4, "queue-type-unused")]);
    let unused = &imported.lint[0].text;
    assert!(unused.contains("10 Mbit/s for each dst-address, 51.2 kB of queue"), "{unused}");
    assert_eq!((imported.lines, imported.understood), (4, 4));
}

#[test]
fn a_pcq_is_one_address() {
    let imported = ok(&OFFICE.replace("target=", "queue=default/pcq-down target="));
    let down = shaper(&scenario(&imported).links[0].forward);
    assert_eq!((down.rate.as_bps(), down.queue().limits().bytes), (10_000_000, 50 * 1024));
    assert!(imported.lint.is_empty(), "{:?}", imported.lint);
}

#[test]
fn broken_lines_prompts_and_prints_are_read() {
    let export = "# jan/02/2026\n/queue simple\nadd max-limit=256k/1M name=\"my q\" queue=\\\n    default/default target=192.0.2.1/32 \\\n    \
                  bucket-size=0.01/0.5\n";
    let imported = ok(export);
    assert_eq!(rates(&imported), [(256_000, 1_000_000)]);
    let link = &scenario(&imported).links[0];
    assert_eq!((shaper(&link.backward).burst().get(), shaper(&link.forward).burst().get()), (1514, 62_500));
    assert_eq!(shaper(&link.forward).queue().limits().packets, 50);
    let typed = "[admin@MikroTik] > /queue/simple/add name=a target=192.0.2.1 max-limit=5M\n";
    assert_eq!(rates(&ok(typed)), [(5_000_000, 5_000_000)]);
    let printed = "[admin@MikroTik] /queue simple> print stats\nFlags: X - disabled, I - invalid, D - dynamic \n 0    name=\"a\" \
                   target=192.0.2.0/24 parent=none packet-marks=\"\" priority=8/8\n      queue=default-small/default-small limit-at=0/0 \
                   max-limit=10M/20M burst-limit=0/0\n      burst-threshold=0/0 burst-time=0s/0s bucket-size=0.1/0.1 rate=9.9Mbps/31Mbps \
                   packets=900/100\n      dropped=100/0 queued-bytes=15000/0\n\n 1 X  name=\"b\" target=192.0.2.9 max-limit=1M/1M\n";
    let imported = ok(printed);
    assert_eq!(rates(&imported), [(10_000_000, 20_000_000)]);
    let facts: Vec<&str> = imported.facts.iter().map(|f| f.text.as_str()).collect();
    assert!(facts[0].contains("upload: 100 packets dropped (10.00 %"), "{facts:?}");
    assert!(facts[1].contains("15 kB queued, 12 ms"), "{facts:?}");
    assert!(facts[2].contains("measured rate 31 Mbit/s, above its max-limit of 20 Mbit/s"), "{facts:?}");
    assert!(facts[3].contains("b is disabled"), "{facts:?}");
}

#[test]
fn children_borrow_below_their_parent() {
    let text = "/queue simple\nadd name=all target=192.0.2.0/24 max-limit=10M/50M\nadd name=voice parent=all target=192.0.2.1 \
                limit-at=1M/1M max-limit=2M/2M priority=1/1\nadd name=rest parent=all target=192.0.2.0/24 max-limit=90M/90M\n";
    let imported = ok(text);
    let s = scenario(&imported);
    assert_eq!(s.links.len(), 1);
    let Stage::Htb(up) = &s.links[0].backward[0].stage else { panic!() };
    let classes: Vec<_> = up
        .classes
        .iter()
        .map(|c| (c.name.as_str(), c.rate.as_bps(), c.ceil.map(|r| r.as_bps()), c.prio))
        .collect();
    assert_eq!(
        classes,
        [
            ("all", 10_000_000, Some(10_000_000), 7),
            ("voice", 1_000_000, Some(2_000_000), 0),
            ("rest", 8_000, Some(10_000_000), 7)
        ]
    );
    assert_eq!(s.flows.len(), 4);
}

#[test]
fn a_tree_of_each_interface_is_a_direction_of_one_path() {
    let text = "/queue tree\nadd name=down parent=bridge1 packet-mark=no-mark max-limit=50M queue=default\nadd name=up parent=ether1 \
                packet-mark=no-mark max-limit=10M\n";
    let imported = ok(text);
    assert_eq!(rates(&imported).len(), 1);
    let link = &scenario(&imported).links[0];
    let both = [shaper(&link.forward).rate.as_bps(), shaper(&link.backward).rate.as_bps()];
    assert_eq!(both, [10_000_000, 50_000_000]);
}

#[test]
fn wrong_thresholds_are_found() {
    let with_threshold = |threshold: &str| OFFICE.replace("15M/15M", threshold);
    let endless = ok(&with_threshold("30M/30M"));
    assert_eq!(rates(&endless), [(30_000_000, 30_000_000)]);
    assert!(rules(&endless).contains(&(2, "queue-endless-burst")));
    let again = ok(&with_threshold("25M/15M"));
    assert_eq!(rates(&again), [(25_000_000, 20_000_000)]);
    assert!(rules(&again).contains(&(2, "queue-burst-threshold")));
    let none = ok(&with_threshold("0/0"));
    assert!(rules(&none).contains(&(2, "queue-no-burst")));
    assert_eq!(shaper(&scenario(&none).links[0].forward).peak_rate, None);
}

#[test]
fn a_queue_with_an_unknown_unit_is_left_out() {
    let error = read(&OFFICE.replace("max-limit=20M/20M", "max-limit=20Mb/20M")).unwrap_err().to_string();
    assert!(error.contains("`Mb`"), "{error}");
    let error = read(&OFFICE.replace("8s/8s", "8x/8s")).unwrap_err().to_string();
    assert!(error.contains("burst-time"), "{error}");
    let script = read("/queue simple\nadd name=a target=b max-limit=$rate\n").unwrap_err().to_string();
    assert!(script.contains("$rate"), "{script}");
}

#[test]
fn a_second_queue_of_a_target_gets_no_packets() {
    let text = "/queue simple\nadd name=a target=192.0.2.1/32 max-limit=1M/1M\nadd name=b target=192.0.2.1/32 max-limit=9M/9M\nadd \
                name=c target=192.0.2.2/32 max-limit=2M/2M\n";
    let imported = ok(text);
    assert_eq!(rates(&imported), [(1_000_000, 1_000_000), (2_000_000, 2_000_000)]);
    assert_eq!(rules(&imported), [(3, "queue-never-reached")]);
}

#[test]
fn types_and_rate_limits_of_profiles_are_read() {
    let text = "/queue type\nadd name=bytes kind=bfifo bfifo-limit=30000\nadd name=c kind=cake cake-bandwidth=8M\nset default-small \
                pfifo-limit=20\n/queue simple\nadd name=a target=192.0.2.1 max-limit=1M/9M queue=bytes/c\n/ppp profile\nadd name=p \
                rate-limit=\"5M/10M 8M/15M\"\n/ip dns\nset servers=192.0.2.53\n";
    let imported = ok(text);
    let s = scenario(&imported);
    assert_eq!(shaper(&s.links[0].backward).queue().limits().bytes, 30_000);
    let Stage::Link(down) = &s.links[0].forward[0].stage else { panic!() };
    assert!(
        matches!(&down.queue, QueueConfig::FqCoDel(_)) && down.rate.map(|r| r.as_bps()) == Some(8_000_000)
    );
    let profile = shaper(&s.links[1].forward);
    // 1 s * 10 / 15 of 5 Mbit/s more.
    assert_eq!((profile.rate.as_bps(), profile.burst().get()), (10_000_000, 416_666 + 125_000));
    assert_eq!(profile.queue().limits().packets, 20);
    assert_eq!(imported.not_understood.iter().map(|n| n.line).collect::<Vec<_>>(), [10]);
}
