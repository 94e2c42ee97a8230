//! A page for the carrier: what was observed, what is asked, how sure it is, how it was measured, and how to
//! repeat it.

use super::fault::{Fault, fault};
use super::headline::limit;
use super::model::{Direction, Limiter, LimiterFound, MeasuredPath, Measurement};
use super::series::MeasurementSeries;
use print::{three_digits as digits, wrap};
use report::Table;
use report::figures::five_numbers;
use result::Cause;
use result::diagnosis::SURE;
use std::net::{IpAddr, SocketAddr};

/// Width of the text.
const WIDTH: usize = 78;
/// Share of idle echoes that must be lost to be reported.
const MIN_LOST: f64 = 0.02;
/// Least retransmitted share of an upload or download that is claimed without a known cause.
const MIN_RETRANSMITTED: f64 = 0.005;
/// Share of datagrams out of order from which on it is reported.
const MIN_REORDERED: f64 = 0.001;
/// Rate of the datagrams that show a policer, as a multiple of its rate.
const ABOVE: f64 = 1.5;

/// An observation that the carrier can act on.
struct Claim {
    /// The observation, as a heading.
    title: String,
    /// The observation with its numbers.
    observed: String,
    /// Request or question to the carrier.
    ask: String,
    /// How sure the observation is.
    sure: String,
}

/// Returns the page as Markdown that also reads as plain text. Private addresses are left out unless
/// `addresses` is set.
pub fn ticket(series: &MeasurementSeries, addresses: bool) -> String {
    let Some(m) = series.typical() else {
        return wrap(&format!("{} There is nothing to report.", series.headline), WIDTH, "");
    };
    let claims = claims(series, m);
    let title = match &claims[..] {
        [] => "No fault that a carrier can act on was found".to_string(),
        [one] => one.title.clone(),
        [first, rest @ ..] => format!("{}, and {} more", first.title, rest.len()),
    };
    let mut out = format!("# {title}\n\n");
    let (near, far) = (shown(&m.client, addresses), shown(&m.server, addresses));
    let count = series.measurements().count();
    let times = if count == 1 { "once".into() } else { format!("{count} times") };
    let (first, last) = (series.measurements().next(), series.measurements().last());
    let time = match first.zip(last) {
        Some((first, last)) if first.at != last.at => format!("{} to {}", first.at, last.at),
        _ => m.at.clone(),
    };
    out += &wrap(
        &format!(
            "From {near} (\"near end\") to {far} (\"far end\"), measured {times}, {time}. \"Upload\" is from \
             the near end to the far end. Rates of limits count IP bytes."
        ),
        WIDTH,
        "",
    );
    if claims.is_empty() {
        out += "\n";
        out += &wrap(&format!("The measurement says: {}", m.headline), WIDTH, "");
    }
    for (i, claim) in claims.iter().enumerate() {
        out += &format!("\n## {}. {}\n\n", i + 1, claim.title);
        for (what, text) in
            [("Observed", &claim.observed), ("How sure", &claim.sure), ("Request", &claim.ask)]
        {
            out += &wrap(&format!("{what}: {text}"), WIDTH, "- ");
        }
    }
    let limits: Vec<&String> = m.cannot_tell.iter().collect();
    if !limits.is_empty() {
        out += "\n## Not known\n\n";
        limits.iter().for_each(|why| out += &wrap(why, WIDTH, "- "));
    }
    out += "\n## How it was measured\n\n";
    out += &table(m).markdown();
    out += "\n";
    out += &wrap(&method(series, m), WIDTH, "");
    out += "\n## How to repeat it\n\n";
    out += &repeat(series, m);
    out
}

