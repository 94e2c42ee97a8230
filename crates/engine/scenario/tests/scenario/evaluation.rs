//! The keys `measure`, `goal`, `baseline` and `host_jitter`: defaults, values and errors.

use scenario::{Experiment, HostJitter};
use units::{Goal, Span};

const LINK: &str = "\n[links.l]\nbetween = [\"a\", \"b\"]\n";
const VARIANTS: &str = "[variants.today]\n[variants.other]\n";

fn parse(head: &str, flow: &str) -> Result<Experiment, String> {
    let flow = format!("[flows.f]\nfrom = \"a\"\nto = \"b\"\n{flow}\n");
    Experiment::parse("t.toml", &[head, LINK, &flow, VARIANTS].concat(), &[]).map_err(|e| e.render())
}

#[test]
fn the_measured_interval_must_lie_within_the_run() {
    let read = |text: &str| parse(text, "").map(|e| e.variants[0].scenario.measure);
    assert_eq!(read("measure = \"2s..9.5s\""), Ok(Some([Span::from_secs(2), Span::from_millis(9500)])));
    assert_eq!((read("measure = \"all\""), read("")), (Ok(None), Ok(None)));
    for (wrong, expected) in [
        ("measure = \"2s\"", "must be two times, as in \"2s..18s\""),
        ("measure = \"3s..2s\"", "the first time before the second"),
        ("measure = \"2s..11s\"", "up to the end of the run at 10s"),
        ("measure = \"2..3s\"", "two times"),
        ("sample = \"0s\"\nmeasure = \"2s..3s\"", "`measure` needs time series"),
    ] {
        let error = read(wrong).unwrap_err();
        assert!(error.contains(expected) && error.contains("t.toml:"), "{error}");
    }
}

#[test]
fn goals_are_stated_or_derived_from_the_applications() {
    let read = |head: &str, flow: &str| parse(head, flow).map(|e| e.goals());
    assert_eq!(read("", ""), Ok(vec![Goal::Goodput]));
    assert_eq!(read("", "app = { kind = \"bulk\", bytes = \"1MB\" }"), Ok(vec![Goal::Completion]));
    assert_eq!(read("", "app = { kind = \"voice\", codec = \"g711\" }"), Ok(vec![Goal::Delay]));
    assert_eq!(read("", "app = { kind = \"udp\", rate = \"1Mbit/s\" }"), Ok(vec![Goal::Delay]));
    // Datagrams that fill their path are judged by goodput.
    assert_eq!(read("", "app = { kind = \"udp\", rate = \"100Gbit/s\" }"), Ok(vec![Goal::Goodput]));
    // A probe alone is judged by delay; next to other flows it has no influence.
    let probe = "app = { kind = \"probe\" }";
    assert_eq!(read("", probe), Ok(vec![Goal::Delay]));
    let ends = "from = \"a\"\nto = \"b\"";
    let with = |app: &str| read("", &format!("{app}\n[flows.ping]\n{ends}\n{probe}"));
    assert_eq!(with(""), Ok(vec![Goal::Goodput]));
    assert_eq!(with("app = { kind = \"bulk\", bytes = \"1MB\" }"), Ok(vec![Goal::Completion]));
    assert_eq!(read("goal = \"p95 delay\"", ""), Ok(vec![Goal::Delay]));
    assert_eq!(read("goal = [\"fairness\", \"goodput\"]", ""), Ok(vec![Goal::Fairness, Goal::Goodput]));
    assert!(read("goal = \"speed\"", "").unwrap_err().contains("unknown goal `speed`"));
    assert!(read("goal = [\"goodput\", \"goodput\"]", "").unwrap_err().contains("duplicate goal"));
}

#[test]
fn a_baseline_must_be_one_of_the_variants() {
    let read = |head: &str| parse(head, "").map(|e| e.baseline().map(str::to_string));
    assert_eq!(read(""), Ok(Some("today".into())));
    assert_eq!(read("baseline = \"other\""), Ok(Some("other".into())));
    assert!(read("baseline = \"to day\"").unwrap_err().contains("there is no variant `to day`"));
}

#[test]
fn goal_and_baseline_apply_to_all_variants_and_can_be_overridden() {
    let text = format!("{LINK}[variants.x]\ngoal = \"fairness\"\n");
    let error = Experiment::parse("t.toml", &text, &[]).unwrap_err().render();
    assert!(error.contains("applies to all variants"), "{error}");
    let sets = ["goal=fairness".to_string(), "baseline=other".to_string()];
    let set = Experiment::parse("t.toml", &[LINK, VARIANTS].concat(), &sets).unwrap();
    assert_eq!((set.goals(), set.baseline()), (vec![Goal::Fairness], Some("other")));
}

#[test]
fn host_jitter_is_simulated_in_repeats_unless_stated_otherwise() {
    let read = |head: &str| parse(head, "").map(|e| e.variants[0].scenario.host_jitter);
    assert_eq!(
        (read(""), read("host_jitter = \"always\"")),
        (Ok(HostJitter::Repeats), Ok(HostJitter::Always))
    );
    assert!(read("host_jitter = true").is_err());
}

#[test]
fn the_earlier_name_of_host_jitter_works_in_files_and_overrides() {
    let never = ["unrest = \"never\""];
    let jitter = |head: &str, set: &[&str]| {
        let sets: Vec<String> = set.iter().map(|s| s.to_string()).collect();
        let flow = "[flows.f]\nfrom = \"a\"\nto = \"b\"\n";
        let experiment = Experiment::parse("t.toml", &[head, LINK, flow, VARIANTS].concat(), &sets);
        experiment.map(|e| e.variants[0].scenario.host_jitter).map_err(|e| e.render())
    };
    assert_eq!(jitter("unrest = \"never\"\n", &[]), Ok(HostJitter::Never));
    assert_eq!(jitter("host_jitter = \"always\"\n", &never), Ok(HostJitter::Never));
    assert!(jitter("unrest = \"never\"\nhost_jitter = \"never\"\n", &[]).unwrap_err().contains("unrest"));
}
