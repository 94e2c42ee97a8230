//! Warnings as sentences and as data, side by side.

use document::quote;
pub use experiment::warned as of_scenario;
use report::Lang;
use result::{Run, RunWarning};

/// Measurements that are not to be trusted.
pub fn of_trust(run: &Run) -> Vec<(String, RunWarning)> {
    let one = |v: &result::VariantResult| {
        let variants = vec![v.name.clone()];
        let warning = RunWarning { kind: "trust".into(), variants, ..RunWarning::default() };
        Some((report::distrust_of(v, Lang::En)?, warning))
    };
    run.variants.iter().filter_map(one).collect()
}

/// Less speech than that may come too late without limiting a call's score: G.711 loses 0.08 of MOS by it (ITU-T G.107 with
/// G.113's factors for concealment).
const LATE_SPEECH: f64 = 0.01;

/// Calls whose score is limited by speech that came too late for their jitter buffer, more than by speech that was lost: one
/// warning a flow, with the variant where most was late.
pub fn of_calls(run: &Run) -> Vec<(String, RunWarning)> {
    let mut found: Vec<(f64, RunWarning)> = Vec::new();
    for variant in &run.variants {
        for flow in &variant.flows {
            let Some(heard) = flow.real_time else { continue };
            let (Some(late), Some(buffer), Some(mos)) = (heard.late, heard.jitter_buffer_ms, heard.mos)
            else {
                continue;
            };
            if late < LATE_SPEECH || late < heard.lost {
                continue;
            }
            let values = [
                ("late", format!("{:.1}", 100.0 * late)),
                ("buffer", format!("{buffer}")),
                ("mos", format!("{mos:.1}")),
                ("variant", variant.name.clone()),
            ];
            let key = format!("flows.{}.app.jitter_buffer", quote(&flow.name));
            let values = values.map(|(name, value)| (name.to_string(), value)).into();
            let warning = RunWarning { kind: "late-speech".into(), key, values, variants: Vec::new() };
            match found.iter_mut().find(|(_, w)| w.key == warning.key) {
                Some(worst) if worst.0 < late => *worst = (late, warning),
                Some(_) => {}
                None => found.push((late, warning)),
            }
        }
    }
    found.into_iter().map(|(_, warning)| in_words(warning)).collect()
}

/// A warning of a kind that the table of strings has, in its English words.
pub fn told(kind: &str, key: &str, values: &[(&str, String)]) -> (String, RunWarning) {
    let values = values.iter().map(|(name, value)| (name.to_string(), value.clone())).collect();
    in_words(RunWarning { kind: kind.into(), key: key.into(), values, variants: Vec::new() })
}

/// A warning with its English words.
fn in_words(warning: RunWarning) -> (String, RunWarning) {
    let run = Run { warnings: vec![String::new()], warned: vec![warning.clone()], ..Run::default() };
    (report::warnings(&run, Lang::En).remove(0), warning)
}

#[cfg(test)]
mod tests {
    use super::*;
    use result::{FlowResult, RealTime, VariantResult};
    use scenario::Experiment;
    use std::collections::BTreeSet;

    /// Two limiters and two flows, and keys that are probably not meant.
    fn warned(sets: &[&str], more: &str) -> Vec<(String, RunWarning)> {
        let text = format!(
            r#"
duration = "10s"
[hosts.b]
[links.wan]
between = ["a", "b"]
forward = [
    {{ kind = "policer", rate = "20Mbit/s", burst = "30kB" }},
    {{ kind = "link", rate = "100Mbit/s", delay = "10ms", queue = {{ kind = "fifo", packets = 100 }} }},
]
backward = [{{ kind = "delay", delay = "10ms" }}]
[links.bare]
between = ["b", "c"]
[flows.up]
from = "a"
to = "b"
{more}"#
        );
        let sets: Vec<String> = sets.iter().map(|s| s.to_string()).collect();
        let read = Experiment::parse("t.toml", &text, &sets);
        of_scenario(&read.unwrap_or_else(|e| panic!("{}", e.render())))
    }

