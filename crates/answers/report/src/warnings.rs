//! A run's warnings in the language of the page, of what the result says of them as data.

use crate::strings::{Lang, fill, find, text};
use crate::trust::distrust_of;
use result::{Run, RunWarning};

/// Names of variants that are told; of more how many they are.
const MOST_NAMES: usize = 4;

/// Each of the run's warnings in this language; in English where nothing else is known of it.
pub fn warnings(run: &Run, lang: Lang) -> Vec<String> {
    let each = run.warnings.iter().enumerate();
    each.map(|(i, english)| {
        run.warned.get(i).and_then(|w| words(run, w, lang)).unwrap_or_else(|| english.clone())
    })
    .collect()
}

/// A warning in words; `None` of a kind that is not known here, as of newer versions.
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
    let mut said = fill(&template, lang, &values);
    if !warning.key.is_empty() {
        said = fill("warn.of", lang, &[("key", &warning.key), ("what", &said)]);
    }
    if !warning.variants.is_empty() {
        said += &fill("warn.only", lang, &[("variants", &listed(&warning.variants, lang))]);
    }
    Some(said)
}

/// The first few of these names.
fn listed(names: &[String], lang: Lang) -> String {
    let comma = text("warn.comma", lang);
    match names {
        _ if names.len() <= MOST_NAMES => names.join(comma),
        _ => {
            let n = (names.len() + 1 - MOST_NAMES).to_string();
            let first = names[..MOST_NAMES - 1].join(comma);
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
    fn a_warning_is_said_in_the_language_that_is_asked_for() {
        let values = [("bucket", "1kB"), ("size", "1500")];
        let small = warning("small-bucket", "links.wan.forward.policer.burst", &values, &["a"]);
        let run = Run { warnings: vec!["english".into()], warned: vec![small], ..Run::default() };
        assert_eq!(
            warnings(&run, Lang::En),
            ["links.wan.forward.policer.burst: a bucket of 1kB lets no packet of 1500 B pass, ever (in a)"]
        );
        assert_eq!(
            warnings(&run, Lang::Zh),
            ["links.wan.forward.policer.burst：1kB 的令牌桶永远不会放行 1500 B 的数据包（仅 a）"]
        );
        let many = warning("unused-relay", "relays.r", &[], &["a", "b", "c", "d", "e"]);
        let run = Run { warned: vec![many], ..run };
        assert!(warnings(&run, Lang::En)[0].ends_with(" (in a, b, c and 2 more)"));
    }

    #[test]
    fn what_is_not_known_stays_as_it_was_written() {
        let run = |warned| Run { warnings: vec!["as it was".into()], warned, ..Run::default() };
        for warned in [
            vec![],
            vec![warning("of-a-later-version", "", &[], &[])],
            vec![warning("trust", "", &[], &["gone"])],
        ] {
            assert_eq!(warnings(&run(warned), Lang::Zh), ["as it was"]);
        }
    }

    #[test]
    fn a_measurement_that_is_not_to_be_trusted_says_why() {
        let reasons = vec![TrustReason { kind: TrustKind::Steal, measured: 0.125, bound: 0.03 }];
        let trust = Some(Trust { reasons, ..Trust::default() });
        let variants = vec![VariantResult { name: "v".into(), trust, ..VariantResult::default() }];
        let warned = vec![warning("trust", "", &[], &["v"])];
        let run = Run { warnings: vec!["english".into()], warned, variants, ..Run::default() };
        assert!(
            warnings(&run, Lang::Zh)[0].contains("不可信")
                && warnings(&run, Lang::En)[0].contains("hypervisor")
        );
    }
}
