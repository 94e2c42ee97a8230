use super::*;
use crate::stats::SideGauges;

fn view() -> StatusView {
    let down = DirectionEvidence {
        active_us: 10_000_000,
        blocked_us: 9_000_000,
        busy_us: 10_000_000,
        rwnd_limited_us: 8_000_000,
        sent_bytes: 5_000_000,
        resent_bytes: 50_000,
        ..DirectionEvidence::default()
    };
    let path = PathStats {
        connections: 3,
        sides: [SideGauges { rtt_us: Some(200_000), ..SideGauges::default() }, SideGauges::default()],
        total: [down, DirectionEvidence::default()],
        recent: [down, DirectionEvidence::default()],
    };
    StatusView {
        uptime_s: 12.5,
        counters: (0..COUNTERS.len() as u64).collect(),
        servers: vec![ServerView {
            upstream: "d\"c<b>".into(),
            address: "10.0.0.1:443".into(),
            up: false,
            connections: 7,
        }],
        paths: vec![("198.51.100.0/24".into(), "dc".into(), path)],
        links: vec![PairLinkView {
            peer: "de<p>ot".into(),
            rtt_s: Some(0.14),
            contract_rate: Some(2.5e6),
            contract_bucket: Some(9000.0),
            ..PairLinkView::default()
        }],
        resident_bytes: 5_000_000,
    }
}

/// Each line is a comment or `name{labels} number`; HELP and TYPE precede each name once.
#[test]
fn metrics_follow_the_prometheus_text_format() {
    let text = metrics_text(&view());
    let mut typed = String::new();
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            typed = rest.split(' ').next().unwrap_or_default().into();
        }
        if line.starts_with('#') {
            continue;
        }
        let (name, value) = line.rsplit_once(' ').expect("a value");
        assert!(value.parse::<f64>().is_ok(), "{line}");
        assert_eq!(name.split('{').next(), Some(typed.as_str()), "{line}");
    }
    assert!(text.contains("longfat_proxy_server_up{upstream=\"d\\\"c<b>\",server=\"10.0.0.1:443\"} 0"));
    let rtt = "path_rtt_seconds{client=\"198.51.100.0/24\",upstream=\"dc\",side=\"client\"} 0.2";
    assert!(text.contains(rtt), "{text}");
    assert!(!text.contains("path_rtt_seconds{client=\"198.51.100.0/24\",upstream=\"dc\",side=\"server\"}"));
    assert!(text.contains("longfat_pair_link_contract_rate_bytes_per_second{peer=\"de<p>ot\"} 2500000\n"));
    assert!(!text.contains("longfat_pair_link_cwnd_bytes{"), "not known");
    assert!(text.contains("direction=\"down\",side=\"client\",cause=\"receive-window\"} 1"));
}

#[test]
fn tables_and_json_agree() {
    let all = tables(&view());
    assert!(all.iter().all(|t| t.rows.iter().all(|row| row.len() == t.columns.len())), "{all:?}");
    let [paths, servers, pair, counters] = &all[..] else { panic!("{all:?}") };
    assert_eq!(paths.rows[0][3..5], ["client", "200.0"]);
    assert!(paths.rows[0][9].contains("down: the client's side (receive-window)"));
    assert_eq!(paths.rows[1][..4], ["", "", "", "server"]);
    assert_eq!((servers.rows[0][0].as_str(), servers.rows[0][2].as_str()), ("d\"c<b>", "DOWN"));
    let json: Value = serde_json::from_str(&json_text(&view())).expect("JSON");
    assert_eq!(json["paths"][0]["slow"][0]["cause"], "receive-window");
    assert_eq!(json["paths"][0]["client_side"]["rtt_ms"], 200.0);
    assert_eq!(json["servers"][0]["up"], false);
    assert_eq!(json["counters"]["accepted"], 0);
    assert_eq!(counters.rows.len(), COUNTERS.len());
    assert_eq!((pair.rows[0][0].as_str(), pair.rows[0][7].as_str()), ("de<p>ot", "20.00 Mbit/s, 9.0 kB"));
    assert_eq!((&json["links"][0]["rtt_ms"], &json["links"][0]["cwnd_bytes"]), (&140.0.into(), &Value::Null));
}
