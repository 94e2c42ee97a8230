//! What tells against a measurement on the kernel, and what to do about it.

use crate::number::{percent, short};
use crate::strings::Lang;
use result::{Run, Trust, TrustKind, TrustReason, VariantResult};

/// A sentence for each variant whose measurement is not to be trusted.
pub fn distrust(run: &Run, lang: Lang) -> Vec<String> {
    let bad = |v: &VariantResult| Some((v.name.clone(), v.trust.clone().filter(|t| !t.reliable)?));
    let bad: Vec<(String, Trust)> = run.variants.iter().filter_map(bad).collect();
    bad.iter().map(|(name, trust)| sentence(name, trust, lang)).collect()
}

fn sentence(name: &str, trust: &Trust, lang: Lang) -> String {
    let why: Vec<String> = trust.reasons.iter().map(|r| reason(r, lang)).collect();
    let mut cures: Vec<&str> = Vec::new();
    for cure in trust.reasons.iter().map(|r| cure(r.kind, trust.real_time, lang)) {
        if !cures.contains(&cure) {
            cures.push(cure);
        }
    }
    match lang {
        Lang::En => format!(
            "do not trust {name:?} as measured on the kernel: {}; what helps: {}",
            why.join("; "),
            cures.join(", ")
        ),
        Lang::Zh => format!("内核上测得的“{name}”不可信:{};可尝试:{}", why.join(";"), cures.join("、")),
    }
}

fn reason(r: &TrustReason, lang: Lang) -> String {
    let (ms, part, bound) = (short(r.measured), percent(r.measured) + " %", percent(r.bound) + " %");
    let english = lang == Lang::En;
    match r.kind {
        TrustKind::Late if english => {
            format!("the emulator added {ms} ms to a round trip, more than {} ms", short(r.bound))
        }
        TrustKind::Late => format!("仿真器使往返时延增加 {ms} ms,上限 {} ms", short(r.bound)),
        TrustKind::LateTail if english => {
            format!("one packet in a hundred was {ms} ms late, more than {} ms", short(r.bound))
        }
        TrustKind::LateTail => format!("1 % 的数据包迟到 {ms} ms 以上,上限 {} ms", short(r.bound)),
        TrustKind::EngineBusy if english => format!("the emulator's core was busy for {part} of the time"),
        TrustKind::EngineBusy => format!("仿真器所在 CPU 核占用率 {part}"),
        TrustKind::Unexplained if english => {
            format!("datagrams stood {ms} ms before they left their host, which is not the path's delay")
        }
        TrustKind::Unexplained => format!("数据报离开主机前已等待 {ms} ms,这不是路径时延"),
        TrustKind::HostsLate if english => {
            format!("hosts waited for a CPU for {ms} ms in a round trip, more than {} ms", short(r.bound))
        }
        TrustKind::HostsLate => format!("主机等待 CPU,使往返时延增加 {ms} ms,上限 {} ms", short(r.bound)),
        TrustKind::Steal if english => format!("the hypervisor took {part} of the CPU time"),
        TrustKind::Steal => format!("虚拟机监控程序占用了 {part} 的 CPU 时间"),
        TrustKind::KernelLoss if english => {
            format!("this machine's own queues lost {part} of the packets, more than {bound}")
        }
        TrustKind::KernelLoss => format!("本机自身队列丢失了 {part} 的数据包,上限 {bound}"),
    }
}

fn cure(kind: TrustKind, real_time: bool, lang: Lang) -> &'static str {
    let english = lang == Lang::En;
    match kind {
        TrustKind::Late | TrustKind::LateTail if !real_time => {
            if english {
                "real-time priority (CAP_SYS_NICE)"
            } else {
                "实时优先级(CAP_SYS_NICE)"
            }
        }
        TrustKind::Late | TrustKind::EngineBusy | TrustKind::KernelLoss | TrustKind::Unexplained => {
            if english { "a lower rate or fewer hops" } else { "降低速率或减少跳数" }
        }
        TrustKind::LateTail | TrustKind::HostsLate => {
            if english {
                "nothing else beside it on this machine"
            } else {
                "停止本机上的其他负载"
            }
        }
        TrustKind::Steal => {
            if english {
                "a machine that is not shared"
            } else {
                "使用独占的机器"
            }
        }
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
    fn what_is_reliable_or_simulated_says_nothing() {
        assert_eq!(distrust(&run(None), Lang::En), [""; 0]);
        assert_eq!(distrust(&run(Some(Trust { reliable: true, ..Trust::default() })), Lang::En), [""; 0]);
    }

    #[test]
    fn reasons_and_cures_are_told() {
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
                "do not trust \"cubic\" as measured on the kernel: the emulator added 1.24 ms to a round trip, more than \
                 0.600 ms; the emulator's core was busy for 97.0 % of the time; the hypervisor took 12.5 % of the CPU time; what \
                 helps: a lower rate or fewer hops, a machine that is not shared"
            ]
        );
        assert!(distrust(&bad, Lang::Zh)[0].contains("仿真器"));
    }
}
