//! Each cause's own sentence: the numbers that show it, and one piece of advice.

use super::told::Group;
use super::words::{bytes, seconds};
use crate::number::{millis, percent, short};
use crate::strings::{Lang, fill, text};
use result::diagnosis::Measures;
use result::{Cause, FlowDiagnosis};

/// Where to shape before a policer: what leaves the shaper in bursts must still find tokens.
const SHAPE_AT: f64 = 0.98;
/// A queue of so many ms is worth a word: a call's budget for the whole way is 150 ms (ITU-T G.114).
const LONG_QUEUE_MS: f64 = 50.0;
/// The largest window without scaling (RFC 9293 section 3.1).
const UNSCALED: u64 = 65_535;
/// A queue is short when it holds less than this of what fills the path: half a BDP keeps a link busy through CUBIC's
/// reduction to 0.7 (RFC 9438 section 4.6).
const SHORT_QUEUE: f64 = 0.5;
/// A buffer that would carry so many times what was ever delivered in an RTT is not kept full: it is filled in bursts.
const IN_BURSTS: f64 = 1.3;
/// Mathis et al. 1997: rate = MSS / RTT * C / sqrt(p), C = sqrt(3/2) where each packet is acknowledged.
const MATHIS: f64 = 1.2247;

type Values<'a> = &'a [(&'a str, &'a str)];

/// What shows that this was it.
pub(super) fn why(g: &Group, lang: Lang) -> String {
    let m = &g.lead().measures;
    let (got, lost) = (short(g.carried()), percent(lost(g)));
    let say = |key: &str, values: Values| {
        let mut all = vec![("got", got.as_str()), ("lost", lost.as_str())];
        all.extend_from_slice(values);
        fill(&format!("diag.why.{key}"), lang, &all)
    };
    match g.cause {
        Cause::Policed => policed(g, &say),
        Cause::Shaped | Cause::Bottleneck => full(g, &say),
        Cause::Congestion => {
            let rtt = m.rtt_ms;
            say("congestion", &[("min", &millis(rtt.min)), ("p95", &millis(rtt.p95))])
        }
        Cause::RandomLoss => {
            let (min, p50) = (millis(m.rtt_ms.min), millis(m.rtt_ms.p50));
            let rest = mathis(m, g.lost()).map(|x| say("mathis", &[("mathis", &short(x))]));
            say("random-loss", &[("min", &min), ("p50", &p50)]) + &rest.unwrap_or_default()
        }
        Cause::ReceiveWindow => match m.max_window_bytes.and_then(|w| Some((w, window_rate(m, w)?))) {
            None => say("receive-window.bare", &[]),
            Some((window, most)) => {
                let values =
                    [("window", bytes(window as f64)), ("rtt", millis(m.rtt_ms.min)), ("most", short(most))];
                say("receive-window", &values.each_ref().map(|(k, v)| (*k, v.as_str())))
            }
        },
        Cause::SendBuffer => {
            let most = window_rate(m, m.max_inflight_bytes).unwrap_or(m.goodput_mbps);
            let (flight, rtt) = (bytes(m.max_inflight_bytes as f64), millis(m.rtt_ms.min));
            if most > IN_BURSTS * m.max_delivery_mbps {
                return say("send-buffer.bursts", &[("flight", &flight)]);
            }
            say("send-buffer", &[("flight", &flight), ("rtt", &rtt), ("most", &short(most))])
        }
        Cause::Application => {
            let idle = seconds(g.sum(|f| held(f, g.cause)));
            let most = g.flows.iter().map(|f| f.measures.max_delivery_mbps).fold(0.0, f64::max);
            say("application", &[("idle", &idle), ("most", &short(most))])
        }
        Cause::SlowStart => {
            let (all, rtt) = (bytes(m.bytes as f64), m.rtt_ms.min);
            let rounds = g.lead().duration_s * 1e3 / rtt;
            match rtt > 0.0 {
                true => say(
                    "slow-start",
                    &[("bytes", &all), ("rounds", &format!("{:.0}", rounds.ceil())), ("rtt", &millis(rtt))],
                ),
                false => say("slow-start.bare", &[("bytes", &all)]),
            }
        }
        Cause::Outage => say("outage", &[("s", &seconds(held(g.lead(), g.cause)))]),
        Cause::AckPath => {
            let n = g.sum(|f| f.measures.data_packets as f64) / g.sum(|f| f.measures.acks as f64).max(1.0);
            let burst = bytes(m.largest_burst_bytes as f64);
            say("ack-path", &[("n", &short(n)), ("burst", &burst)])
        }
        Cause::Unknown => say("unknown", &[]),
    }
}

