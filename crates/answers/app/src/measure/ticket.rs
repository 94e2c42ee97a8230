//! A page for the carrier: what was observed, what is asked, how sure it is, how it was measured, and how to
//! repeat it.

use super::fault::{Fault, fault};
use super::headline::limit;
use super::model::{Direction, Limiter, LimiterFound, MeasuredPath, Measurement, TestVerdict};
use super::series::MeasurementSeries;
use print::{three_digits as digits, wrap};
use report::figures::five_numbers;
use report::{Lang, Table, word};
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
    let lang = series.lang;
    let Some(m) = series.typical() else {
        return wrap(&say!(lang, "ticket.nothing", headline = series.headline), WIDTH, "");
    };
    let claims = claims(series, m);
    let title = match &claims[..] {
        [] => say!(lang, "ticket.title.none"),
        [one] => one.title.clone(),
        [first, rest @ ..] => say!(lang, "ticket.title.more", first = first.title, n = rest.len()),
    };
    let mut out = format!("# {title}\n\n");
    let (near, far) = (shown(&m.client, addresses, lang), shown(&m.server, addresses, lang));
    let count = series.measurements().count();
    let times = if count == 1 { say!(lang, "ticket.once") } else { say!(lang, "ticket.times", n = count) };
    let (first, last) = (series.measurements().next(), series.measurements().last());
    let time = match first.zip(last) {
        Some((first, last)) if first.at != last.at => {
            say!(lang, "ticket.period", first = first.at, last = last.at)
        }
        _ => m.at.clone(),
    };
    out += &wrap(&say!(lang, "ticket.from", near = near, far = far, times = times, time = time), WIDTH, "");
    if claims.is_empty() {
        out += "\n";
        out += &wrap(&say!(lang, "ticket.says", headline = m.headline), WIDTH, "");
    }
    for (i, claim) in claims.iter().enumerate() {
        out += &format!("\n## {}. {}\n\n", i + 1, claim.title);
        for (what, text) in [
            ("ticket.observed", &claim.observed),
            ("ticket.sure", &claim.sure),
            ("ticket.request", &claim.ask),
        ] {
            out += &wrap(&say!(lang, "measure.colon", what = word(lang, what), text = text), WIDTH, "- ");
        }
    }
    let heading = |key: &str| format!("\n## {}\n\n", word(lang, key));
    if !m.cannot_tell.is_empty() {
        out += &heading("ticket.not-known");
        m.cannot_tell.iter().for_each(|why| out += &wrap(why, WIDTH, "- "));
    }
    out += &heading("ticket.method");
    out += &table(m).markdown();
    out += "\n";
    out += &wrap(&method(series, m), WIDTH, "");
    out += &heading("ticket.repeat");
    out += &repeat(series, m);
    out
}

/// Returns what the carrier can act on, the certain first.
fn claims(series: &MeasurementSeries, m: &Measurement) -> Vec<Claim> {
    let mut all = Vec::new();
    for d in Direction::BOTH {
        let before = all.len();
        let limiter = series.limiter(d);
        all.extend(policed(series, m, d));
        all.extend(delayed(series, m, d));
        all.extend(random(m, d));
        if limiter.is_none() && all.len() == before {
            all.extend(unexplained(m, d));
        }
        if let Some(path) = &m.direction(d).path {
            all.extend(of_path(path, d, m.lang));
        }
    }
    all.extend(idle(m));
    all
}

