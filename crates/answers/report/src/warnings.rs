//! A run's warnings in the language of the page, made from the result's data on them.

use crate::strings::{Lang, fill, find, text};
use crate::trust::distrust_of;
use result::{Run, RunWarning};

/// Names of variants in a warning; if there are more, the last ones are only counted.
const MAX_NAMES: usize = 4;

/// The run's warnings in this language; a warning without data stays in English.
pub fn warnings(run: &Run, lang: Lang) -> Vec<String> {
    let each = run.warnings.iter().enumerate();
    each.map(|(i, english)| {
        run.warning_data.get(i).and_then(|w| words(run, w, lang)).unwrap_or_else(|| english.clone())
    })
    .collect()
}

/// A warning in words; `None` for an unknown kind, for example of a newer version.
fn words(run: &Run, warning: &RunWarning, lang: Lang) -> Option<String> {
    if warning.kind == "trust" {
        let name = warning.variants.first()?;
        let variant =
            run.variants.iter().find(|v| v.name == *name && v.trust.as_ref().is_some_and(|t| !t.reliable));
        return distrust_of(variant?, lang);
    }
    let template = format!("warn.{}", warning.kind);
    find(&template, lang)?;
    let values: Vec<(&str, &str)> = warning.values.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
    let mut text = fill(&template, lang, &values);
    if !warning.key.is_empty() {
        text = fill("warn.of", lang, &[("key", &warning.key), ("what", &text)]);
    }
    if !warning.variants.is_empty() {
        text += &fill("warn.only", lang, &[("variants", &listed(&warning.variants, lang))]);
    }
    Some(text)
}

/// The first names, and the number of the others.
fn listed(names: &[String], lang: Lang) -> String {
    let comma = text("warn.comma", lang);
    match names {
        _ if names.len() <= MAX_NAMES => names.join(comma),
        _ => {
            let n = (names.len() + 1 - MAX_NAMES).to_string();
            let first = names[..MAX_NAMES - 1].join(comma);
            fill("warn.more", lang, &[("names", &first), ("n", &n)])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use result::{Trust, TrustKind, TrustReason, VariantResult};

    fn warning(kind: &str, key: &str, values: &[(&str, &str)], variants: &[&str]) -> RunWarning {
        RunWarning {
            kind: kind.into(),
            key: key.into(),
            values: values.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect(),
            variants: variants.iter().map(|v| v.to_string()).collect(),
        }
    }

    #[test]
    fn warnings_are_in_the_requested_language() {
        let values = [("bucket", "1kB"), ("size", "1500")];
        let small = warning("small-bucket", "links.wan.forward.policer.burst", &values, &["a"]);
        let run = Run { warnings: vec!["english".into()], warning_data: vec![small], ..Run::default() };
        assert_eq!(
            warnings(&run, Lang::En),
            ["links.wan.forward.policer.burst: a bucket of 1kB never passes a packet of 1500 B (in a)"]
        );
        assert_eq!(
            warnings(&run, Lang::Zh),
            ["links.wan.forward.policer.burst：1kB 的令牌桶永远不会放行 1500 B 的数据包（仅 a）"]
        );
        let many = warning("unused-relay", "relays.r", &[], &["a", "b", "c", "d", "e"]);
        let run = Run { warning_data: vec![many], ..run };
        assert!(warnings(&run, Lang::En)[0].ends_with(" (in a, b, c and 2 more)"));
    }

    #[test]
    fn unknown_warnings_stay_as_written() {
        let run = |warned| Run { warnings: vec!["as it was".into()], warning_data: warned, ..Run::default() };
        for warned in [
            vec![],
            vec![warning("of-a-later-version", "", &[], &[])],
            vec![warning("trust", "", &[], &["gone"])],
        ] {
            assert_eq!(warnings(&run(warned), Lang::Zh), ["as it was"]);
        }
    }

    #[test]
    fn an_untrusted_measurement_names_the_reason() {
        let reasons = vec![TrustReason { kind: TrustKind::Steal, measured: 0.125, bound: 0.03 }];
        let trust = Some(Trust { reasons, ..Trust::default() });
        let variants = vec![VariantResult { name: "v".into(), trust, ..VariantResult::default() }];
        let warned = vec![warning("trust", "", &[], &["v"])];
        let run = Run { warnings: vec!["english".into()], warning_data: warned, variants, ..Run::default() };
        assert!(
            warnings(&run, Lang::Zh)[0].contains("不可信")
                && warnings(&run, Lang::En)[0].contains("hypervisor")
        );
    }
}
