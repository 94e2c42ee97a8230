//! The connection was never set up: SYNs were not answered, or were refused.

use super::{
    AdviceTemplate, AffectedFlows, Bilingual, CauseBound, CauseColors, CauseEntry, ClaimOrder, RoundEvidence,
    RoundPart,
};
use crate::diagnosis::SetupEnd;
use crate::remedy::{Remedy, RemedyKind, RemedyPlace};

pub(super) const ENTRY: CauseEntry = CauseEntry {
    label: Bilingual { en: "setup failed", zh: "建连失败" },
    how: Bilingual { en: "left without a connection", zh: "未能建立连接" },
    why: &[
        Bilingual {
            en: "the other end refused it (RST) {refused_after} ms after the SYN",
            zh: "对端在 SYN 之后 {refused_after} ms 以 RST 拒绝",
        },
        Bilingual {
            en: "ICMP said that the other end cannot be reached ({unreachable})",
            zh: "ICMP 报告对端不可达（{unreachable}）",
        },
        Bilingual {
            en: "{syn_acks} SYN/ACKs came back, and none of them was answered",
            zh: "返回了 {syn_acks} 个 SYN/ACK，均未得到回应",
        },
        Bilingual {
            en: "{syns} SYNs in {setup_s} s, and none was answered",
            zh: "{setup_s} s 内发出 {syns} 个 SYN，均无应答",
        },
        Bilingual { en: "no SYN was answered", zh: "SYN 均无应答" },
    ],
    advice: &[
        AdviceTemplate {
            of: &[RemedyKind::Service],
            text: Bilingual {
                en: "Look whether the service listens on that port, and whether something before it refuses",
                zh: "检查该端口上的服务是否在监听，或途中是否有设备拒绝",
            },
        },
        AdviceTemplate {
            of: &[RemedyKind::Reachability],
            text: Bilingual {
                en: "Look at the way to that host: its address, routes and firewalls",
                zh: "检查到该主机的路径：地址、路由与防火墙",
            },
        },
    ],
    colors: CauseColors { light: "#5b2c6f", dark: "#e8c1f5" },
    by_limiter: false,
    bound: CauseBound::Nothing,
    claim,
    remedies,
};

/// It has no round trips: the verdict gives it to connections that never came to any.
fn claim(_: RoundPart, _: &RoundEvidence) -> Option<ClaimOrder> {
    None
}

fn remedies(a: &AffectedFlows) -> Vec<Remedy> {
    let end = a.lead().setup.as_ref().and_then(|s| s.failed);
    match end {
        Some(SetupEnd::Refused) => {
            let why = "an RST says that the host is reached, and that nothing takes the connection (RFC 9293 section 3.5.2)";
            vec![Remedy::new(RemedyKind::Service, RemedyPlace::Receiver, why)]
        }
        _ => {
            let why = "no answer of the other end came back to who asked";
            vec![Remedy::new(RemedyKind::Reachability, RemedyPlace::Path, why)]
        }
    }
}
