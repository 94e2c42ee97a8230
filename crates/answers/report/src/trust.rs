//! Reasons not to trust a measurement on the kernel, and remedies.

use crate::number::{percent, short};
use crate::strings::{Lang, fill, text};
use result::{DeadComponent, Run, Trust, TrustKind, TrustReason, VariantResult};

/// A sentence for each variant with an untrustworthy measurement.
pub fn distrust(run: &Run, lang: Lang) -> Vec<String> {
    run.variants.iter().filter_map(|v| distrust_of(v, lang)).collect()
}

/// The sentence for a variant; `None` if its measurement is reliable.
pub fn distrust_of(variant: &VariantResult, lang: Lang) -> Option<String> {
    let trust = variant.trust.as_ref().filter(|t| !t.reliable)?;
    Some(distrust_sentence(&variant.name, trust, lang))
}

/// A sentence for each component of a variant's runs that died while they were measured.
pub fn deaths_of(variant: &VariantResult, lang: Lang) -> Vec<String> {
    variant.trust.iter().flat_map(|trust| &trust.dead_components).map(|dead| death(dead, lang)).collect()
}

fn death(dead: &DeadComponent, lang: Lang) -> String {
    let seconds = short(dead.at_ms / 1000.0);
    fill(
        "trust.dead_components",
        lang,
        &[("component", &dead.component), ("seconds", &seconds), ("how", &dead.how)],
    )
}

/// The sentence for an untrustworthy measurement called `name`.
pub fn distrust_sentence(name: &str, trust: &Trust, lang: Lang) -> String {
    let died = trust.dead_components.iter().map(|dead| death(dead, lang));
    let rest = trust.reasons.iter().filter_map(|r| reason(r, lang));
    let why: Vec<String> = died.chain(rest).collect();
    let mut cures: Vec<&str> = Vec::new();
    for cure in trust.reasons.iter().map(|r| text(cure(r.kind, trust.real_time), lang)) {
        if !cures.contains(&cure) {
            cures.push(cure);
        }
    }
    let (why, cures) = (why.join(text("trust.and", lang)), cures.join(text("trust.or", lang)));
    fill("trust.not", lang, &[("name", &format!("{name:?}")), ("why", &why), ("cures", &cures)])
}

/// A reason in words; `None` for [`TrustKind::Died`], for which [`death`] has a sentence per component.
fn reason(r: &TrustReason, lang: Lang) -> Option<String> {
    let share = |x| percent(x) + " %";
    let (key, number): (_, fn(f64) -> String) = match r.kind {
        TrustKind::Died => return None,
        TrustKind::Late => ("trust.late", short),
        TrustKind::LateTail => ("trust.late-tail", short),
        TrustKind::HostsLate => ("trust.hosts-late", short),
        TrustKind::BegunLate => ("trust.begun-late", short),
        TrustKind::AcksHeld => ("trust.acks-held", short),
        TrustKind::Unexplained => ("trust.unexplained", short),
        TrustKind::EngineBusy => ("trust.engine-busy", share),
        TrustKind::Steal => ("trust.steal", share),
        TrustKind::KernelLoss => ("trust.kernel-loss", share),
        TrustKind::Bunched => ("trust.bunched", share),
    };
    Some(fill(key, lang, &[("measured", &number(r.measured)), ("bound", &number(r.bound))]))
}

/// The key of the remedy's text.
fn cure(kind: TrustKind, real_time: bool) -> &'static str {
    match kind {
        TrustKind::Late | TrustKind::LateTail if !real_time => "trust.cure.real-time",
        TrustKind::Late | TrustKind::EngineBusy | TrustKind::KernelLoss | TrustKind::Unexplained => {
            "trust.cure.less"
        }
        TrustKind::LateTail
        | TrustKind::HostsLate
        | TrustKind::BegunLate
        | TrustKind::AcksHeld
        | TrustKind::Bunched => "trust.cure.alone",
        TrustKind::Steal => "trust.cure.own",
        TrustKind::Died => "trust.cure.again",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(trust: Option<Trust>) -> Run {
        let variants = vec![VariantResult { name: "cubic".into(), trust, ..VariantResult::default() }];
        Run { variants, ..Run::default() }
    }

    #[test]
    fn reliable_or_simulated_variants_have_no_sentence() {
        assert_eq!(distrust(&run(None), Lang::En), [""; 0]);
        assert_eq!(distrust(&run(Some(Trust { reliable: true, ..Trust::default() })), Lang::En), [""; 0]);
    }

    #[test]
    fn the_sentence_has_reasons_and_cures() {
        let reasons = [
            (TrustKind::Late, 1.24, 0.6),
            (TrustKind::EngineBusy, 0.97, 0.9),
            (TrustKind::Steal, 0.125, 0.03),
        ];
        let reasons = reasons.map(|(kind, measured, bound)| TrustReason { kind, measured, bound }).into();
        let bad = run(Some(Trust { reasons, real_time: true, ..Trust::default() }));
        assert_eq!(
            distrust(&bad, Lang::En),
            [
                "do not trust the kernel run of \"cubic\": the emulator added 1.24 ms to round trips (limit 0.600 ms); the \
                 emulator's CPU core was busy 97.0 % of the time; the hypervisor took 12.5 % of the CPU time; try: a lower \
                 rate or fewer hops, a dedicated machine"
            ]
        );
        assert!(distrust(&bad, Lang::Zh)[0].contains("仿真器"));
    }

    #[test]
    fn dead_components_are_named_first() {
        let reasons = [(TrustKind::Died, 1.0, 0.0), (TrustKind::Steal, 0.125, 0.03)];
        let reasons = reasons.map(|(kind, measured, bound)| TrustReason { kind, measured, bound }).into();
        let component = "host gw: charon (IPsec over link access)".into();
        let died = vec![DeadComponent { component, how: "killed by signal 9".into(), at_ms: 3210.0 }];
        let run = run(Some(Trust { reasons, dead_components: died, ..Trust::default() }));
        let death = "host gw: charon (IPsec over link access) died 3.21 s into the run (killed by signal 9)";
        assert_eq!(deaths_of(&run.variants[0], Lang::En), [death]);
        let sentence = &distrust(&run, Lang::En)[0];
        assert_eq!(
            *sentence,
            format!(
                "do not trust the kernel run of \"cubic\": {death}; the hypervisor took 12.5 % of the CPU time; try: another \
                 run, a dedicated machine"
            )
        );
        assert!(distrust(&run, Lang::Zh)[0].contains("charon"));
    }
}