/// What to do about it.
pub(super) fn advice(g: &Group, lang: Lang) -> String {
    let m = &g.lead().measures;
    let say = |key: &str, values: Values| fill(&format!("diag.do.{key}"), lang, values);
    // No advice to use what it uses.
    let bbr = g.flows.iter().all(|f| f.cc.name == "bbr");
    match g.cause {
        Cause::Policed => match rate(g) {
            Some(rate) if bbr => say("policed.bbr", &[("shape", &short(SHAPE_AT * rate))]),
            Some(rate) => say("policed", &[("shape", &short(SHAPE_AT * rate))]),
            None => say("policed.bare", &[]),
        },
        Cause::Shaped | Cause::Bottleneck => match queue_ms(g) {
            Some(ms) if ms >= LONG_QUEUE_MS => say("rate.queue", &[("ms", &millis(ms))]),
            _ => say("rate", &[]),
        },
        Cause::Congestion => match g.limiter.and_then(|l| l.queue_bytes) {
            Some(queue) if queue < SHORT_QUEUE * m.bdp_bytes as f64 => {
                let bdp = bytes(m.bdp_bytes as f64);
                say("congestion.short", &[("queue", &bytes(queue)), ("bdp", &bdp)])
            }
            _ => say("congestion", &[]),
        },
        Cause::RandomLoss => {
            let key = if bbr { "random-loss.bbr" } else { "random-loss" };
            say(key, &[("where", side(g, lang))])
        }
        Cause::ReceiveWindow => match m.max_window_bytes {
            _ if m.zero_windows > 0 => say("receive-window.reader", &[("n", &m.zero_windows.to_string())]),
            Some(window) if window <= UNSCALED => say("receive-window.scale", &[]),
            Some(window) => say("receive-window", &[("twice", &bytes(2.0 * window as f64))]),
            None => say("receive-window.bare", &[]),
        },
        Cause::SendBuffer => say("send-buffer", &[("twice", &bytes(2.0 * m.max_inflight_bytes as f64))]),
        other => say(other.name(), &[]),
    }
}

/// Between which ends more was lost.
pub(super) fn side(g: &Group, lang: Lang) -> &'static str {
    let [up, down] = [g.sum(|f| f.measures.lost_up as f64), g.sum(|f| f.measures.lost_down as f64)];
    text(if up > down { "diag.where.up" } else { "diag.where.down" }, lang)
}

/// Its rate, where a limiter is known.
fn rate(g: &Group) -> Option<f64> {
    g.limiter.map(|l| l.rate_mbps).filter(|&r| r > 0.0)
}

/// What the limiter dropped; of the flows' own losses where there is none.
fn lost(g: &Group) -> f64 {
    g.limiter.map(|l| l.lost_share).filter(|&s| s > 0.0).unwrap_or_else(|| g.lost())
}

fn policed(g: &Group, say: &dyn Fn(&str, Values) -> String) -> String {
    let Some(rate) = rate(g) else { return say("policed.bare", &[]) };
    match g.limiter.and_then(|l| l.burst_bytes) {
        Some(burst) => say("policed", &[("burst", &bytes(burst)), ("rate", &short(rate))]),
        None => say("policed.rate", &[("rate", &short(rate))]),
    }
}

fn full(g: &Group, say: &dyn Fn(&str, Values) -> String) -> String {
    let rtt = g.lead().measures.rtt_ms;
    let Some(rate) = rate(g) else {
        return say("full", &[("min", &millis(rtt.min)), ("p95", &millis(rtt.p95))]);
    };
    let text = say(g.cause.name(), &[("rate", &short(rate))]);
    let Some(ms) = queue_ms(g) else { return text };
    match g.limiter.and_then(|l| l.queue_bytes) {
        Some(queue) => text + &say("queue", &[("queue", &bytes(queue)), ("ms", &millis(ms))]),
        None => text + &say("queue.ms", &[("ms", &millis(ms))]),
    }
}

fn queue_ms(g: &Group) -> Option<f64> {
    g.limiter.and_then(|l| l.queue_ms).filter(|ms| ms.is_finite())
}

/// Mbit/s of a window a round trip; `None` without an RTT.
fn window_rate(m: &Measures, window: u64) -> Option<f64> {
    (m.rtt_ms.min > 0.0).then(|| window as f64 * 8e-3 / m.rtt_ms.min)
}

/// What a loss-based congestion control carries at that loss, Mbit/s.
fn mathis(m: &Measures, lost: f64) -> Option<f64> {
    let rtt = m.rtt_ms.p50;
    (rtt > 0.0 && lost > 0.0 && m.mss_bytes > 0)
        .then(|| m.mss_bytes as f64 * 8e-3 / rtt * MATHIS / lost.sqrt())
}

/// Seconds that the cause held a flow.
fn held(f: &FlowDiagnosis, cause: Cause) -> f64 {
    f.causes.iter().find(|c| c.cause == cause).map_or(0.0, |c| c.seconds)
}