/// Returns the claim that a direction is policed: by its trains, or by the packets of the test alone.
fn policed(series: &MeasurementSeries, m: &Measurement, d: Direction) -> Option<Claim> {
    let (lang, load) = (m.lang, d.capital(m.lang));
    let goodput = m.test(d.name()).map(|t| t.goodput_mbps);
    if let Some(limiter @ Limiter { kind: LimiterFound::Policer, rate_mbps: Some(rate), .. }) =
        series.limiter(d)
    {
        let could = m.capacity_mbps(d).unwrap_or(*rate);
        let got = goodput.map_or(String::new(), |got| {
            say!(lang, "ticket.policer.got", got = digits(got), could = digits(could))
        });
        let burst = m
            .idle
            .as_ref()
            .map(|idle| rate * idle.rtt_min_ms / 8.0)
            .filter(|kb| limiter.bucket_bytes.is_some_and(|bucket| bucket < 1e3 * kb));
        let observed =
            say!(lang, "ticket.policer.observed", limit = capital(&limit(limiter, lang)), got = got);
        return Some(Claim {
            title: say!(lang, "ticket.policer.title", load = load, rate = digits(*rate)),
            observed,
            ask: match burst {
                Some(kb) => say!(lang, "ticket.policer.ask.burst", kb = digits(kb)),
                None => say!(lang, "ticket.policer.ask"),
            },
            sure: trains(series, d),
        });
    }
    let verdict = m.direction(d).verdict.as_ref();
    let v = verdict.filter(|v| v.cause == Cause::Policed && v.confidence >= SURE)?;
    Some(Claim {
        title: match v.limit_mbps {
            Some(rate) => say!(lang, "ticket.policed.title.rate", load = load, rate = digits(rate)),
            None => say!(lang, "ticket.policed.title", load = load),
        },
        observed: say!(lang, "ticket.policed.observed", got = digits(goodput?)),
        ask: say!(lang, "ticket.policed.ask"),
        sure: diagnosed("ticket.policed.sure", v, lang),
    })
}

/// How sure a diagnosis of packets is.
fn diagnosed(key: &str, v: &TestVerdict, lang: Lang) -> String {
    say!(lang, key, confidence = format!("{:.0}", 100.0 * v.confidence), share = percent(v.share))
}

/// Returns the claim that a queue delays a direction.
fn delayed(series: &MeasurementSeries, m: &Measurement, d: Direction) -> Option<Claim> {
    let lang = m.lang;
    let Some(Fault::Delayed { added_ms }) = fault(m, d) else { return None };
    let ms = digits(added_ms);
    let shown = series
        .limiter(d)
        .map_or(String::new(), |l| say!(lang, "ticket.delayed.trains", limit = limit(l, lang)));
    Some(Claim {
        title: say!(lang, "ticket.delayed.title", load = d.capital(lang), ms = ms),
        observed: say!(lang, "ticket.delayed.observed", load = d.load(lang), ms = ms) + &shown,
        ask: say!(lang, "ticket.delayed.ask"),
        sure: echoes(m, d),
    })
}

/// Returns the claim that a direction loses packets whatever the load is.
fn random(m: &Measurement, d: Direction) -> Option<Claim> {
    let lang = m.lang;
    let verdict = m.direction(d).verdict.as_ref();
    let v = verdict.filter(|v| v.cause == Cause::RandomLoss && v.confidence >= SURE)?;
    let test = m.test(d.name())?;
    let share = digits(100.0 * test.retransmitted_share);
    Some(Claim {
        title: say!(lang, "ticket.random.title", load = d.capital(lang)),
        observed: say!(lang, "ticket.random.observed", share = share, got = digits(test.goodput_mbps)),
        ask: say!(lang, "ticket.random.ask"),
        sure: diagnosed("ticket.random.sure", v, lang),
    })
}

/// Returns the claim that packets are lost on the idle path.
fn idle(m: &Measurement) -> Option<Claim> {
    let lang = m.lang;
    let idle = m.idle.as_ref().filter(|idle| idle.lost_share >= MIN_LOST)?;
    Some(Claim {
        title: say!(lang, "ticket.idle.title"),
        observed: say!(lang, "ticket.idle.observed", share = percent(idle.lost_share), n = idle.sent),
        ask: say!(lang, "ticket.idle.ask"),
        sure: say!(lang, "ticket.idle.sure", n = idle.sent),
    })
}