/// Returns what the carrier can act on, the certain first.
fn claims(series: &MeasurementSeries, m: &Measurement) -> Vec<Claim> {
    let mut all = Vec::new();
    for d in Direction::BOTH {
        let before = all.len();
        let found = m.direction(d);
        let (load, title) = (d.load(), capital(d.load()));
        let goodput = m.test(d.name()).map(|t| t.goodput_mbps);
        let limiter = series.limiter(d);
        let is_policed = found.verdict.as_ref().filter(|v| v.cause == Cause::Policed && v.confidence >= SURE);
        if let Some(limiter @ Limiter { kind: LimiterFound::Policer, rate_mbps: Some(rate), .. }) = limiter {
            let could = m.capacity_mbps(d).unwrap_or(*rate);
            let got = goodput.map_or(String::new(), |got| {
                format!(
                    " One TCP connection gets {} Mbit/s of the {} Mbit/s of payload that this rate allows.",
                    digits(got),
                    digits(could)
                )
            });
            let burst = m
                .idle
                .as_ref()
                .map(|idle| rate * idle.rtt_min_ms / 8.0)
                .filter(|kb| limiter.bucket_bytes.is_some_and(|bucket| bucket < 1e3 * kb));
            let ask = match burst {
                Some(kb) => format!(
                    "Which rate and burst (CIR, Bc) are configured for this direction? A burst of at least {} kB, which \
                     is the rate times the round trip, or shaping instead of policing, would let one connection use \
                     the rate.",
                    digits(kb)
                ),
                None => "Which rate and burst (CIR, Bc) are configured for this direction? Shaping instead of policing \
                         would drop less."
                    .into(),
            };
            all.push(Claim {
                title: format!("{title}: packets above {} Mbit/s are dropped, not queued", digits(*rate)),
                observed: format!("{}.{got}", capital(&limit(limiter))),
                ask,
                sure: trains(series, d),
            });
        } else if let (Some(v), Some(got)) = (is_policed, goodput) {
            let rate = v.limit_mbps.map_or(String::new(), |rate| format!(" at {} Mbit/s", digits(rate)));
            all.push(Claim {
                title: format!("{title}: packets are dropped as by a policer{rate}"),
                observed: format!(
                    "One TCP connection gets {} Mbit/s. The packets that are lost are those that exceed a rate, and \
                     those that pass are not delayed.",
                    digits(got)
                ),
                ask: "Is this direction policed? Which rate and burst (CIR, Bc) are configured?".into(),
                sure: format!(
                    "Diagnosis of the captured packets, {:.0} % confidence; {} of the connection's time. Trains of \
                     datagrams did not confirm it.",
                    100.0 * v.confidence,
                    percent(v.share)
                ),
            });
        }
        if let Some(Fault::Delayed { added_ms }) = fault(m, d) {
            all.push(Claim {
                title: format!("{title}: a queue adds {} ms to every round trip", digits(added_ms)),
                observed: format!(
                    "While TCP fills the {load}, the median round trip of probes rises by {} ms.{}",
                    digits(added_ms),
                    limiter.map_or(String::new(), |l| format!(" The trains show {}.", limit(l)))
                ),
                ask: "How long is the queue at the narrowest hop, and can it use active queue management (CoDel, \
                      PIE) or be shortened?"
                    .into(),
                sure: echoes(m, d),
            });
        }
        let random = found.verdict.as_ref().filter(|v| v.cause == Cause::RandomLoss && v.confidence >= SURE);
        if let (Some(v), Some(test)) = (random, m.test(d.name())) {
            all.push(Claim {
                title: format!("{title}: packets are lost whatever the load is"),
                observed: format!(
                    "{} % of the segments of one TCP connection were retransmitted, and no rate limit or queue explains \
                     the losses. It gets {} Mbit/s.",
                    digits(100.0 * test.retransmitted_share),
                    digits(test.goodput_mbps)
                ),
                ask: "Please check the error counters (CRC, FEC, radio) of the links on this path.".into(),
                sure: format!(
                    "Diagnosis of the captured packets, {:.0} % confidence; {} of the connection's time.",
                    100.0 * v.confidence,
                    percent(v.share)
                ),
            });
        }
        if limiter.is_none() && all.len() == before {
            all.extend(unexplained(m, d));
        }
        if let Some(path) = &found.path {
            all.extend(of_path(path, d));
        }
    }
    if let Some(idle) = m.idle.as_ref().filter(|idle| idle.lost_share >= MIN_LOST) {
        all.push(Claim {
            title: "Packets are lost on the idle path".into(),
            observed: format!(
                "{} of {} probes without any load had no answer.",
                percent(idle.lost_share),
                idle.sent
            ),
            ask: "Please check the error counters of the links on this path.".into(),
            sure: format!(
                "{} probes of 64 bytes, 50 ms apart; the direction of the loss is not known.",
                idle.sent
            ),
        });
    }
    all
}

