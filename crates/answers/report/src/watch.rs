//! Live connections as text: the line that `longfat watch` prints each second, and the rows of its view.
//!
//! Names of processes and of congestion controls come from outside, so they are escaped here.

use crate::number::{count, millis, percent, short};
use crate::strings::{Lang, fill, text};
use result::watch::{Activity, SenderLimit, WatchReport, WatchedConnection, main_limit};
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// Least rate of a connection that the line of a second mentions, Mbit/s.
const MIN_SHOWN_MBPS: f64 = 0.0005;

/// Kind of the view's rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WatchGroups {
    /// Connections.
    #[default]
    None,
    /// Processes, by name.
    Process,
    /// Addresses of the other ends.
    Peer,
}

/// The order of the view's rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WatchOrder {
    /// Bytes of the last second, most first.
    #[default]
    Rate,
    /// RTT, longest first.
    Rtt,
    /// Retransmitted share of the last minute, highest first.
    Retransmitted,
    /// Congestion window, smallest first.
    Cwnd,
    /// Process name.
    Process,
    /// Address of the other end.
    Peer,
}

impl WatchOrder {
    /// All orders.
    pub const ALL: [WatchOrder; 6] = [
        WatchOrder::Rate,
        WatchOrder::Rtt,
        WatchOrder::Retransmitted,
        WatchOrder::Cwnd,
        WatchOrder::Process,
        WatchOrder::Peer,
    ];

    /// The name that the view shows.
    pub fn name(self, lang: Lang) -> &'static str {
        let key = match self {
            WatchOrder::Rate => "watch.order.rate",
            WatchOrder::Rtt => "watch.order.rtt",
            WatchOrder::Retransmitted => "watch.order.retransmitted",
            WatchOrder::Cwnd => "watch.order.cwnd",
            WatchOrder::Process => "watch.order.process",
            WatchOrder::Peer => "watch.order.peer",
        };
        text(key, lang)
    }
}

/// A row of the view: a connection, or several that have something in common; of those, the RTT is that of
/// the one that moved the most bytes, and the congestion window is left out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WatchRow {
    /// Both ends, or the number of connections.
    pub connection: String,
    /// The other end, or the number of connections.
    pub peer: String,
    /// Name of the process; `–` if unknown.
    pub process: String,
    /// Process id; empty if unknown or several.
    pub pid: String,
    /// Rate sent in the last second, Mbit/s.
    pub sent: String,
    /// Rate received in the last second, Mbit/s.
    pub received: String,
    /// Rate of the direction with more bytes, Mbit/s, with an arrow that points up for sent bytes.
    pub rate: String,
    /// RTT and least RTT, ms, separated by a slash.
    pub rtt: String,
    /// Retransmitted share of the last minute, percent.
    pub retransmitted: String,
    /// Congestion window, segments.
    pub cwnd: String,
    /// Congestion control.
    pub control: String,
    /// Limit in the last second and in the last minute, with its share of the time.
    pub limits: [Option<(SenderLimit, f64)>; 2],
}

/// Returns a limit in words; `brief` ones are at most nine columns wide.
pub fn limit_words(limit: SenderLimit, brief: bool, lang: Lang) -> &'static str {
    let key = format!("watch.limit.{}", limit.name());
    if brief { text(&format!("{key}.brief"), lang) } else { text(&key, lang) }
}

/// Returns a limit with its share of the time, where that says something: `receive window 97 %`, `network`.
pub fn limit_text(limit: Option<(SenderLimit, f64)>, brief: bool, lang: Lang) -> String {
    let Some((limit, share)) = limit else { return "–".into() };
    let words = limit_words(limit, brief, lang);
    let whole = matches!(limit, SenderLimit::OtherEnd | SenderLimit::Idle | SenderLimit::Unknown);
    match (whole || share >= 0.995, brief) {
        (true, _) => words.into(),
        (false, true) => format!("{words} {:.0}", share * 100.0),
        (false, false) => format!("{words} {:.0} %", share * 100.0),
    }
}

/// Formats a rate, Mbit/s, with three significant digits.
pub fn rate(mbps: f64) -> String {
    short(mbps)
}