/// Returns the claim that a direction loses packets for a reason that the tests do not show.
fn unexplained(m: &Measurement, d: Direction) -> Option<Claim> {
    let lang = m.lang;
    let test = m.test(d.name()).filter(|test| test.retransmitted_share >= MIN_RETRANSMITTED)?;
    let share = percent(test.retransmitted_share);
    Some(Claim {
        title: say!(lang, "ticket.unexplained.title", load = d.capital(lang), share = share),
        observed: say!(lang, "ticket.unexplained.observed", got = digits(test.goodput_mbps)),
        ask: say!(lang, "ticket.unexplained.ask"),
        sure: say!(lang, "ticket.unexplained.sure", seconds = digits(test.seconds)),
    })
}

/// Returns what datagrams show of a direction.
fn of_path(path: &MeasuredPath, d: Direction, lang: Lang) -> Vec<Claim> {
    let mut all = Vec::new();
    let load = d.capital(lang);
    if let (true, Some(mtu)) = (path.black_hole, path.mtu) {
        all.push(Claim {
            title: say!(lang, "ticket.black-hole.title", load = load, mtu = mtu),
            observed: say!(lang, "ticket.black-hole.observed", mtu = mtu),
            ask: say!(lang, "ticket.black-hole.ask", mss = mtu.saturating_sub(40)),
            sure: say!(lang, "ticket.black-hole.sure"),
        });
    }
    let changed = path.marks.iter().filter(|m| m.arrived != Some(m.sent));
    let changed: Vec<String> = changed
        .map(|m| match m.arrived {
            Some(tos) => say!(
                lang,
                "ticket.marks.changed",
                name = m.name,
                dscp = tos >> 2,
                ecn = format!("{:#04b}", tos & 0b11)
            ),
            None => say!(lang, "ticket.marks.lost", name = m.name),
        })
        .collect();
    if !changed.is_empty() {
        all.push(Claim {
            title: say!(lang, "ticket.marks.title", load = load),
            observed: say!(lang, "ticket.marks.observed", marks = changed.join(word(lang, "measure.comma"))),
            ask: say!(lang, "ticket.marks.ask"),
            sure: say!(lang, "ticket.marks.sure"),
        });
    }
    if let Some(share) = path.reordered_share.filter(|share| *share >= MIN_REORDERED) {
        all.push(Claim {
            title: say!(lang, "ticket.reordered.title", load = load),
            observed: say!(lang, "ticket.reordered.observed", share = percent(share)),
            ask: say!(lang, "ticket.reordered.ask"),
            sure: say!(lang, "ticket.reordered.sure"),
        });
    }
    all
}

/// How sure the limit of a direction is: its trains in all measurements.
fn trains(series: &MeasurementSeries, d: Direction) -> String {
    let lang = series.lang;
    let all: Vec<&Limiter> = series.measurements().filter_map(|m| m.direction(d).limiter.as_ref()).collect();
    let same = || all.iter().filter(|l| l.kind == LimiterFound::Policer);
    let datagrams: u64 = all.iter().map(|l| l.datagrams).sum();
    let rates = five_numbers(same().filter_map(|l| l.rate_mbps));
    let range = match rates {
        Some([min, .., max]) if digits(min) != digits(max) => {
            say!(lang, "ticket.trains.range", min = digits(min), max = digits(max))
        }
        _ => String::new(),
    };
    let n = same().count();
    say!(lang, "ticket.trains", datagrams = datagrams, n = n, all = all.len(), range = range)
}

/// How sure a delay is: the number of probes.
fn echoes(m: &Measurement, d: Direction) -> String {
    let loaded = [d.name(), d.several()].into_iter().filter_map(|name| m.test(name)?.loaded.as_ref());
    let (probes, idle) = (loaded.map(|l| l.sent).sum::<u64>(), m.idle.as_ref().map_or(0, |idle| idle.sent));
    say!(m.lang, "ticket.echoes", probes = probes, idle = idle)
}