/// Returns the claim that a direction loses packets for a reason that the tests do not show.
fn unexplained(m: &Measurement, d: Direction) -> Option<Claim> {
    let test = m.test(d.name()).filter(|test| test.retransmitted_share >= MIN_RETRANSMITTED)?;
    let share = percent(test.retransmitted_share);
    Some(Claim {
        title: format!(
            "{}: {share} of the segments are retransmitted, and the cause is not known",
            capital(d.load())
        ),
        observed: format!(
            "One TCP connection gets {} Mbit/s. Neither the trains of datagrams nor the captured packets show a \
             rate limit or a queue that explains the losses.",
            digits(test.goodput_mbps)
        ),
        ask: "Is this direction policed, and do its queues or links count drops or errors?".into(),
        sure: format!("Counted by the sender's kernel during {} s.", digits(test.seconds)),
    })
}

/// Returns what datagrams show of a direction.
fn of_path(path: &MeasuredPath, d: Direction) -> Vec<Claim> {
    let mut all = Vec::new();
    let load = capital(d.load());
    if let (true, Some(mtu)) = (path.black_hole, path.mtu) {
        all.push(Claim {
            title: format!("{load}: packets above {mtu} bytes vanish without an ICMP message"),
            observed: format!(
                "The largest packet that passes has {mtu} bytes. TCP sent larger ones, lost them, and received no \
                 \"fragmentation needed\" or \"packet too big\"."
            ),
            ask: format!("Please carry 1500 bytes, let the ICMP messages pass, or clamp the MSS to {}.", mtu.saturating_sub(40)),
            sure: "Three copies of each size were sent, in two rounds.".into(),
        });
    }
    let changed = path.marks.iter().filter(|m| m.arrived != Some(m.sent));
    let changed: Vec<String> = changed
        .map(|m| match m.arrived {
            Some(tos) => format!("{} as DSCP {} with ECN {:#04b}", m.name, tos >> 2, tos & 0b11),
            None => format!("{} not at all", m.name),
        })
        .collect();
    if !changed.is_empty() {
        all.push(Claim {
            title: format!("{load}: DSCP or ECN marks are changed"),
            observed: format!("What was sent arrives thus: {}.", changed.join(", ")),
            ask: "Are these marks meant to be rewritten on this circuit?".into(),
            sure: "Three datagrams with each mark.".into(),
        });
    }
    if let Some(share) = path.reordered_share.filter(|share| *share >= MIN_REORDERED) {
        all.push(Claim {
            title: format!("{load}: packets arrive out of order"),
            observed: format!("{} of the datagrams of a train arrived after a later one.", percent(share)),
            ask: "Is traffic of one flow spread over several links?".into(),
            sure: "The order of one train of datagrams (RFC 4737).".into(),
        });
    }
    all
}

/// How sure the limit of a direction is: its trains in all measurements.
fn trains(series: &MeasurementSeries, d: Direction) -> String {
    let all: Vec<&Limiter> = series.measurements().filter_map(|m| m.direction(d).limiter.as_ref()).collect();
    let same = || all.iter().filter(|l| l.kind == LimiterFound::Policer);
    let datagrams: u64 = all.iter().map(|l| l.datagrams).sum();
    let rates = five_numbers(same().filter_map(|l| l.rate_mbps));
    let range = match rates {
        Some([min, .., max]) if digits(min) != digits(max) => {
            format!(", between {} and {} Mbit/s", digits(min), digits(max))
        }
        _ => String::new(),
    };
    format!(
        "Trains of UDP datagrams above the rate ({datagrams} datagrams): their losses follow a token bucket, and those that \
         pass are not delayed. Found in {} of {} measurements{range}.",
        same().count(),
        all.len()
    )
}

