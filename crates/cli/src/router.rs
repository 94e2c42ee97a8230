//! What routers would show of a run, and what faults cost its flows.

use result::{FlowSeries, VariantResult};
use scenario::Scenario;

/// Limiters' counters, in the manner of `show policy-map interface`: a block for each direction of a link that has stages
/// which drop, delay or mark.
pub fn counters(scenario: &Scenario, variant: &VariantResult) -> String {
    let mut text = format!("variant {}, {}\n\n", variant.name, variant.clock.name());
    for link in &scenario.links {
        for (way, from) in [("forward", 0), ("backward", 1)] {
            let prefix = format!("{}.{way}.", link.name);
            let here = variant.elements.iter().filter_map(|e| Some((e.name.strip_prefix(&prefix)?, e)));
            let here: Vec<_> = here.collect();
            if here.is_empty() {
                continue;
            }
            let router = &scenario.hosts[link.between[from]].name;
            text += &format!("{router}# show policy-map interface {} output\n", link.name);
            for (name, e) in here {
                let kind = if e.kind == name { String::new() } else { format!(" ({})", e.kind) };
                text += &format!(
                    "  {name}{kind}\n    passed {} packets, dropped {}",
                    e.passed_packets, e.dropped_packets
                );
                if e.too_big_packets > 0 {
                    text += &format!(", too big {}", e.too_big_packets);
                }
                if e.marked_packets > 0 {
                    text += &format!(", marked {}", e.marked_packets);
                }
                if e.max_queue_packets > 0 {
                    text += &format!(
                        "; longest queue {} packets, mean delay {:.2} ms",
                        e.max_queue_packets, e.delay_ms.mean
                    );
                }
                text += "\n";
            }
            text += "\n";
        }
    }
    text
}

/// For how long each flow got nothing because of each fault; empty where there are no faults.
pub fn faults(scenario: &Scenario, variant: &VariantResult, series: &[FlowSeries]) -> String {
    if scenario.faults.is_empty() || series.is_empty() {
        return String::new();
    }
    let mut text = format!("faults, variant {}, {}\n", variant.name, variant.clock.name());
    for (i, fault) in scenario.faults.iter().enumerate() {
        let (kind, link) = (fault.kind.name(), &scenario.links[fault.link].name);
        text += &format!("  {}: {kind} of {link} from {} for {}\n", fault.name, fault.at, fault.lasts);
        let next = scenario.faults.iter().map(|f| f.at).filter(|at| *at > fault.at).min();
        let until =
            next.filter(|_| i + 1 < scenario.faults.len()).map_or(f64::INFINITY, |at| at.as_secs_f64());
        for s in series {
            let told = match outage(s, fault.at.as_secs_f64(), until) {
                Some(Silence { seconds, ended: true }) => format!("{:.0} ms without a byte", seconds * 1e3),
                Some(Silence { seconds, ended: false }) => {
                    format!("nothing more after {:.0} ms", seconds * 1e3)
                }
                None => "had ended or not begun".into(),
            };
            text += &format!("    {}: {told}\n", s.name);
        }
    }
    text + "\n"
}

/// A time in which a flow delivered nothing.
#[derive(Debug, PartialEq)]
struct Silence {
    seconds: f64,
    /// Something came after it.
    ended: bool,
}

/// The longest time without a byte that lies between two times or reaches into it, as exact as the series' interval; `None`
/// where the flow had delivered nothing before.
fn outage(series: &FlowSeries, from: f64, until: f64) -> Option<Silence> {
    let (times, bytes) = (&series.time_s, &series.delivered_bytes);
    let mut last = None;
    let mut longest: Option<Silence> = None;
    let mut note = |seconds: f64, ended: bool| {
        if longest.as_ref().is_none_or(|l| seconds > l.seconds) {
            longest = Some(Silence { seconds, ended });
        }
    };
    for i in 1..times.len().min(bytes.len()) {
        if bytes[i] == bytes[i - 1] {
            continue;
        }
        let begun = last.replace(times[i]);
        if let Some(before) = begun.filter(|_| times[i] > from && times[i - 1] < until) {
            note(times[i] - before, true);
        }
    }
    let (last, end) = (last?, *times.last()?);
    if last < until && end > from && end - last > 0.0 {
        note(end.min(until) - last, false);
    }
    longest
}

#[cfg(test)]
mod tests {
    use super::*;
    use result::FlowPoint;

    #[test]
    fn the_longest_time_without_a_byte_is_found() {
        let mut s = FlowSeries::new("f");
        let arrives = |t: u32| t > 2 && !(10..15).contains(&t) && !(20..28).contains(&t) && t < 40;
        let mut delivered_bytes = 0;
        for t in 0..50 {
            delivered_bytes += u64::from(arrives(t)) * 100;
            s.push(FlowPoint { time_s: f64::from(t), delivered_bytes, ..FlowPoint::default() });
        }
        assert_eq!(outage(&s, 9.0, 20.0), Some(Silence { seconds: 6.0, ended: true }));
        assert_eq!(outage(&s, 19.0, 35.0), Some(Silence { seconds: 9.0, ended: true }));
        assert_eq!(outage(&s, 38.0, f64::INFINITY), Some(Silence { seconds: 10.0, ended: false }));
        assert_eq!(outage(&FlowSeries::new("none"), 0.0, 1.0), None);
    }
}
