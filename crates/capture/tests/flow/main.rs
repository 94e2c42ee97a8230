//! What the tracker says of simulated runs, whose truth is known, wherever the capture is taken.

mod vantage;

use vantage::run;

const HEAD: &str = "duration = \"20s\"\n[hosts.a]\n[hosts.m]\n[hosts.b]";
const D: &str = r#"{ kind = "delay", delay = "10ms" }"#;
const BULK: &str =
    "[flows.f]\nfrom = \"a\"\nto = \"b\"\ncc = \"cubic\"\napp = { kind = \"bulk\", bytes = \"20MB\" }\n";

#[test]
fn look() {
    let policer = r#"{ kind = "policer", name = "limiter", rate = "20Mbit/s", burst = "100kB" }"#;
    let loss = r#"{ kind = "loss", name = "limiter", model = "bernoulli", probability = 0.01 }"#;
    let reorder = r#"{ kind = "reorder", name = "limiter", probability = 0.05, delay = "2ms" }"#;
    let link =
        r#"{ kind = "link", name = "limiter", rate = "20Mbit/s", queue = { kind = "fifo", packets = 300 } }"#;
    let outage = r#"{ kind = "outage", name = "limiter", at = ["1s"], lasts = "1s", buffer = "drop" }"#;
    let slow = r#"{ kind = "link", rate = "50Mbit/s" }"#;
    for (name, stage) in
        [("policer", policer), ("loss", loss), ("reorder", reorder), ("link", link), ("outage", outage)]
    {
        for behind in [false, true] {
            let (up, down) = match behind {
                true => (format!("{slow}, {D}"), format!("{stage}, {D}")),
                false => (format!("{slow}, {stage}, {D}"), D.to_string()),
            };
            let r = run(HEAD, &up, &down, D, D, BULK, 1);
            let f = r.flow();
            println!(
                "{name} behind={behind}: truth rtx {} timeouts {} dropped {} rtt {:?} sent {}",
                f.retransmitted_packets,
                f.timeouts,
                r.dropped("limiter"),
                f.rtt_ms,
                f.sent_packets
            );
            for host in 0..3 {
                let t = r.at(host);
                let c = &t.counts;
                let lost = t.bins.iter().map(|b| b.lost as u64).sum::<u64>();
                println!(
                    "   at {host}: rtx {} (fast {} rto {} tlp {} spurious {}) timeouts {} lost {}+{} ({lost}) reordered {} by {:?} missed {} data {} rtt {:.3} [{:.3} {:.3}] up {:.3} ({}) down {:.3} dups {} sacks {} dsacks {}",
                    c.retransmitted_packets,
                    c.fast,
                    c.rto,
                    c.tlp,
                    c.spurious,
                    c.timeouts,
                    c.lost_up,
                    c.lost_down,
                    c.reordered,
                    c.reordered_by,
                    c.missed_bytes,
                    c.data_packets,
                    t.rtt.summary().mean,
                    t.rtt.summary().min,
                    t.rtt.summary().max,
                    t.rtt_up.summary().mean,
                    t.rtt_up.samples(),
                    t.rtt_down.summary().mean,
                    c.dup_acks,
                    c.sacks,
                    c.dsacks
                );
                let sum =
                    |f: fn(&capture::Bin) -> u32| t.bins.iter().map(|b| f(b) as u64).sum::<u64>() / 1000;
                println!(
                    "      idle {} full {} timeout {} silence {} ms; bins {} of {:?} log {} merged {:?} waits {:?}",
                    sum(|b| b.idle),
                    sum(|b| b.window_full),
                    sum(|b| b.timeout),
                    sum(|b| b.silence),
                    t.bins.len(),
                    t.bin,
                    t.log.len(),
                    t.merged,
                    t.waits.iter().map(|w| (w.why, w.from, w.to)).collect::<Vec<_>>()
                );
            }
        }
    }
}
