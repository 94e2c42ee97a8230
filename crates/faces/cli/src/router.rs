//! Counters of a run in the format of a router's `show` command.

use result::VariantResult;
use scenario::Scenario;

/// Formats the counters of limiters like `show policy-map interface`: one block for each direction of a link
/// with stages that drop, delay or mark packets.
pub fn counters(scenario: &Scenario, variant: &VariantResult) -> String {
    let mut text = format!("variant {}, {}\n\n", variant.name, variant.clock.name());
    for link in &scenario.links {
        for (direction, from) in [("forward", 0), ("backward", 1)] {
            let prefix = format!("{}.{direction}.", link.name);
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
