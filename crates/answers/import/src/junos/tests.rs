use crate::{Foreign, ImportError, ImportFormat, Imported, sample};
use path::{Action, Meter, Policer, Stage};
use units::{Bytes, Rate};

fn junos(text: &str) -> Result<Imported, ImportError> {
    sample::read("router.conf", text, ImportFormat::Junos)
}

fn policers(imported: &Imported) -> Vec<Policer> {
    let links = &imported.experiment.variants[0].scenario.links;
    let stages = links.iter().flat_map(|l| l.backward.iter().chain(&l.forward));
    stages.filter_map(|s| if let Stage::Policer(p) = &s.stage { Some(p.clone()) } else { None }).collect()
}

#[test]
fn vyos_is_not_taken_for_junos() {
    let vyos = "set traffic-policy shaper WAN bandwidth '20mbit'\nset interfaces ethernet eth0 traffic-policy out 'WAN'\n";
    assert_eq!(super::Junos::looks_like(vyos), 0);
    assert!(super::Junos::looks_like(FILTERED) > 0);
}

const FILTERED: &str = include_str!("../../tests/inputs/20-junos.conf");

#[test]
fn a_policer_of_a_filter_is_read_in_both_syntaxes() {
    let set = "\
set firewall policer small-bw-limit if-exceeding bandwidth-limit 10m
set firewall policer small-bw-limit if-exceeding burst-size-limit 15k
set firewall policer small-bw-limit then discard
set firewall family inet filter CUST-IN term all then policer small-bw-limit
set firewall family inet filter CUST-IN term all then accept
set interfaces ge-0/0/1 unit 0 family inet filter input CUST-IN
";
    for text in [FILTERED, set] {
        let imported = junos(text).unwrap();
        let [p] = policers(&imported).try_into().unwrap();
        assert_eq!((p.rate, p.burst), (Rate::from_bps(10_000_000), Some(Bytes::new(15_000))), "{text}");
        assert!(p.dscp.is_empty() && p.red == Action::Drop);
        // Inbound: at the far end of the link, after the port's own gigabit.
        let link = &imported.experiment.variants[0].scenario.links[0];
        assert!(
            matches!(&link.backward[0].stage, Stage::Link(l) if l.rate == Some(Rate::from_bps(1_000_000_000)))
        );
        assert!(imported.refused.is_empty() && imported.not_understood.is_empty());
    }
}

#[test]
fn terms_are_classes_and_what_is_missing_is_reported() {
    let imported = junos(
        "firewall {
 policer web { if-exceeding { bandwidth-percent 5; burst-size-limit 1m; } then discard; }
 policer rest { if-exceeding { bandwidth-limit 2m; burst-size-limit 50k; } then loss-priority high; }
 three-color-policer two { action { loss-priority high then discard; } two-rate { color-blind; committed-information-rate 4m;
   committed-burst-size 100k; peak-information-rate 8m; peak-burst-size 200k; } }
 family inet { filter F {
  term ef { from { dscp ef; } then { three-color-policer { two-rate two; } } }
  term web { from { protocol tcp; } then { policer web; } }
  term gone { from { port 53; } then { policer not-here; } }
  term last { then { policer rest; } }
 } }
}
interfaces { xe-0/0/0 { unit 100 { family inet { filter { output F; input NOWHERE; } } } } }
",
    )
    .unwrap();
    let found = policers(&imported);
    let seen: Vec<(u64, Vec<u8>)> = found.iter().map(|p| (p.rate.as_bps(), p.dscp.clone())).collect();
    // 5 % of 10 Gbit/s; traffic of no other term has codepoint 0.
    assert_eq!(seen, [(4_000_000, vec![46]), (500_000_000, vec![1]), (2_000_000, vec![0])]);
    assert_eq!((found[0].meter, found[0].peak_rate), (Meter::Trtcm, Some(Rate::from_bps(8_000_000))));
    assert_eq!(found[2].red, Action::Pass);
    assert_eq!(imported.lint.iter().map(|l| l.rule).collect::<Vec<_>>(), ["police-keeps"]);
    let missing: Vec<&str> = imported.not_understood.iter().map(|n| n.text.as_str()).collect();
    assert_eq!(missing, ["not-here", "NOWHERE"]);
}

#[test]
fn shaping_and_schedulers_are_a_tree() {
    let imported = junos(
        "class-of-service {
 interfaces { ge-0/0/0 { unit 0 { shaping-rate 20m; scheduler-map M; } } }
 scheduler-maps { M { forwarding-class expedited-forwarding scheduler ef; forwarding-class best-effort scheduler be;
  forwarding-class assured-forwarding scheduler af; } }
 schedulers {
  ef { transmit-rate 2m exact; priority high; buffer-size temporal 10000; }
  af { transmit-rate percent 40; shaping-rate 10m; priority low; }
  be { transmit-rate remainder; priority low; }
 }
}
",
    )
    .unwrap();
    let link = &imported.experiment.variants[0].scenario.links[0];
    let Stage::Htb(htb) = &link.forward[0].stage else { panic!("{}", imported.toml) };
    let seen: Vec<(u64, u64, Vec<u8>)> = (htb.classes.iter())
        .map(|c| (c.rate.as_bps() / 1000, c.ceil.unwrap_or(c.rate).as_bps() / 1000, c.dscp.clone()))
        .collect();
    // 20 Mbit/s: 2 exact; 8 guaranteed to the second, at most 10; the rest.
    assert_eq!(seen[0], (20_000, 20_000, vec![]));
    assert_eq!(seen[1], (2000, 2000, vec![46]));
    assert_eq!(seen[2], (10_000, 10_000, vec![10]));
    assert_eq!(seen[3], (8000, 20_000, vec![]));
    assert_eq!((htb.classes[1].prio, htb.classes[2].prio), (1, 4));
    // 10 ms of 2 Mbit/s are below two packets.
    assert_eq!(htb.classes[1].queue.as_ref().map(|q| q.limits().bytes), Some(3000));
}

#[test]
fn a_policer_with_an_unknown_unit_is_left_out() {
    let text = "set firewall policer p if-exceeding bandwidth-limit 10x burst-size-limit 15k\nset firewall policer p then discard\n\
                set interfaces ge-0/0/1 unit 0 family inet policer input p\n";
    assert!(matches!(junos(text), Err(ImportError::Nothing { .. })), "{:?}", junos(text));
    let two = format!(
        "{text}set interfaces ge-0/0/1 unit 0 family inet policer output q\n\
                set firewall policer q if-exceeding bandwidth-limit 10m\nset firewall policer q then discard\n"
    );
    let imported = junos(&two).unwrap();
    assert_eq!((policers(&imported).len(), imported.refused[0].line), (1, 1));
}

#[test]
fn counters_are_facts() {
    let text = format!(
        "{FILTERED}user@r> show policer\nPolicers:\nName                   Bytes      Packets\nsmall-bw-limit-all     1234567    890\n\
         \nuser@r> show interfaces queue\nQueue: 0, Forwarding classes: best-effort\n  Queued:\n    Packets : 1000 10 pps\n  \
         Transmitted:\n    Packets : 990 10 pps\n    Tail-dropped packets : 10 0 pps\n"
    );
    let imported = junos(&text).unwrap();
    let seen: Vec<&str> = imported.facts.iter().map(|f| f.text.as_str()).collect();
    assert_eq!(
        seen,
        [
            "policer small-bw-limit-all: 890 packets, 1.2 MB exceeded it",
            "queue of class best-effort: 10 of 1,000 packets (1.0 %) tail-dropped"
        ]
    );
}