    /// The command line says what the scenario's own crate writes, the page what the table of strings has: in English
    /// they are the same, of every kind, and in Chinese none is left in English.
    #[test]
    fn the_table_of_strings_says_what_the_scenario_does() {
        let policer = "links.wan.forward.policer";
        let shaper = "links.wan.forward.policer={ kind = \"shaper\", rate = \"20Mbit/s\", queue = { kind = \"fifo\", packets = 50 }, burst = \"30kB\", peak_rate = \"20Mbit/s\", peak_burst = \"3000B\" }";
        let all = [
            warned(&[&format!("{policer}.burst=1000B")], ""),
            warned(&[&format!("{policer}.burst=9MB")], ""),
            warned(&[shaper], ""),
            warned(&["links.wan.forward.link.queue.packets=90000"], ""),
            warned(&["links.wan.forward.link.queue={ kind = \"fifo\", bytes = \"99000001B\" }"], ""),
            warned(&["links.wan.forward.link.queue={ kind = \"fifo\", bytes = \"900B\" }"], ""),
            warned(&["flows.up.app={ kind = \"udp\", rate = \"30Mbit/s\" }"], ""),
            warned(&["flows.up.enabled=false"], ""),
            warned(&["duration=90ms"], ""),
            warned(&["flows.up.start=9950ms"], ""),
            warned(&["flows.up.count=2", "flows.up.stagger=9950ms"], ""),
            warned(&["measure=1s..2s", "flows.up.start=3s"], ""),
            warned(&["flows.up.from=b", "flows.up.to=c"], ""),
            warned(&[], "[relays.idle]\nhost = \"a\"\n"),
            warned(&[], "[hosts.c]\nstack = { sack = false }\n"),
            warned(&[], "[variants.one]\n[variants.two]\n"),
            warned(
                &[],
                "[variants.x]\n[variants.a]\n\"flows.up.app\" = { kind = \"udp\", rate = \"50Mbit/s\" }\n[variants.b]\n\"flows.up.app\" = { kind = \"udp\", rate = \"50Mbit/s\" }\n",
            ),
        ];
        let mut kinds = BTreeSet::new();
        for (text, warning) in all.into_iter().flatten() {
            let run = Run { warnings: vec![String::new()], warned: vec![warning.clone()], ..Run::default() };
            assert_eq!(report::warnings(&run, Lang::En), [text.as_str()], "{warning:?}");
            let zh = report::warnings(&run, Lang::Zh).remove(0);
            assert!(zh != text && !zh.contains('{') && zh.contains("："), "{zh}");
            kinds.insert(warning.kind);
        }
        let want = [
            "begins-late",
            "copy",
            "deep-bucket",
            "flood",
            "long-queue",
            "long-queue-bytes",
            "no-flows",
            "no-peak",
            "short-flow",
            "short-last",
            "short-queue",
            "short-run",
            "small-bucket",
            "unlimited",
            "unused-relay",
            "unused-stack",
        ];
        assert_eq!(kinds, want.map(String::from).into());
    }
    /// Speech that came too late is named with the buffer that it missed, where it is more than a trace and more than was lost.
    #[test]
    fn a_score_that_the_jitter_buffer_limits_says_so() {
        let variant = |name: &str, late, lost| {
            let heard =
                RealTime { late, lost, mos: Some(1.04), jitter_buffer_ms: Some(60.0), ..RealTime::default() };
            let flow = FlowResult { name: "call.up".into(), real_time: Some(heard), ..FlowResult::default() };
            VariantResult { name: name.into(), flows: vec![flow], ..VariantResult::default() }
        };
        let of = |variants: Vec<VariantResult>| of_calls(&Run { variants, ..Run::default() });
        let said = of(vec![
            variant("deep", Some(0.4), 0.0),
            variant("worse", Some(0.714), 0.1),
            variant("fq", Some(0.0), 0.0),
        ]);
        let text = "flows.\"call.up\".app.jitter_buffer: the jitter buffer limits MOS 1.0 in worse: 71.4 % of the speech came \
                    more than 60 ms after the fastest packet and counts as lost; a larger buffer loses less but delays more";
        assert_eq!(said.iter().map(|(text, _)| text.as_str()).collect::<Vec<_>>(), [text]);
        let run = Run { warnings: vec![String::new()], warned: vec![said[0].1.clone()], ..Run::default() };
        let zh = report::warnings(&run, Lang::Zh).remove(0);
        assert!(zh.contains("抖动缓冲") && zh.contains("71.4 %") && !zh.contains('{'), "{zh}");
        let none = [variant("a", Some(0.009), 0.0), variant("b", Some(0.2), 0.3), variant("c", None, 0.0)];
        assert_eq!(of(none.into()), []);
    }
}