/// How sure a delay is: the number of probes.
fn echoes(m: &Measurement, d: Direction) -> String {
    let loaded = [d.name(), d.several()].into_iter().filter_map(|name| m.test(name)?.loaded.as_ref());
    let (probes, idle) = (loaded.map(|l| l.sent).sum::<u64>(), m.idle.as_ref().map_or(0, |idle| idle.sent));
    format!("{probes} probes during the tests, compared with {idle} on the idle path.")
}

/// The tests in a table: what was sent, for how long, and what arrived.
fn table(m: &Measurement) -> Table<'static> {
    let row = |t: &super::model::StreamTest| {
        vec![
            format!(
                "{}, {} TCP connection{}",
                t.direction.load(),
                t.connections,
                if t.connections == 1 { "" } else { "s" }
            ),
            if t.control.is_empty() { "-".into() } else { t.control.clone() },
            format!("{:.1}", t.seconds),
            format!("{:.1}", t.bytes as f64 / 1e6),
            digits(t.goodput_mbps),
            format!("{:.2}", 100.0 * t.retransmitted_share),
            t.loaded.as_ref().map_or("-".into(), |l| digits(l.rtt_p50_ms)),
        ]
    };
    let rows: Vec<Vec<String>> = m.tests.iter().map(row).collect();
    Table::filled(
        &[
            ("test", None),
            ("CC", None),
            ("time", Some("s")),
            ("arrived", Some("MB")),
            ("goodput", Some("Mbit/s")),
            ("resent", Some("%")),
            ("RTT", Some("ms")),
        ],
        &rows,
    )
}

fn method(series: &MeasurementSeries, m: &Measurement) -> String {
    let idle = m.idle.as_ref().map_or(String::new(), |idle| {
        format!(
            " The idle round trip is {} ms (minimum {} ms, {} probes).",
            digits(idle.rtt_p50_ms),
            digits(idle.rtt_min_ms),
            idle.sent
        )
    });
    let which = if series.measurements().count() > 1 {
        "The table shows the measurement with the median upload, of those that agree on the limit. "
    } else {
        ""
    };
    format!(
        "{which}Goodput is received payload without the first quarter of a test; \"resent\" is the share of segments that \
         the sender's kernel retransmitted; RTT is that of UDP probes during the test.{idle} The whole measurement took \
         {:.0} s. Tool: longfat {} (`longfat measure`, open source); both ends are Linux hosts of ours.",
        m.seconds, m.longfat
    )
}

/// How the carrier can repeat the measurement, with longfat and with iperf3.
fn repeat(series: &MeasurementSeries, m: &Measurement) -> String {
    let port = m.server.parse::<SocketAddr>().map_or(4717, |at| at.port());
    let mut out = format!(
        "    far end:   longfat serve --listen '[::]:{port}'\n    near end:  sudo longfat measure FAR-END:{port} --repeat 5\n\n"
    );
    out += &wrap(
        "With iperf3, which shows the rates but not their cause (`-R` reverses the direction):",
        WIDTH,
        "",
    );
    out += "\n    far end:   iperf3 -s\n    near end:  iperf3 -c FAR-END -t 10\n";
    for d in Direction::BOTH {
        if let Some(Limiter { kind: LimiterFound::Policer, rate_mbps: Some(rate), .. }) = series.limiter(d) {
            let reverse = if d == Direction::Down { " -R" } else { "" };
            out += &format!(
                "    near end:  iperf3 -c FAR-END -u -l 1200 -t 10 -b {:.0}M{reverse}\n",
                (ABOVE * rate).round()
            );
        }
    }
    out
}

