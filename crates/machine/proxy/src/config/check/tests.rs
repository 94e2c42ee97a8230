//! Tests of valid configurations, and of each error with its position.

use super::*;
use crate::balance::Balance;
use crate::header::ProxyVersion;
use std::net::SocketAddr;
use units::Bytes;

const WHOLE: &str = r#"
workers = 2
user = "nobody"
max_connections = 10000
status = "127.0.0.1:9180"
drain_timeout = "1min"
log_connections = true

[listeners.office]
listen = ["0.0.0.0:443", "[::1]:443", "systemd:office"]
upstream = "dc"
allow = ["10.0.0.0/8", "2001:db8::/32"]
max_connections_per_client = 100
proxy_protocol_from = ["10.0.0.1"]
idle_timeout = "10min"
client = { cc = "bbr", pace = "20Mbit/s", send_buffer = "4MB", notsent_lowat = "128KiB", keep_alive = "1min" }
[listeners.office.sni]
"www.example.com" = "web"
"*.example.com" = "dc"

[listeners.through]
listen = "0.0.0.0:1080"
transparent = ["203.0.113.0/24"]
keep_client_address = true
server.cc = "cubic"

[upstreams.dc]
servers = ["10.9.0.1:443", "dc.example.com:443"]
balance = "least-connections"
check_every = "5s"
proxy_protocol = "v2"
server = { cc = "bbr", receive_buffer = "16MB" }

[upstreams.web]
servers = "10.9.0.2:80"
"#;

#[test]
fn a_complete_file_is_parsed() {
    let c = ProxyConfig::parse("proxy.toml", WHOLE).unwrap_or_else(|e| panic!("{}", e.render()));
    let office = &c.listeners["office"];
    assert_eq!(office.listen.0.len(), 3);
    assert_eq!(office.client.pace, Some(Rate::from_bps(20_000_000)));
    assert_eq!(office.client.notsent_lowat, Some(Bytes::new(131_072)));
    assert_eq!(c.upstreams["dc"].balance, Balance::LeastConnections);
    assert_eq!(c.upstreams["dc"].proxy_protocol, Some(ProxyVersion::V2));
    assert_eq!(c.listeners["through"].server.cc.as_deref(), Some("cubic"));
    assert_eq!(c.names().collect::<Vec<_>>(), [("dc.example.com", 443)]);
    assert_eq!(c.status, Some("127.0.0.1:9180".parse::<SocketAddr>().expect("an address")));
}

/// Each case: the text in `WHOLE`, its replacement, and the expected error.
#[test]
fn every_error_names_its_line_its_key_and_the_fix() {
    let cases = [
        ("workers = 2", "workers = 0", "2:11: workers: 0 is out of range (allowed: 1 to 1024)"),
        ("workers = 2", "worker = 2", "2:1: worker: unknown key `worker` (did you mean `workers`?"),
        (
            "status = \"127.0.0.1:9180\"",
            "status = \"0.0.0.0:9180\"",
            "5:10: status: metrics and status page use plain",
        ),
        (
            "upstream = \"dc\"",
            "upstream = \"dd\"",
            "11:12: listeners.office.upstream: there is no upstream `dd`",
        ),
        (
            "allow = [\"10.0.0.0/8\"",
            "allow = [\"10.0.0.1/8\"",
            "12:10: listeners.office.allow.0: `10.0.0.1/8` has bits",
        ),
        ("pace = \"20Mbit/s\"", "pace = \"20M\"", "16:31: listeners.office.client.pace: unknown unit `M`"),
        (
            "pace = \"20Mbit/s\"",
            "pace = \"1bit/s\"",
            "16:31: listeners.office.client.pace: 1bit/s is out of range",
        ),
        (
            "send_buffer = \"4MB\"",
            "send_buffer = \"4B\"",
            "listeners.office.client.send_buffer: 4 is out of range",
        ),
        ("\"*.example.com\"", "\"*example.com\"", "19:18: listeners.office.sni."),
        ("idle_timeout = \"10min\"", "idle_timeout = \"0s\"", "listeners.office.idle_timeout: 0"),
        ("listen = \"0.0.0.0:1080\"", "listen = \"0.0.0.0:443\"", "already listens on 0.0.0.0:443"),
        ("transparent = [\"203.0.113.0/24\"]", "upstream = \"web\"", "listeners.through.keep_client_address"),
        ("keep_client_address = true", "upstream = \"web\"", "listeners.through.transparent: a transparent"),
        (
            "\"10.9.0.1:443\"",
            "\"10.9.0.1\"",
            "28:12: upstreams.dc.servers.0: `10.9.0.1` is not a host with a port",
        ),
        (
            "balance = \"least-connections\"",
            "balance = \"random\"",
            "29:11: upstreams.dc.balance: unknown value `random`",
        ),
        ("proxy_protocol = \"v2\"", "proxy_protocol = 2", "31:18: upstreams.dc.proxy_protocol: expected"),
        ("servers = \"10.9.0.2:80\"", "servers = []", "35:11: upstreams.web.servers: at least one server"),
        ("servers = \"10.9.0.2:80\"", "", "the key `servers` is missing"),
    ];
    for (was, is, expected) in cases {
        assert!(WHOLE.contains(was), "{was}");
        let e = ProxyConfig::parse("proxy.toml", &WHOLE.replacen(was, is, 1));
        let text = e.err().map(|e| e.to_string()).unwrap_or_default();
        assert!(text.starts_with("proxy.toml:") && text.contains(expected), "{is}\n{text}\n{expected}");
    }
    let e = ProxyConfig::parse("p", "[listeners]").unwrap_err().to_string();
    assert!(e.contains("at least one listener"), "{e}");
}
