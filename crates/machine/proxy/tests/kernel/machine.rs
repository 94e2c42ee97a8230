//! Health checks of servers, and longfat's eBPF controls for each side.

use crate::common::*;
use proxy::{
    Balance, HostPort, ListenAt, ListenerConfig, OneOrMore, Proxy, ProxyConfig, ProxyCounter, UpstreamConfig,
};
use std::collections::BTreeMap;
use std::net::{SocketAddr, TcpListener};
use std::process::Command;
use std::sync::{Arc, Mutex};
use units::Span;

/// Events in a proxy's log, with the server that they name.
type Events = Arc<Mutex<Vec<(String, String)>>>;

/// Starts a proxy. Returns it and its log.
fn start_with_log(config: &ProxyConfig) -> Result<(Proxy, Events), proxy::ProxyError> {
    let log = Arc::new(Mutex::new(Vec::new()));
    let sink = log.clone();
    let text =
        |value: Option<&serde_json::Value>| value.and_then(|v| v.as_str()).unwrap_or_default().to_string();
    let take = move |entry: serde_json::Map<String, serde_json::Value>| {
        sink.lock().unwrap().push((text(entry.get("event")), text(entry.get("server"))));
    };
    Ok((Proxy::start(config, BTreeMap::new(), Box::new(take))?, log))
}

/// A check finds a server that is down before any client connects to it; the server is logged and skipped,
/// and used again once a check finds it up.
#[test]
fn checks_find_a_server_down_and_up_before_clients_do() {
    let first = TestServer::echo();
    let (at, second) = (first.address, TestServer::echo());
    let mut upstream = UpstreamConfig::of(HostPort::Address(at));
    upstream.servers = OneOrMore([at, second.address].map(HostPort::Address).into());
    (upstream.balance, upstream.check_every) = (Balance::FirstUp, Span::from_millis(20));
    // During the long suspension only checks can bring it back.
    upstream.rest = Span::from_secs(60);
    let listen = ListenAt::Address("127.0.0.1:0".parse().unwrap());
    let (proxy, log) =
        start_with_log(&ProxyConfig::of(ListenerConfig::of(listen, "main"), upstream)).unwrap();
    let seen = |event: &str, n: usize| {
        let want = (event.to_string(), at.to_string());
        log.lock().unwrap().iter().filter(|entry| **entry == want).count() >= n
    };
    exchange(&mut connect(proxy.addresses()[0]), b"x").unwrap();
    drop(first);
    until("the check finds it down", || seen("server-down", 1));
    for _ in 0..20 {
        exchange(&mut connect(proxy.addresses()[0]), b"y").unwrap();
    }
    assert_eq!(
        counter_values(&proxy, &[ProxyCounter::ConnectFailed, ProxyCounter::Retried]),
        [0, 0],
        "no client met it"
    );
    let _back = TestServer::at(at, |_| {});
    until("the check finds it up", || seen("server-up", 1));
}

/// Checks continue without clients, and cost the server only a connection that ends.
#[test]
fn checks_connect_and_send_nothing() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut settings = config(listener.local_addr().unwrap());
    settings.upstreams.get_mut("main").unwrap().check_every = Span::from_millis(20);
    let _proxy = start(&settings);
    for _ in 0..3 {
        let (mut stream, _) = listener.accept().unwrap();
        stream.set_read_timeout(Some(WAIT_TIMEOUT)).unwrap();
        let read = std::io::Read::read(&mut stream, &mut [0; 10]);
        assert!(matches!(read, Ok(0)) || read.is_err(), "{read:?}");
    }
}

/// Returns the congestion control of an established socket, as `ss` shows it.
fn control_of(filter: &str, port: u16) -> Option<String> {
    let done =
        Command::new("ss").args(["-Htin", "state", "established", filter, &format!("= :{port}")]).output();
    let output = String::from_utf8(done.ok()?.stdout).ok()?;
    // The first word after the addresses that is not a number.
    let line = output.lines().find(|line| line.contains("cwnd:"))?;
    let words = line.split_whitespace().skip_while(|word| word.contains(':') && !word.contains("cwnd"));
    words.map(String::from).next()
}

/// Each side has its own eBPF congestion control, loaded for this process and unloaded with it.
#[test]
fn each_side_has_its_own_ebpf_control() {
    let server = TestServer::echo();
    let mut settings = config(server.address);
    settings.listeners.get_mut("main").unwrap().client.cc = Some("westwood".into());
    settings.upstreams.get_mut("main").unwrap().server.cc = Some("bbr-hsr".into());
    let proxy = match start_with_log(&settings) {
        Ok((proxy, _)) => proxy,
        Err(e) if e.to_string().contains("CAP_BPF") || e.to_string().contains("no eBPF programs") => {
            return eprintln!("SKIPPED, this needs root and built-in programs: {e}");
        }
        Err(e) => panic!("{e}"),
    };
    let address: SocketAddr = proxy.addresses()[0];
    let mut stream = connect(address);
    exchange(&mut stream, b"x").unwrap();
    let towards_client = control_of("sport", address.port());
    let towards_server = control_of("dport", server.address.port());
    let (Some(client), Some(upstream)) = (towards_client, towards_server) else {
        return eprintln!("SKIPPED, this needs ss of iproute2");
    };
    let plain = ["reno", "cubic", "bbr"];
    assert!(!plain.contains(&client.as_str()) && !plain.contains(&upstream.as_str()), "{client}, {upstream}");
    assert_ne!(client, upstream);
    let available =
        || std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap();
    assert!(available().contains(&client) && available().contains(&upstream), "{}", available());
    drop((stream, proxy));
    until("the programs leave the kernel", || {
        let there = available();
        !there.contains(&client) && !there.contains(&upstream)
    });
}