/// Returns the line of one second: the total, and the busiest connection with what limits it. Without a line
/// end.
pub fn line(report: &WatchReport, lang: Lang) -> String {
    let total = match report.count {
        0 => text("watch.line.none", lang).to_string(),
        n => {
            let [sent, received] = [report.sent_mbps, report.received_mbps].map(short);
            let values = [("connections", &number_of(n, lang)), ("sent", &sent), ("received", &received)];
            fill("watch.line.total", lang, &values.map(|(name, value)| (name, value.as_str())))
        }
    };
    let mut line = format!("{:>5.0} s  {total}", report.elapsed_s);
    if let Some(c) = report.connections.first()
        && c.last_second.sent_mbps.max(c.last_second.received_mbps) >= MIN_SHOWN_MBPS
    {
        line += &busiest(c, lang);
    }
    if report.missed_packets > 0 {
        line += &fill("watch.line.missed", lang, &[("n", &report.missed_packets.to_string())]);
    }
    line
}

/// `1 connection`, `2 connections`.
pub fn number_of(connections: u64, lang: Lang) -> String {
    match connections {
        1 => text("watch.connections.one", lang).into(),
        n => fill("watch.connections", lang, &[("n", &n.to_string())]),
    }
}

/// Returns the part of a line about a connection.
fn busiest(c: &WatchedConnection, lang: Lang) -> String {
    let unknown = || text("watch.line.process", lang).into();
    let process = c.process.as_ref().map_or_else(unknown, |p| print::escape::value(&p.name));
    let a = &c.last_second;
    let receives = a.received_bytes > a.sent_bytes;
    let (arrow, mbps) = if receives { ("<-", a.received_mbps) } else { ("->", a.sent_mbps) };
    let mut parts = vec![format!("{} Mbit/s", short(mbps))];
    if let Some(rtt) = c.rtt_of_busier_direction().map(millis) {
        parts.push(match c.min_rtt_ms.filter(|_| !receives) {
            Some(min) => fill("watch.line.rtt.min", lang, &[("ms", &rtt), ("min", &millis(min))]),
            None => fill("watch.line.rtt", lang, &[("ms", &rtt)]),
        });
    }
    if let Some(share) = a.retransmitted_share().filter(|_| !receives) {
        parts.push(fill("watch.line.retransmitted", lang, &[("share", &percent(share))]));
    }
    if let Some(cwnd) = c.cwnd_packets.filter(|_| !receives) {
        parts.push(format!("cwnd {cwnd}"));
    }
    parts.push(match main_limit(&a.seconds_of_limits()) {
        Some((SenderLimit::OtherEnd, _)) => text("watch.line.other-end", lang).into(),
        limit => fill("watch.line.limit", lang, &[("limit", &limit_text(limit, false, lang))]),
    });
    let (remote, parts) = (c.remote.to_string(), parts.join(text("watch.line.comma", lang)));
    let values = [("process", &process[..]), ("arrow", arrow), ("remote", &remote), ("parts", &parts)];
    fill("watch.line.busiest", lang, &values)
}

/// Returns the rows of the view.
pub fn rows(report: &WatchReport, groups: WatchGroups, order: WatchOrder, lang: Lang) -> Vec<WatchRow> {
    let mut grouped: BTreeMap<String, Vec<&WatchedConnection>> = BTreeMap::new();
    let mut all: Vec<Summed> = match groups {
        WatchGroups::None => report.connections.iter().map(|c| Summed::of(&[c])).collect(),
        WatchGroups::Process | WatchGroups::Peer => {
            for c in &report.connections {
                let key = match groups {
                    WatchGroups::Process => process_name(c),
                    _ => c.remote.ip().to_string(),
                };
                grouped.entry(key).or_default().push(c);
            }
            grouped.values().map(|some| Summed::of(some)).collect()
        }
    };
    all.sort_by(|a, b| a.compare(b, order));
    all.iter().map(|summed| summed.row(groups, lang)).collect()
}

/// Returns the process's name, escaped.
fn process_name(c: &WatchedConnection) -> String {
    c.process.as_ref().map_or("–".into(), |p| print::escape::value(&p.name).into_owned())
}

