//! A full link.

use super::remedies::{FULL_RATE, at_a_full_rate};
use super::{
    AffectedFlows, Bilingual, CauseBound, CauseColors, CauseEntry, ClaimOrder, RoundEvidence, RoundPart,
};
use crate::diagnosis::LimiterKind;
use crate::remedy::Remedy;

pub(super) const ENTRY: CauseEntry = CauseEntry {
    label: Bilingual { en: "bottleneck", zh: "瓶颈" },
    how: Bilingual { en: "held by a full link", zh: "受限于已饱和的链路" },
    why: &[
        Bilingual {
            en: "a link of {rate} Mbit/s carried {got} Mbit/s of it; {aqm} keeps its queue short by dropping early",
            zh: "一条 {rate} Mbit/s 的链路承载了其中的 {got} Mbit/s；{aqm} 通过提前丢包使其队列保持较短",
        },
        Bilingual {
            en: "a link of {rate} Mbit/s carried {got} Mbit/s of it; each of {queues} flows has a queue of its own there, and waits up to {queue_ms} ms",
            zh: "一条 {rate} Mbit/s 的链路承载了其中的 {got} Mbit/s；{queues} 条流在那里各有一个队列，等待可达 {queue_ms} ms",
        },
        Bilingual {
            en: "a link of {rate} Mbit/s carried {got} Mbit/s of it; its queue grew to {queue}, {queue_ms} ms",
            zh: "一条 {rate} Mbit/s 的链路承载了其中的 {got} Mbit/s；其队列增长到 {queue}，即 {queue_ms} ms",
        },
        Bilingual {
            en: "a link of {rate} Mbit/s carried {got} Mbit/s of it; its queue grew to {queue_ms} ms",
            zh: "一条 {rate} Mbit/s 的链路承载了其中的 {got} Mbit/s；其队列增长到 {queue_ms} ms",
        },
        Bilingual {
            en: "a link of {rate} Mbit/s carried {got} Mbit/s of it",
            zh: "一条 {rate} Mbit/s 的链路承载了其中的 {got} Mbit/s",
        },
        Bilingual {
            en: "{got} Mbit/s came through, with an RTT of {min} ms that grew to {p95} ms",
            zh: "通过了 {got} Mbit/s，RTT 从 {min} ms 增长到 {p95} ms",
        },
        Bilingual { en: "{got} Mbit/s came through", zh: "通过了 {got} Mbit/s" },
    ],
    advice: FULL_RATE,
    colors: CauseColors { light: "#007a59", dark: "#2fcf9f" },
    by_limiter: true,
    bound: CauseBound::Nothing,
    claim,
    remedies,
};

fn claim(part: RoundPart, e: &RoundEvidence) -> Option<ClaimOrder> {
    let meets_acks = e.waits && e.both_ways && e.limiter.is_none();
    if part == RoundPart::Moving && meets_acks && e.data_waits {
        return Some(ClaimOrder::BothWays);
    }
    // A queue that is longer than the path is a full link's, though nothing tells its rate.
    if part == RoundPart::Moving && e.queue_stands && e.limiter.is_none() && !e.both_ways {
        return Some(ClaimOrder::StandingQueue);
    }
    e.claim_of_queue(part, LimiterKind::Bottleneck)
}

fn remedies(a: &AffectedFlows) -> Vec<Remedy> {
    at_a_full_rate(a)
}
