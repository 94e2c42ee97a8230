//! Sentences on what the capture does not show.

use crate::flows::FittedFlow;
use crate::model::{Fit, FitKind, FitValue};
use crate::observed::ObservedPath;
use crate::path_model::FitParameter;
use crate::search::TriedPath;
use crate::words::FitWords;
use print::three_digits as short;

/// A sentence in both languages.
fn words(en: impl Into<String>, zh: impl Into<String>) -> FitWords {
    FitWords { en: en.into(), zh: zh.into() }
}

/// A number is reported as open if the greatest value that fits is more than this many times the least.
const RANGE_RATIO: f64 = 1.22;

/// Whether the numbers are those with which the search would have begun.
pub(crate) fn is_first_guess(best: &TriedPath) -> bool {
    best.ranges.is_empty() && !best.path.free.is_empty()
}

/// What the capture does not show, a sentence each.
pub(crate) fn not_shown(seen: &ObservedPath, best: &TriedPath, fit: &Fit) -> Vec<FitWords> {
    let mut all: Vec<FitWords> = fit.other_kinds.iter().map(other_kind).collect();
    if fit.limiter == "none" {
        let known = seen.flows.iter().any(|f| f.facts.line_rate.is_some());
        all.push(if known { never_full() } else { no_limit() });
    }
    if !fit.cross.is_empty() {
        all.push(words(
            "cross traffic that was there all the time: the link's rate is what it left",
            "一直存在的背景流量：链路速率是它剩下的部分",
        ));
    }
    if is_first_guess(best) {
        all.push(words(
            "better numbers: the search ended before its first round, so all of them are first guesses",
            "更准确的数值：搜索在第一轮完成之前结束，以上数值都只是初步估计",
        ));
    }
    let numbers = fit.values.iter().zip(best.all_ranges());
    all.extend(
        numbers.filter(|(v, _)| v.range[1] > RANGE_RATIO * v.range[0]).map(|(v, r)| open_number(v, r.0)),
    );
    if fit.policers.iter().any(|p| p.per_flow) {
        all.push(words(
            "whether one more connection gets a policer of its own: it does here, as each of those captured",
            "再多一条连接是否也有自己的流量监管：这里假定有，与抓到的每条连接一样",
        ));
    }
    all.extend(best.flows.iter().filter(|f| !f.is_cc_known()).map(assumed_cc));
    if seen.left_out > 0 {
        let n = seen.left_out;
        all.push(words(
            format!(
                "{n} other flows of the capture are left out: on another path, too short, or not in what was simulated"
            ),
            format!("抓包中另有 {n} 条流未计入：在其他路径上、过短，或不在所仿真的时段内"),
        ));
    }
    all
}

fn never_full() -> FitWords {
    words(
        "the length of the link's queue: the link was never full for long. Its rate is estimated from bursts",
        "链路队列的长度：链路从未长时间占满，其速率取自突发中数据包的间隔",
    )
}

fn no_limit() -> FitWords {
    words(
        "a rate limit: the link's rate is one that fits, and others fit as well",
        "速率限制：链路速率只是一个吻合的取值，其他取值也同样吻合",
    )
}

/// The sentence on a kind that is not ruled out.
fn other_kind(k: &FitKind) -> FitWords {
    let [rate, bucket, queue] = [k.rate_mbps, k.bucket_kb, k.queue_kb].map(short);
    let percent = format!("{:.0} %", 100.0 * k.probability);
    let (en, zh) = match k.limiter.as_str() {
        "policer" => (
            format!("a policer of {rate} Mbit/s with a bucket of {bucket} kB"),
            format!("{rate} Mbit/s 的流量监管（令牌桶 {bucket} kB）"),
        ),
        "shaper" => (
            format!("a shaper of {rate} Mbit/s with a bucket of {bucket} kB"),
            format!("{rate} Mbit/s 的流量整形（令牌桶 {bucket} kB）"),
        ),
        _ => (
            format!("a link of {rate} Mbit/s with a queue of {queue} kB"),
            format!("{rate} Mbit/s 的链路（队列 {queue} kB）"),
        ),
    };
    words(
        format!("the limiter's kind: {en} fits too (probability {percent})"),
        format!("限速方式：{zh}也吻合（概率 {percent}）"),
    )
}

/// The sentence on a number with a wide range.
fn open_number(v: &FitValue, parameter: FitParameter) -> FitWords {
    let [low, high] = v.range.map(short);
    let zh = parameter.label().zh;
    words(
        format!("{}: anything from {low} to {high} {} fits nearly as well", v.name, v.unit),
        format!("{zh}：从 {low} 到 {high} {} 都几乎同样吻合", v.unit),
    )
}

/// The sentence on a congestion control that the capture does not show.
fn assumed_cc(f: &FittedFlow) -> FitWords {
    let (name, cc) = (&f.name, &f.cc);
    let [en, zh] = if f.count > 1 {
        [format!("{name} ({} connections)", f.count), format!("{name}（{} 条连接）", f.count)]
    } else {
        [name.clone(), format!(" {name} ")]
    };
    words(
        format!("the congestion control of {en}: {cc} is assumed"),
        format!("{zh}的拥塞控制：假定为 {cc}").trim_start().to_string(),
    )
}