/// The tests in a table: what was sent, for how long, and what arrived.
fn table(m: &Measurement) -> Table<'static> {
    let lang = m.lang;
    let row = |t: &super::model::StreamTest| {
        let load = t.direction.load(lang);
        vec![
            match t.connections {
                1 => say!(lang, "ticket.row.one", load = load),
                n => say!(lang, "ticket.row", load = load, n = n),
            },
            if t.control.is_empty() { "-".into() } else { t.control.clone() },
            format!("{:.1}", t.seconds),
            format!("{:.1}", t.bytes as f64 / 1e6),
            digits(t.goodput_mbps),
            format!("{:.2}", 100.0 * t.retransmitted_share),
            t.loaded.as_ref().map_or("-".into(), |l| digits(l.rtt_p50_ms)),
        ]
    };
    let rows: Vec<Vec<String>> = m.tests.iter().map(row).collect();
    let heads = [
        ("measure.head.test", None),
        ("measure.head.control", None),
        ("measure.head.seconds", Some("s")),
        ("measure.head.arrived", Some("MB")),
        ("measure.head.goodput", Some("Mbit/s")),
        ("measure.head.resent", Some("%")),
        ("measure.head.rtt", Some("ms")),
    ];
    Table::worded(lang, &heads, &rows)
}

fn method(series: &MeasurementSeries, m: &Measurement) -> String {
    let lang = m.lang;
    let idle = m.idle.as_ref().map_or(String::new(), |idle| {
        let (median, min) = (digits(idle.rtt_p50_ms), digits(idle.rtt_min_ms));
        say!(lang, "ticket.method.idle", median = median, min = min, n = idle.sent)
    });
    let several = series.measurements().count() > 1;
    let which = if several { word(lang, "ticket.method.which") } else { "" };
    let seconds = format!("{:.0}", m.seconds);
    say!(lang, "ticket.method.text", which = which, idle = idle, seconds = seconds, version = m.longfat)
}

/// How the carrier can repeat the measurement, with longfat and with iperf3.
fn repeat(series: &MeasurementSeries, m: &Measurement) -> String {
    let lang = series.lang;
    let port = m.server.parse::<SocketAddr>().map_or(4717, |at| at.port());
    let line = |end: &str, command: &str| format!("    {}  {command}\n", word(lang, end));
    let (far, near) = ("ticket.far", "ticket.near");
    let mut out = line(far, &format!("longfat serve --listen '[::]:{port}'"));
    out += &line(near, &format!("sudo longfat measure FAR-END:{port} --repeat 5"));
    out += "\n";
    out += &wrap(word(lang, "ticket.iperf3"), WIDTH, "");
    out += "\n";
    out += &line(far, "iperf3 -s");
    out += &line(near, "iperf3 -c FAR-END -t 10");
    for d in Direction::BOTH {
        if let Some(Limiter { kind: LimiterFound::Policer, rate_mbps: Some(rate), .. }) = series.limiter(d) {
            let reverse = if d == Direction::Down { " -R" } else { "" };
            let rate = (ABOVE * rate).round();
            out += &line(near, &format!("iperf3 -c FAR-END -u -l 1200 -t 10 -b {rate:.0}M{reverse}"));
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
fn shown(address: &str, addresses: bool, lang: Lang) -> String {
    let ip = address.parse::<SocketAddr>().map(|at| at.ip()).or_else(|_| address.parse::<IpAddr>());
    match ip {
        Ok(ip) if !addresses && is_private(ip) => say!(lang, "ticket.private"),
        Ok(ip) => ip.to_string(),
        Err(_) if !addresses => say!(lang, "ticket.hidden"),
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
            assert_eq!(shown(private, false, Lang::En), "a private address", "{private}");
        }
        for public in ["198.51.100.7", "100.128.0.1", "2001:db8::1"] {
            assert_eq!(shown(public, false, Lang::En), public);
        }
        assert_eq!(shown("[fd00::1]:4717", true, Lang::En), "fd00::1");
    }
}
