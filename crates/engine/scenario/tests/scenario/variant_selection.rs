//! Selecting some variants of a file, overrides that apply to one variant, and the errors of both.

use scenario::{DocumentError, Experiment, RefusalCause, ScenarioRequest};

const TEXT: &str = r#"
duration = "1s"
[links.wan]
between = ["a", "b"]
forward = [
    { kind = "policer", name = "limiter", rate = "5Mbit/s", burst = "30kB" },
    { kind = "delay", delay = "10ms" },
]
[flows.up]
from = "a"
to = "b"
[variants.policer]
[variants.shaper]
"links.wan.forward.limiter" = { kind = "shaper", rate = "5Mbit/s", burst = "30kB", queue = { kind = "fifo", packets = 100 } }
[variants.none]
"links.wan.forward" = [{ kind = "delay", delay = "20ms" }]
"#;

fn read(text: &str, sets: &[&str], variants: &[&str]) -> Result<Experiment, DocumentError> {
    let owned = |all: &[&str]| all.iter().map(|s| s.to_string()).collect::<Vec<_>>();
    let (sets, variants) = (owned(sets), owned(variants));
    ScenarioRequest { file: "t.toml", text, sets: &sets, varied: &[], variants: &variants }
        .parse_without_files()
}

/// The limiter stage of a variant in debug format.
fn limiter(e: &Experiment, variant: &str) -> String {
    let variant = e.variants.iter().find(|v| v.name == variant).unwrap();
    format!("{:?}", variant.scenario.links[0].forward[0].stage)
}

#[test]
fn an_override_must_fit_the_selected_variants_only() {
    let set = "links.wan.forward.limiter.queue.packets=7";
    let plain = read(TEXT, &[], &["shaper"]).unwrap();
    let changed = read(TEXT, &[set], &["shaper"]).unwrap();
    assert_eq!(changed.variants.len(), 1);
    assert_ne!(limiter(&changed, "shaper"), limiter(&plain, "shaper"));
    // If all variants are selected, it must fit all.
    let refused = read(TEXT, &[set], &[]).unwrap_err();
    assert_eq!(
        (refused.file(), refused.key()),
        ("--set links.wan.forward.limiter.queue.packets=7", "links.wan.forward.limiter.queue")
    );
    let refused = read(TEXT, &["links.wan.forward.limiter.rate=1Mbit/s"], &["shaper", "none"]).unwrap_err();
    assert_eq!(refused.part(), Some("none"));
    assert!(refused.to_string().contains("there is no stage `limiter`"), "{refused}");
}

#[test]
fn an_override_of_one_variant_changes_no_other() {
    for word in ["variants", "variant"] {
        let set = format!("{word}.shaper.links.wan.forward.limiter.queue.packets=7");
        let (plain, changed) = (read(TEXT, &[], &[]).unwrap(), read(TEXT, &[&set], &[]).unwrap());
        assert_ne!(limiter(&changed, "shaper"), limiter(&plain, "shaper"));
        for other in ["policer", "none"] {
            assert_eq!(limiter(&changed, other), limiter(&plain, other));
        }
        assert!(limiter(&changed, "shaper").contains('7'), "{}", limiter(&changed, "shaper"));
        // An override of a variant that is not selected is ignored, an unknown variant is an error.
        assert_eq!(read(TEXT, &[&set], &["none"]).unwrap(), read(TEXT, &[], &["none"]).unwrap());
        let e = read(TEXT, &[&set.replace("shaper", "shapr")], &["none"]).unwrap_err();
        assert!(e.to_string().contains("there is no variant `shapr` (did you mean `shaper`?"), "{e}");
    }
    // The override is applied in its position among the others.
    let sets = ["variants.policer.seed=3", "seed=4", "variants.none.seed=5"];
    let seeds: Vec<u64> = read(TEXT, &sets, &[]).unwrap().variants.iter().map(|v| v.scenario.seed).collect();
    assert_eq!(seeds, [4, 4, 5]);
}

#[test]
fn an_error_in_a_variant_is_reported_only_if_the_variant_is_selected() {
    let broken = TEXT.replace("packets = 100", "packets = 0.5");
    assert_eq!(read(&broken, &[], &["policer", "none"]).unwrap().variants.len(), 2);
    for selected in [&[][..], &["shaper"]] {
        let e = read(&broken, &[], selected).unwrap_err();
        assert_eq!((e.file(), e.line(), e.part()), ("t.toml", 14, Some("shaper")), "{e}");
    }
    let e = read(TEXT, &[], &["policer", "shapper"]).unwrap_err();
    assert!(matches!(e.cause(), RefusalCause::UnknownName { what: "variant", .. }), "{e}");
    assert!(e.to_string().starts_with("--variant, column 1: "), "{e}");
    // The baseline need not be selected.
    let text = format!("baseline = \"none\"\n{TEXT}");
    assert_eq!(read(&text, &[], &["policer"]).unwrap().baseline.as_deref(), Some("none"));
    assert_eq!(read(TEXT, &["baseline=shaper"], &["policer"]).unwrap().baseline.as_deref(), Some("shaper"));
}

#[test]
fn an_error_quotes_the_override_as_typed() {
    let varied = ["seed=1".to_string(), "links.wan.forward.limiter.rate=fast".to_string()];
    let request =
        ScenarioRequest { file: "t.toml", text: TEXT, varied: &varied, ..ScenarioRequest::default() };
    let sets = ["duration=2s".to_string(), "flows.up.count=none".to_string()];
    let e = ScenarioRequest { variants: &["policer".into()], ..request }.parse_without_files().unwrap_err();
    let expected = "--vary links.wan.forward.limiter.rate=fast, column 32: links.wan.forward.limiter.rate: ";
    assert!(e.to_string().starts_with(expected), "{e}");
    let e = ScenarioRequest { sets: &sets, ..request }.parse_without_files().unwrap_err();
    assert!(e.to_string().starts_with("--set flows.up.count=none, column 16: flows.up.count: "), "{e}");
    assert_eq!(e.key(), "flows.up.count");
    // A long override is cut, and control characters are removed.
    let long = [format!("flows.up.cc=\u{1b}{}", "ä".repeat(500))];
    let e = ScenarioRequest { sets: &long, varied: &[], ..request }.parse_without_files().unwrap_err();
    assert!(e.file().chars().count() < 90 && e.file().ends_with('…') && !e.file().contains('\u{1b}'), "{e}");
    assert_eq!(request.variant_names().unwrap(), ["policer", "shaper", "none"]);
}
