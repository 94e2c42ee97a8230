//! A wrong study is refused with its file, line and key; a right one runs.

use app::reproduce::{ClaimVerdict, PlayError, PlayWish, Selection, Study, reproduce};
use result::Clock;

const SCENARIO: &str = r#"
name = "line"
duration = "4s"
[links.wan]
between = ["a", "b"]
forward = [{ kind = "link", rate = "10Mbit/s", delay = "10ms" }]
backward = [{ kind = "delay", delay = "10ms" }]
[flows.up]
from = "a"
to = "b"
[variants.fast]
[variants.slow]
"links.wan.forward.link.rate" = "5Mbit/s"
"#;

const STUDY: &str = r#"
title = "A line"
source = "nowhere, 2026"
about = "One flow."
[[fitted]]
unknown = "rate"
value = "10 Mbit/s"
on = "line.fast.mbps"
[[tables]]
name = "line"
title = "Two rates"
place = "table 1"
scenario = "line"
repeat = 2
columns = [{ name = "mbps", title = "goodput", measure = "up.goodput" }, { name = "rtt", title = "RTT", measure = "up.rtt.min" }]
rows = [
    { name = "fast", title = "fast", published = { mbps = 9.5 } },
    { name = "slow", title = "slow", variant = "slow", published = { mbps = 4 }, between = { mbps = [3, 5] } },
    { name = "far", title = "far", published = { mbps = 1 }, cannot = "it is too far" },
]
plots = [{ title = "fast", row = "fast", column = "goodput" }]
[[claims]]
name = "twice"
says = "Twice the rate carries twice as much."
place = "text"
holds = "line.fast.mbps within 5 % of 2 * line.slow.mbps"
[[claims]]
name = "half"
says = "Fast is more than three times as fast."
place = "text"
holds = "line.fast.mbps > 3 * line.slow.mbps"
direction = "line.fast.mbps > line.slow.mbps"
[[claims]]
name = "wrong"
says = "Slow is faster."
place = "text"
holds = "line.slow.mbps > line.fast.mbps"
because = "it is slow"
trace = { row = "line.slow", flow = "up", column = "cwnd" }
[[claims]]
name = "far"
says = "Far is slower."
place = "text"
holds = "line.far.mbps < line.slow.mbps"
"#;

fn refusal(text: &str) -> String {
    Study::parse("line", "line.toml", text).expect_err("is wrong").to_string()
}

#[test]
fn a_wrong_study_is_refused_with_line_and_key() {
    for (right, wrong, line, message) in [
        ("title = \"A line\"", "titel = \"A line\"", 2, "did you mean `title`"),
        ("repeat = 2", "repeat = 0", 14, "out of range"),
        ("name = \"slow\", title", "name = \"fast\", title", 18, "duplicate row `fast`"),
        ("measure = \"up.goodput\"", "measure = \"up.speed\"", 15, "is not a measure"),
        ("published = { mbps = 4 }", "published = { mbit = 4 }", 18, "no column `mbit`"),
        ("on = \"line.fast.mbps\"", "on = \"line.fast.rtt\"", 8, "nothing is published"),
        ("on = \"line.fast.mbps\"", "on = \"line.quick.mbps\"", 8, "no row `quick`"),
        ("on = \"line.fast.mbps\"", "on = \"twice\"", 8, "`twice` is judged"),
        ("on = \"line.fast.mbps\"", "on = \"thrice\"", 8, "or the name of a claim"),
        ("5 % of 2 * line.slow.mbps", "5 % of 2 * line.slow.mb", 26, "no column `mb`"),
        ("within 5 % of", "within of", 26, "expected a share"),
        ("row = \"line.slow\"", "row = \"line.sluw\"", 39, "did you mean `line.slow`"),
        ("column = \"cwnd\"", "column = \"cwn\"", 39, "did you mean `cwnd`"),
        ("name = \"line\"\ntitle", "name = \"Line 1\"\ntitle", 10, "cannot be a name"),
    ] {
        assert!(STUDY.contains(right), "{right}");
        let error = refusal(&STUDY.replacen(right, wrong, 1));
        assert!(
            error.starts_with(&format!("line.toml:{line}:")) && error.contains(message),
            "{wrong}: {error}"
        );
    }
    let both = STUDY.replacen("because = \"it is slow\"", "cannot = \"it is slow\"", 1);
    assert!(refusal(&both).contains("either `holds` or `cannot`"));
    // A claim whose statement an unknown was fitted on is not judged.
    let words = STUDY.replacen("on = \"line.fast.mbps\"", "on = \"twice\"", 1);
    let words = words.replacen("holds = \"line.fast.mbps within", "cannot = \"line.fast.mbps within", 1);
    assert!(Study::parse("line", "line.toml", &words).is_ok());
}

fn played(selection: Selection) -> Result<app::reproduce::Reproduction, PlayError> {
    let study = Study::parse("line", "line.toml", STUDY).expect("is right");
    let wish = PlayWish { clocks: vec![Clock::Sim], threads: None, most_repeats: None };
    let source = |name: &str| if name == "line" { Ok(SCENARIO.into()) } else { Err("no such file".into()) };
    reproduce(&[(study, selection)], &wish, &source, None)
}