fn percent(share: f64) -> String {
    format!("{} %", digits(100.0 * share))
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

/// An address as the page shows it: a private one only if wanted.
fn shown(address: &str, addresses: bool) -> String {
    let ip = address.parse::<SocketAddr>().map(|at| at.ip()).or_else(|_| address.parse::<IpAddr>());
    match ip {
        Ok(ip) if !addresses && is_private(ip) => "a private address".into(),
        Ok(ip) => ip.to_string(),
        Err(_) if !addresses => "an address that is not shown".into(),
        Err(_) => address.into(),
    }
}

/// Whether an address means nothing outside its own network: RFC 1918, 3927, 4193, 6598, loopback.
fn is_private(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(v4) => {
            let [a, b, ..] = v4.octets();
            v4.is_private() || v4.is_loopback() || v4.is_link_local() || (a == 100 && b & 0xc0 == 64)
        }
        IpAddr::V6(v6) => match v6.to_ipv4_mapped() {
            Some(v4) => is_private(v4.into()),
            None => v6.is_loopback() || v6.is_unique_local() || v6.is_unicast_link_local(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::model::EchoSummary;
    use crate::measure::series::samples::upload;
    use diagnosis::train::TrainFinding;

    fn policed() -> MeasurementSeries {
        let mut m = upload("2026-11-30T14:00:00Z", 4.9, 40.0).measurement.expect("one");
        m.client = "10.0.0.1".into();
        m.server = "198.51.100.7:4717".into();
        m.headline = "A policer of 20.0 Mbit/s drops the upload's bursts: 4.90 of 19.3 Mbit/s.".into();
        m.idle = Some(EchoSummary { sent: 40, rtt_min_ms: 40.0, rtt_p50_ms: 40.5, ..EchoSummary::default() });
        m.up.limiter = Some(Limiter::of(TrainFinding::Policer { rate: 20e6, bucket: 30e3 }, 2, 8000));
        m.into()
    }

    #[test]
    fn a_policer_is_claimed_with_what_is_asked_and_how_sure_it_is() {
        let text = ticket(&policed(), false);
        println!("{text}");
        for part in [
            "# Upload: packets above 20.0 Mbit/s are dropped, not queued",
            "4.90 Mbit/s of the 19.3 Mbit/s of payload",
            "burst of at least 100 kB",
            "8000 datagrams",
            "in 1 of 1 measurements",
            "iperf3 -c FAR-END -u -l 1200 -t 10 -b 30M",
        ] {
            let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(flat.contains(part), "{part}: {text}");
        }
        assert!(text.contains("198.51.100.7") && !text.contains("10.0.0.1"), "{text}");
        assert!(ticket(&policed(), true).contains("10.0.0.1"));
    }

    #[test]
    fn losses_without_a_known_cause_are_claimed_as_such() {
        let mut m = upload("2026-11-30T14:00:00Z", 8.5, 14.5).measurement.expect("one");
        let up = m.tests.iter_mut().find(|t| t.name == "up").expect("an upload");
        (up.retransmitted_share, m.up.limiter, m.up.verdict) = (0.016, None, None);
        let text = ticket(&m.into(), false);
        assert!(
            text.starts_with(
                "# Upload: 1.60 % of the segments are retransmitted, and the cause is not known"
            ),
            "{text}"
        );
    }

    #[test]
    fn nothing_is_claimed_where_nothing_is_wrong() {
        let clean: MeasurementSeries =
            upload("2026-11-30T14:00:00Z", 19.0, 20.0).measurement.expect("one").into();
        assert!(ticket(&clean, false).starts_with("# No fault that a carrier can act on was found"));
        let none = MeasurementSeries::of(vec![]);
        assert!(ticket(&none, false).contains("No measurement succeeded."));
    }

    #[test]
    fn addresses_of_ones_own_network_are_private() {
        for private in
            ["10.1.2.3", "192.168.0.1", "100.64.0.1", "169.254.1.1", "127.0.0.1", "fd00::1", "fe80::1", "::1"]
        {
            assert_eq!(shown(private, false), "a private address", "{private}");
        }
        for public in ["198.51.100.7", "100.128.0.1", "2001:db8::1"] {
            assert_eq!(shown(public, false), public);
        }
        assert_eq!(shown("[fd00::1]:4717", true), "fd00::1");
    }
}