/// Connections added up.
struct Summed<'a> {
    all: Vec<&'a WatchedConnection>,
    sent_mbps: f64,
    received_mbps: f64,
    rtt_ms: Option<f64>,
    min_rtt_ms: Option<f64>,
    retransmitted: Option<f64>,
    cwnd: Option<u32>,
    limits: [Option<(SenderLimit, f64)>; 2],
}

impl<'a> Summed<'a> {
    fn of(all: &[&'a WatchedConnection]) -> Summed<'a> {
        let sum = |value: fn(&WatchedConnection) -> f64| all.iter().map(|c| value(c)).sum();
        let limit = |period: fn(&WatchedConnection) -> &Activity| {
            let mut seconds = [0.0; SenderLimit::ALL.len()];
            for c in all {
                let of_this = period(c).seconds_of_limits();
                seconds.iter_mut().zip(of_this).for_each(|(sum, s)| *sum += s);
            }
            main_limit(&seconds)
        };
        // Each is of the connection with the most bytes that has one: the first.
        let sent: Option<u64> = all.iter().map(|c| c.last_minute.sent_packets).sum();
        let resent: u64 = all.iter().map(|c| c.last_minute.retransmitted_packets).sum();
        Summed {
            all: all.to_vec(),
            sent_mbps: sum(|c| c.last_second.sent_mbps),
            received_mbps: sum(|c| c.last_second.received_mbps),
            rtt_ms: all.iter().find_map(|c| c.rtt_of_busier_direction()),
            min_rtt_ms: all.iter().find_map(|c| c.min_rtt_ms),
            retransmitted: sent.filter(|sent| *sent > 0).map(|sent| (resent as f64 / sent as f64).min(1.0)),
            cwnd: if let [one] = all { one.cwnd_packets } else { None },
            limits: [limit(|c| &c.last_second), limit(|c| &c.last_minute)],
        }
    }

    fn compare(&self, other: &Summed<'_>, order: WatchOrder) -> Ordering {
        // Unknown values come last.
        let falling = |a: Option<f64>, b: Option<f64>| b.unwrap_or(-1.0).total_cmp(&a.unwrap_or(-1.0));
        let rate = |s: &Summed<'_>| Some(s.sent_mbps + s.received_mbps);
        let (first, others) = (self.all.first(), other.all.first());
        let peer = |c: Option<&&WatchedConnection>| c.map(|c| (c.remote, c.local));
        let by_order = match order {
            WatchOrder::Rate => Ordering::Equal,
            WatchOrder::Rtt => falling(self.rtt_ms, other.rtt_ms),
            WatchOrder::Retransmitted => falling(self.retransmitted, other.retransmitted),
            WatchOrder::Cwnd => self.cwnd.unwrap_or(u32::MAX).cmp(&other.cwnd.unwrap_or(u32::MAX)),
            WatchOrder::Process => {
                let name = |c: Option<&&WatchedConnection>| c.map(|c| process_name(c));
                name(first).cmp(&name(others))
            }
            WatchOrder::Peer => peer(first).cmp(&peer(others)),
        };
        by_order.then(falling(rate(self), rate(other))).then_with(|| peer(first).cmp(&peer(others)))
    }

    fn row(&self, groups: WatchGroups, lang: Lang) -> WatchRow {
        let Some(first) = self.all.first() else { return WatchRow::default() };
        let n = self.all.len();
        let number = number_of(n as u64, lang);
        let [connection, peer] = match groups {
            WatchGroups::None => [
                format!(
                    "{} -> {}{}",
                    first.local,
                    first.remote,
                    if first.ended { text("watch.ended", lang) } else { "" }
                ),
                first.remote.to_string(),
            ],
            WatchGroups::Process => [number.clone(), number],
            WatchGroups::Peer => {
                let address = first.remote.ip();
                [format!("{address} ({number})"), format!("{address} ({n})")]
            }
        };
        let same = |value: fn(&WatchedConnection) -> Option<String>| {
            let mut values = self.all.iter().map(|c| value(c));
            let first = values.next().flatten();
            first.filter(|first| values.all(|other| other.as_ref() == Some(first)))
        };
        let several = if n > 1 { text("watch.several", lang) } else { "–" };
        let receives = self.received_mbps > self.sent_mbps;
        let rtt = [self.rtt_ms, self.min_rtt_ms].map(|ms| ms.map_or("–".into(), millis));
        WatchRow {
            connection,
            peer,
            process: same(|c| Some(process_name(c))).unwrap_or_else(|| several.into()),
            pid: same(|c| c.process.as_ref().map(|p| p.pid.to_string())).unwrap_or_default(),
            sent: short(self.sent_mbps),
            received: short(self.received_mbps),
            rate: if receives {
                format!("{}↓", short(self.received_mbps))
            } else {
                format!("{}↑", short(self.sent_mbps))
            },
            rtt: rtt.join("/"),
            retransmitted: self.retransmitted.map_or("–".into(), percent),
            cwnd: self.cwnd.map_or("–".into(), |cwnd| count(cwnd.into())),
            control: same(|c| c.control.as_ref().map(|name| print::escape::value(name).into_owned()))
                .unwrap_or_else(|| several.into()),
            limits: self.limits,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use result::diagnosis::SenderTime;
    use result::watch::SocketProcess;
    use std::net::SocketAddr;

    fn connection(port: u16, name: &str, sent_mbps: f64, limit: SenderLimit) -> WatchedConnection {
        let bytes = (sent_mbps * 125_000.0) as u64;
        let sender_s = match limit {
            SenderLimit::ReceiveWindow => {
                SenderTime { receive_window: 0.97, network: 0.03, ..SenderTime::default() }
            }
            _ => SenderTime { network: 1.0, ..SenderTime::default() },
        };
        let (sent_bytes, received_bytes) =
            if limit == SenderLimit::OtherEnd { (0, bytes) } else { (bytes, 0) };
        let [sent_mbps, received_mbps] = [sent_bytes, received_bytes].map(|b| b as f64 * 8e-6);
        let last_second = Activity {
            seconds: 1.0,
            sent_bytes,
            received_bytes,
            sent_mbps,
            received_mbps,
            sent_packets: Some(200),
            retransmitted_packets: u64::from(port % 10),
            dropped_packets: None,
            sender_s,
            limit,
        };
        WatchedConnection {
            local: SocketAddr::from(([10, 0, 0, 1], port)),
            remote: SocketAddr::from(([10, 0, 0, 2], 5201)),
            process: Some(SocketProcess { pid: 4711, name: name.into() }),
            control: Some("cubic".into()),
            cwnd_packets: Some(56),
            rtt_ms: Some(40.4),
            min_rtt_ms: Some(38.2),
            receiver_rtt_ms: Some(77.0),
            ended: false,
            last_second,
            last_minute: last_second,
        }
    }

    fn report(connections: Vec<WatchedConnection>) -> WatchReport {
        let sum = |rate: fn(&Activity) -> f64| connections.iter().map(|c| rate(&c.last_second)).sum();
        WatchReport {
            elapsed_s: 12.1,
            seconds: 1.0,
            count: connections.len() as u64,
            sent_mbps: sum(|a| a.sent_mbps),
            received_mbps: sum(|a| a.received_mbps),
            connections,
            ..WatchReport::default()
        }
    }

    #[test]
    fn a_line_names_the_busiest_connection_and_its_limit() {
        let c = connection(40_001, "py\x1b[2Jthon", 16.1, SenderLimit::ReceiveWindow);
        assert_eq!(
            line(&report(vec![c]), Lang::En),
            "   12 s  1 connection: sent 16.1, received 0 Mbit/s | py\\u{1b}[2Jthon -> 10.0.0.2:5201: 16.1 Mbit/s, \
             RTT 40 ms (min 38), retransmitted 0.50 %, cwnd 56, limit: receive window 97 %"
        );
        let c = connection(40_001, "curl", 5.0, SenderLimit::OtherEnd);
        let got = line(&WatchReport { missed_packets: 7, ..report(vec![c]) }, Lang::En);
        assert!(
            got.ends_with(
                " | curl <- 10.0.0.2:5201: 5.00 Mbit/s, RTT 77 ms, the sender at the other end decides; \
                 7 packets were not read in time"
            ),
            "{got}"
        );
        assert_eq!(line(&report(vec![]), Lang::En), "   12 s  no connections");
        let idle = connection(40_001, "sshd", 0.0, SenderLimit::Idle);
        assert_eq!(line(&report(vec![idle]), Lang::En), "   12 s  1 connection: sent 0, received 0 Mbit/s");
    }

    #[test]
    fn rows_are_sorted_and_grouped() {
        let all = report(vec![
            connection(40_003, "b", 4.0, SenderLimit::Network),
            connection(40_002, "a", 1.0, SenderLimit::Network),
            connection(40_001, "a", 2.0, SenderLimit::ReceiveWindow),
        ]);
        let english = |groups, order| rows(&all, groups, order, Lang::En);
        let sent = |groups, order| english(groups, order).into_iter().map(|row| row.sent).collect::<Vec<_>>();
        assert_eq!(sent(WatchGroups::None, WatchOrder::Rate), ["4.00", "2.00", "1.00"]);
        assert_eq!(sent(WatchGroups::None, WatchOrder::Retransmitted), ["4.00", "1.00", "2.00"]);
        assert_eq!(sent(WatchGroups::None, WatchOrder::Process), ["2.00", "1.00", "4.00"]);
        assert_eq!(sent(WatchGroups::None, WatchOrder::Peer), ["2.00", "1.00", "4.00"]);
        assert_eq!(sent(WatchGroups::Process, WatchOrder::Process), ["3.00", "4.00"]);
        assert_eq!(sent(WatchGroups::Peer, WatchOrder::Rtt), ["7.00"]);
        let row = &english(WatchGroups::Process, WatchOrder::Process)[0];
        assert_eq!((row.process.as_str(), row.connection.as_str()), ("a", "2 connections"));
        assert_eq!(
            (row.rtt.as_str(), row.retransmitted.as_str(), row.rate.as_str()),
            ("40/38", "0.75", "3.00↑")
        );
        assert_eq!(limit_text(row.limits[0], false, Lang::En), "network 52 %");
        let row = &english(WatchGroups::Peer, WatchOrder::Rate)[0];
        assert_eq!((row.process.as_str(), row.peer.as_str()), ("several", "10.0.0.2 (3)"));
        let row = &english(WatchGroups::None, WatchOrder::Cwnd)[0];
        assert_eq!(row.connection, "10.0.0.1:40003 -> 10.0.0.2:5201");
        assert_eq!(
            [limit_text(row.limits[0], true, Lang::En), limit_text(None, true, Lang::En)],
            ["network", "–"]
        );
    }

    #[test]
    fn brief_words_fit_their_column_and_each_limit_has_its_own() {
        for lang in [Lang::En, Lang::Zh] {
            let brief = SenderLimit::ALL.map(|limit| limit_text(Some((limit, 0.944)), true, lang));
            assert!(
                brief.iter().all(|text| unicode_width::UnicodeWidthStr::width(text.as_str()) <= 10),
                "{brief:?}"
            );
            let mut words = SenderLimit::ALL.map(|limit| limit_words(limit, false, lang)).to_vec();
            words.sort_unstable();
            words.dedup();
            assert_eq!(words.len(), SenderLimit::ALL.len());
        }
    }

    #[test]
    fn a_line_in_chinese_has_no_english_words_but_names_and_units() {
        let c = connection(40_001, "rsync", 16.1, SenderLimit::ReceiveWindow);
        let got = line(&WatchReport { missed_packets: 7, ..report(vec![c]) }, Lang::Zh);
        assert_eq!(
            got,
            "   12 s  1 个连接：发送 16.1，接收 0 Mbit/s | rsync -> 10.0.0.2:5201：16.1 Mbit/s，RTT 40 ms（最小 38），\
             重传 0.50 %，cwnd 56，受限于接收窗口 97 %；有 7 个数据包未能及时读取"
        );
        let c = connection(40_001, "curl", 5.0, SenderLimit::OtherEnd);
        assert!(line(&report(vec![c]), Lang::Zh).ends_with("RTT 77 ms，速率由对端的发送方决定"));
    }
}