#[test]
fn rows_are_run_and_claims_judged() {
    let made = played(Selection::default()).expect("runs");
    let study = &made.studies[0];
    let fast = &study.tables[0].rows[0].cells[0];
    let measured = fast.ours[0].as_ref().expect("ran");
    // 1448 of 1500 bytes of 10 Mbit/s, less slow start. RTprop is 20 ms plus 1.2 ms for a packet.
    assert!((8.5..9.66).contains(&measured.mean) && measured.values.len() == 2, "{measured:?}");
    assert_eq!(fast.fitted.as_deref(), Some("rate"));
    let rtt = study.tables[0].rows[1].cells[1].ours[0].as_ref().expect("ran").mean;
    assert!((20.0..26.0).contains(&rtt), "{rtt}");
    assert!(study.tables[0].rows[2].cells[0].ours[0].is_none());
    assert_eq!((study.unrun[0].what.as_str(), study.unrun[0].why.as_str()), ("line.far", "it is too far"));
    let judged: Vec<_> = study.claims.iter().map(|c| &c.judged[0]).collect();
    let verdicts: Vec<Option<ClaimVerdict>> = judged.iter().map(|j| j.verdict).collect();
    use ClaimVerdict::{DoesNotHold, Holds, HoldsInDirection};
    assert_eq!(verdicts, [Some(Holds), Some(HoldsInDirection), Some(DoesNotHold), None]);
    assert_eq!((judged[0].in_repeats, judged[0].repeats), (2, 2));
    assert!(judged[2].reason.as_ref().is_some_and(|r| r.starts_with("not 4.") && r.ends_with("it is slow")));
    assert!(judged[2].trace.as_ref().is_some_and(|t| t.values.iter().flatten().any(|v| *v > 4.0)));
    assert!(judged[3].reason.as_ref().is_some_and(|r| r.contains("line.far.mbps")));
    assert!(judged[0].trace.is_none() && !study.tables[0].plots[0].series.is_empty());
    let counts = &made.counts[0];
    let counts = (counts.holds, counts.holds_in_direction, counts.does_not_hold, counts.not_judged);
    assert_eq!(counts, (1, 1, 1, 1));
}

#[test]
fn text_json_page_and_markdown_show_the_same_verdicts() {
    let made = played(Selection { table: Some("line".into()) }).expect("runs");
    let text = app::reproduce::text(&made, 80);
    assert!(text.lines().all(|l| l.chars().count() <= 80), "{text}");
    for said in
        ["does not hold", "not run: line.far: it is too far", "of 4 claims 1 hold, 1 hold in direction"]
    {
        assert!(text.contains(said), "{said}: {text}");
    }
    let json = app::reproduce::to_json(&made);
    for said in
        ["\"verdict\": \"holds\"", "\"verdict\": \"holds in direction\"", "\"verdict\": \"does not hold\""]
    {
        assert_eq!(json.matches(said).count(), 1, "{said}");
    }
    assert!(json.starts_with("{\n  \"schema\": \"longfat-reproduction/1\""));
    let again = app::reproduce::read_json(&json).expect("reads back");
    assert_eq!(app::reproduce::to_json(&again), json);
    assert_eq!(app::reproduce::joined(vec![again.clone()]).as_ref(), Ok(&made));
    assert!(
        app::reproduce::joined(vec![again.clone(), again.clone()]).unwrap_err().contains("line is in two")
    );
    // Joined with a study that also ran on the kernel, it gets another column, which is empty.
    let mut other = again.clone();
    other.clocks = vec![Clock::Sim, Clock::Kernel];
    other.studies[0].name = "other".into();
    let both = app::reproduce::joined(vec![again, other]).expect("two studies");
    assert_eq!((both.clocks.len(), both.studies[0].tables[0].rows[0].cells[0].ours.len()), (2, 2));
    assert_eq!((both.counts[0].holds, both.counts[1].not_judged), (2, 4));
    assert!(app::reproduce::read_json("{}").unwrap_err().contains("line 1"));
    let page = app::reproduce::page(&made);
    assert!(
        page.contains("<svg")
            && page.contains("class=\"text bad\">does not hold")
            && !page.contains("<script")
    );
    assert!(app::reproduce::markdown(&made).contains("| slow | 4 (3…5) / "));
}

#[test]
fn the_page_escapes_html_in_a_studys_title() {
    let hostile = STUDY.replacen("title = \"A line\"", "title = \"<img src=x onerror=alert(1)>\"", 1);
    let study = Study::parse("line", "line.toml", &hostile).expect("is right");
    let wish = PlayWish { clocks: vec![Clock::Sim], threads: None, most_repeats: Some(1) };
    let made =
        reproduce(&[(study, Selection::default())], &wish, &|_| Ok(SCENARIO.into()), None).expect("runs");
    let page = app::reproduce::page(&made);
    assert!(!page.contains("<img") && page.contains("&lt;img src=x"));
}

#[test]
fn a_missing_scenario_or_variant_is_named() {
    let wish = PlayWish { clocks: vec![Clock::Sim], threads: None, most_repeats: Some(1) };
    let study =
        |text: &str| vec![(Study::parse("line", "line.toml", text).expect("is right"), Selection::default())];
    let none =
        reproduce(&study(STUDY), &wish, &|_| Err("no such file".into()), None).unwrap_err().to_string();
    assert!(none.contains("line: no such file"), "{none}");
    let other = STUDY.replacen("variant = \"slow\"", "variant = \"snail\"", 1);
    let none = reproduce(&study(&other), &wish, &|_| Ok(SCENARIO.into()), None).unwrap_err().to_string();
    assert!(none.contains("snail"), "{none}");
}
