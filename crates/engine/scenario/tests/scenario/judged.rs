//! `measure`, `goal`, `baseline`, `unrest`: what they say, and what they may not.

use scenario::{Experiment, Unrest};
use units::{Goal, Span};

const LINK: &str = "\n[links.l]\nbetween = [\"a\", \"b\"]\n";
const VARIANTS: &str = "[variants.today]\n[variants.other]\n";

fn parse(head: &str, flow: &str) -> Result<Experiment, String> {
    let flow = format!("[flows.f]\nfrom = \"a\"\nto = \"b\"\n{flow}\n");
    Experiment::parse("t.toml", &[head, LINK, &flow, VARIANTS].concat(), &[]).map_err(|e| e.render())
}

#[test]
fn an_interval_lies_in_the_run() {
    let of = |text: &str| parse(text, "").map(|e| e.variants[0].scenario.measure);
    assert_eq!(of("measure = \"2s..9.5s\""), Ok(Some([Span::from_secs(2), Span::from_millis(9500)])));
    assert_eq!((of("measure = \"all\""), of("")), (Ok(None), Ok(None)));
    for (wrong, told) in [
        ("measure = \"2s\"", "must be two times, as in \"2s..18s\""),
        ("measure = \"3s..2s\"", "the first time before the second"),
        ("measure = \"2s..11s\"", "up to the end of the run at 10s"),
        ("measure = \"2..3s\"", "two times"),
        ("sample = \"0s\"\nmeasure = \"2s..3s\"", "`measure` needs time series"),
    ] {
        let error = of(wrong).unwrap_err();
        assert!(error.contains(told) && error.contains("t.toml:"), "{error}");
    }
}

#[test]
fn goals_are_stated_or_follow_from_the_applications() {
    let of = |head: &str, flow: &str| parse(head, flow).map(|e| e.goals());
    assert_eq!(of("", ""), Ok(vec![Goal::Goodput]));
    assert_eq!(of("", "app = { kind = \"bulk\", bytes = \"1MB\" }"), Ok(vec![Goal::Completion]));
    assert_eq!(of("", "app = { kind = \"voice\", codec = \"g711\" }"), Ok(vec![Goal::Delay]));
    assert_eq!(of("", "app = { kind = \"udp\", rate = \"1Mbit/s\" }"), Ok(vec![Goal::Delay]));
    // A flood fills its path: more of it is what it is for.
    assert_eq!(of("", "app = { kind = \"udp\", rate = \"100Gbit/s\" }"), Ok(vec![Goal::Goodput]));
    // A probe alone is about delay; next to others it changes nothing.
    let probe = "app = { kind = \"probe\" }";
    assert_eq!(of("", probe), Ok(vec![Goal::Delay]));
    let ends = "from = \"a\"\nto = \"b\"";
    let with = |app: &str| of("", &format!("{app}\n[flows.ping]\n{ends}\n{probe}"));
    assert_eq!(with(""), Ok(vec![Goal::Goodput]));
    assert_eq!(with("app = { kind = \"bulk\", bytes = \"1MB\" }"), Ok(vec![Goal::Completion]));
    assert_eq!(of("goal = \"p95 delay\"", ""), Ok(vec![Goal::Delay]));
    assert_eq!(of("goal = [\"fairness\", \"goodput\"]", ""), Ok(vec![Goal::Fairness, Goal::Goodput]));
    assert!(of("goal = \"speed\"", "").unwrap_err().contains("unknown goal `speed`"));
    assert!(of("goal = [\"goodput\", \"goodput\"]", "").unwrap_err().contains("a second goal"));
}

#[test]
fn a_baseline_is_one_of_the_variants() {
    let of = |head: &str| parse(head, "").map(|e| e.baseline().map(str::to_string));
    assert_eq!(of(""), Ok(Some("today".into())));
    assert_eq!(of("baseline = \"other\""), Ok(Some("other".into())));
    assert!(of("baseline = \"to day\"").unwrap_err().contains("there is no variant `to day`"));
}

#[test]
fn goal_and_baseline_are_of_all_variants_and_may_be_set() {
    let text = format!("{LINK}[variants.x]\ngoal = \"fairness\"\n");
    let error = Experiment::parse("t.toml", &text, &[]).unwrap_err().render();
    assert!(error.contains("the same for all variants"), "{error}");
    let sets = ["goal=fairness".to_string(), "baseline=other".to_string()];
    let set = Experiment::parse("t.toml", &[LINK, VARIANTS].concat(), &sets).unwrap();
    assert_eq!((set.goals(), set.baseline()), (vec![Goal::Fairness], Some("other")));
}

#[test]
fn hosts_are_restless_where_it_is_said() {
    let of = |head: &str| parse(head, "").map(|e| e.variants[0].scenario.unrest);
    assert_eq!((of(""), of("unrest = \"always\"")), (Ok(Unrest::Repeats), Ok(Unrest::Always)));
    assert!(of("unrest = true").is_err());
}
