//! Warnings, each as a sentence and as data.

use document::quote;
pub use experiment::warned as of_scenario;
use report::Lang;
use result::{Run, RunWarning};

/// Returns a warning for each variant whose measurements are not to be trusted.
pub fn untrusted_warnings(run: &Run) -> Vec<(String, RunWarning)> {
    let one = |v: &result::VariantResult| {
        let variants = vec![v.name.clone()];
        let warning = RunWarning { kind: "trust".into(), variants, ..RunWarning::default() };
        Some((report::distrust_of(v, Lang::En)?, warning))
    };
    run.variants.iter().filter_map(one).collect()
}

/// Share of late speech below which a call's score is not limited by it: G.711 loses 0.08 of MOS at this
/// share (ITU-T G.107 with G.113's factors for concealment).
const MIN_LATE_SHARE: f64 = 0.01;

/// Returns a warning for each call whose score is limited by speech that arrived too late for its jitter
/// buffer, if more speech was late than lost. The warning names the variant with the largest share.
pub fn late_speech_warnings(run: &Run) -> Vec<(String, RunWarning)> {
    let mut found: Vec<(f64, RunWarning)> = Vec::new();
    for variant in &run.variants {
        for flow in &variant.flows {
            let Some(heard) = flow.real_time else { continue };
            let (Some(late), Some(buffer), Some(mos)) = (heard.late, heard.jitter_buffer_ms, heard.mos)
            else {
                continue;
            };
            if late < MIN_LATE_SHARE || late < heard.lost {
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

/// Builds a warning of a kind that strings.json has, with its English sentence.
pub fn warning(kind: &str, key: &str, values: &[(&str, String)]) -> (String, RunWarning) {
    let values = values.iter().map(|(name, value)| (name.to_string(), value.clone())).collect();
    in_words(RunWarning { kind: kind.into(), key: key.into(), values, variants: Vec::new() })
}

/// Adds the English sentence to a warning.
fn in_words(warning: RunWarning) -> (String, RunWarning) {
    let run = Run { warnings: vec![String::new()], warning_data: vec![warning.clone()], ..Run::default() };
    (report::warnings(&run, Lang::En).remove(0), warning)
}

#[cfg(test)]
mod tests {
    use super::*;
    use result::{FlowResult, RealTime, VariantResult};
    use scenario::Experiment;
    use std::collections::BTreeSet;

    /// Returns the warnings about a scenario with two limiters and two flows.
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

    /// The command line prints the sentences of the crate `scenario`, the page those of strings.json. In
    /// English they must be the same for every kind, and none may be missing in Chinese.
    #[test]
    fn strings_json_has_the_same_warnings_as_the_scenario_crate() {
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
            let run =
                Run { warnings: vec![String::new()], warning_data: vec![warning.clone()], ..Run::default() };
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
    /// A warning about late speech names the jitter buffer, if the late share is above the threshold and
    /// above the lost share.
    #[test]
    fn late_speech_is_warned_about_with_its_jitter_buffer() {
        let variant = |name: &str, late, lost| {
            let heard =
                RealTime { late, lost, mos: Some(1.04), jitter_buffer_ms: Some(60.0), ..RealTime::default() };
            let flow = FlowResult { name: "call.up".into(), real_time: Some(heard), ..FlowResult::default() };
            VariantResult { name: name.into(), flows: vec![flow], ..VariantResult::default() }
        };
        let warnings_for =
            |variants: Vec<VariantResult>| late_speech_warnings(&Run { variants, ..Run::default() });
        let warnings = warnings_for(vec![
            variant("deep", Some(0.4), 0.0),
            variant("worse", Some(0.714), 0.1),
            variant("fq", Some(0.0), 0.0),
        ]);
        let text = "flows.\"call.up\".app.jitter_buffer: the jitter buffer limits MOS 1.0 in worse: 71.4 % of the speech came \
                    more than 60 ms after the fastest packet and counts as lost; a larger buffer loses less but delays more";
        assert_eq!(warnings.iter().map(|(text, _)| text.as_str()).collect::<Vec<_>>(), [text]);
        let run = Run {
            warnings: vec![String::new()],
            warning_data: vec![warnings[0].1.clone()],
            ..Run::default()
        };
        let zh = report::warnings(&run, Lang::Zh).remove(0);
        assert!(zh.contains("抖动缓冲") && zh.contains("71.4 %") && !zh.contains('{'), "{zh}");
        let none = [variant("a", Some(0.009), 0.0), variant("b", Some(0.2), 0.3), variant("c", None, 0.0)];
        assert_eq!(warnings_for(none.into()), []);
    }
}
