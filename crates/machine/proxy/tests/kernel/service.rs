//! Tests of routes, limits, server failures, reloads, and shutdown.

use crate::common::*;
use proxy::{
    Balance, HostPort, IpNetwork, ListenAt, ListenerConfig, OneOrMore, ProxyConfig, ProxyCounter,
    ProxyVersion, UpstreamConfig, sample_hello,
};
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;
use units::Span;

/// A server that sends its name and then echoes.
fn server_with_name(name: &'static str) -> TestServer {
    TestServer::new(move |mut stream| {
        stream.write_all(name.as_bytes()).unwrap();
        echo(stream);
    })
}

fn name_of(stream: &mut TcpStream, first: &[u8]) -> Option<String> {
    let _ = stream.write_all(first);
    let mut name = [0; 3];
    stream.read_exact(&mut name).ok()?;
    Some(String::from_utf8_lossy(&name).into())
}

#[test]
fn server_names_choose_the_upstream() {
    let (web, all, rest) = (server_with_name("web"), server_with_name("all"), server_with_name("def"));
    let text = format!(
        "[listeners.a]\nlisten = \"127.0.0.1:0\"\nupstream = \"rest\"\nhello_timeout = \"300ms\"\n\
         sni = {{ \"www.example.com\" = \"web\", \"*.example.com\" = \"all\" }}\n\
         [listeners.b]\nlisten = \"127.0.0.1:0\"\nsni = {{ \"www.example.com\" = \"web\" }}\n\
         [upstreams]\nweb.servers = \"{}\"\nall.servers = \"{}\"\nrest.servers = \"{}\"\n",
        web.address, all.address, rest.address
    );
    let proxy = start(&ProxyConfig::parse("test.toml", &text).unwrap());
    let [a, b] = proxy.addresses()[..] else { panic!("expected two listeners") };
    let cases = [
        ("www.example.com", "web"),
        ("mail.example.com", "all"),
        ("a.b.example.com", "all"),
        ("example.com", "def"),
    ];
    for piece in [16_384, 30] {
        for (name, upstream) in cases {
            let hello = sample_hello(Some(name), piece);
            let mut stream = connect(a);
            assert_eq!(name_of(&mut stream, &hello).as_deref(), Some(upstream), "{name}");
            let mut back = vec![0; hello.len()];
            stream.read_exact(&mut back).unwrap();
            assert_eq!(back, hello, "the server gets what the client sent");
        }
    }
    assert_eq!(name_of(&mut connect(a), b"GET / HTTP/1.1\r\n").as_deref(), Some("def"));
    // In two pieces, with a pause between them.
    let (hello, mut stream) = (sample_hello(Some("www.example.com"), 16_384), connect(a));
    stream.write_all(&hello[..20]).unwrap();
    thread::sleep(Duration::from_millis(50));
    assert_eq!(name_of(&mut stream, &hello[20..]).as_deref(), Some("web"));
    drop(stream);
    // A hello that is never complete; a name without a route; a stream that ends inside the hello.
    let mut stream = connect(a);
    stream.write_all(&hello[..20]).unwrap();
    assert_eq!(stream.read(&mut [0]).unwrap_err().kind(), ErrorKind::ConnectionReset);
    assert_eq!(proxy.counted(ProxyCounter::HelloTimeout), 1);
    assert_eq!(name_of(&mut connect(b), &sample_hello(Some("mail.example.com"), 16_384)), None);
    let mut stream = connect(b);
    stream.write_all(&hello[..20]).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    assert!(stream.read(&mut [0]).is_err());
    until("the end", || proxy.connections() == 0);
}

#[test]
fn proxy_headers_are_sent_to_servers_and_accepted_from_trusted_networks_only() {
    let server = TestServer::new(|mut stream| {
        let mut line = Vec::new();
        let mut byte = [0];
        while !line.ends_with(b"\n") && stream.read_exact(&mut byte).is_ok() {
            line.push(byte[0]);
        }
        stream.write_all(&line).unwrap();
        echo(stream);
    });
    let line_of = |mut stream: &TcpStream| {
        let (mut line, mut byte) = (Vec::new(), [0]);
        while !line.ends_with(b"\n") && stream.read_exact(&mut byte).is_ok() {
            line.push(byte[0]);
        }
        String::from_utf8(line).unwrap()
    };
    let mut settings = config(server.address);
    settings.upstreams.get_mut("main").unwrap().proxy_protocol = Some(ProxyVersion::V1);
    let proxy = start(&settings);
    let mut stream = connect(proxy.addresses()[0]);
    let (from, to) = (stream.local_addr().unwrap(), stream.peer_addr().unwrap());
    exchange_after_header(
        &mut stream,
        &format!("PROXY TCP4 127.0.0.1 127.0.0.1 {} {}\r\n", from.port(), to.port()),
        line_of,
    );
    // The header of an earlier proxy is passed on.
    settings.listeners.get_mut("main").unwrap().proxy_protocol_from = vec!["127.0.0.0/8".parse().unwrap()];
    let proxy = start(&settings);
    for version in [ProxyVersion::V1, ProxyVersion::V2] {
        let mut stream = connect(proxy.addresses()[0]);
        let header = version.write("192.0.2.7:1234".parse().unwrap(), "198.51.100.1:443".parse().unwrap());
        stream.write_all(&header[..9]).unwrap();
        thread::sleep(Duration::from_millis(20));
        stream.write_all(&header[9..]).unwrap();
        exchange_after_header(&mut stream, "PROXY TCP4 192.0.2.7 198.51.100.1 1234 443\r\n", line_of);
    }
    let mut stream = connect(proxy.addresses()[0]);
    stream.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    assert!(stream.read(&mut [0]).is_err(), "no header");
    assert_eq!(proxy.counted(ProxyCounter::BadHello), 1);
}

fn exchange_after_header(stream: &mut TcpStream, line: &str, line_of: impl Fn(&TcpStream) -> String) {
    stream.write_all(b"hi").unwrap();
    assert_eq!(line_of(stream), line);
    let mut back = [0; 2];
    stream.read_exact(&mut back).unwrap();
    assert_eq!(&back, b"hi");
}

#[test]
fn client_networks_and_connection_limits_are_enforced() {
    let server = TestServer::echo();
    let mut settings = config(server.address);
    let listener = settings.listeners.get_mut("main").unwrap();
    listener.max_connections_per_client = Some(3);
    let proxy = start(&settings);
    let address = proxy.addresses()[0];
    let mut kept: Vec<TcpStream> = (0..3).map(|_| connect(address)).collect();
    kept.iter_mut().for_each(|s| exchange(s, b"x").unwrap());
    assert!(connect(address).read(&mut [0]).is_err(), "the fourth");
    kept.pop();
    until("a place", || proxy.connections() == 2);
    exchange(&mut connect(address), b"x").unwrap();
    assert_eq!(proxy.counted(ProxyCounter::TooMany), 1);
    drop(kept);
    let mut settings = config(server.address);
    settings.listeners.get_mut("main").unwrap().allow = vec!["10.0.0.0/8".parse::<IpNetwork>().unwrap()];
    let proxy = start(&settings);
    assert!(connect(proxy.addresses()[0]).read(&mut [0]).is_err());
    assert_eq!(proxy.counted(ProxyCounter::NotAllowed), 1);
    // The global limit: further connections wait in the kernel's queue and are served when a slot is free.
    let proxy = start(&ProxyConfig { max_connections: 2, ..config(server.address) });
    let mut first: Vec<TcpStream> = (0..2).map(|_| connect(proxy.addresses()[0])).collect();
    first.iter_mut().for_each(|s| exchange(s, b"x").unwrap());
    let mut third = connect(proxy.addresses()[0]);
    third.write_all(b"x").unwrap();
    third.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    assert_eq!(third.read(&mut [0]).unwrap_err().kind(), ErrorKind::WouldBlock);
    drop(first);
    third.set_read_timeout(Some(WAIT_TIMEOUT)).unwrap();
    third.read_exact(&mut [0]).unwrap();
}

/// Returns a port that refuses connections.
fn refusing_address() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

#[test]
fn a_refusing_server_is_skipped_and_used_again_when_it_is_up() {
    let (good, dead) = (TestServer::echo(), refusing_address());
    let mut upstream = UpstreamConfig::of(HostPort::Address(dead));
    upstream.servers = OneOrMore(vec![HostPort::Address(dead), HostPort::Address(good.address)]);
    (upstream.rest, upstream.balance) = (Span::from_millis(300), Balance::FirstUp);
    let listen = ListenAt::Address("127.0.0.1:0".parse().unwrap());
    let settings = ProxyConfig::of(ListenerConfig::of(listen, "main"), upstream);
    let proxy = start(&settings);
    for _ in 0..10 {
        exchange(&mut connect(proxy.addresses()[0]), b"x").unwrap();
    }
    assert_eq!(proxy.counted(ProxyCounter::ConnectFailed), 3, "then it is suspended");
    let back = TestServer::at(dead, |mut stream| drop(stream.write_all(b"up ")));
    until("the server", || {
        thread::sleep(Duration::from_millis(50));
        name_of(&mut connect(proxy.addresses()[0]), b"   ").as_deref() == Some("up ")
    });
    drop(back);
    assert_eq!(proxy.counted(ProxyCounter::NoServer), 0);
}

/// A server with a full accept queue neither accepts nor refuses.
#[test]
fn a_server_that_times_out_is_skipped() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    // SAFETY: takes no pointers; shortens the queue.
    #[allow(unsafe_code)]
    unsafe {
        libc::listen(std::os::fd::AsRawFd::as_raw_fd(&silent), 0)
    };
    let at = silent.local_addr().unwrap();
    let _full: Vec<_> = (0..4).map(|_| TcpStream::connect_timeout(&at, Duration::from_millis(100))).collect();
    let good = TestServer::echo();
    let mut settings = config(at);
    let upstream = settings.upstreams.get_mut("main").unwrap();
    upstream.servers.0.push(HostPort::Address(good.address));
    (upstream.connect_timeout, upstream.balance) = (Span::from_millis(200), Balance::FirstUp);
    let proxy = start(&settings);
    exchange(&mut connect(proxy.addresses()[0]), b"x").unwrap();
    assert_eq!(counter_values(&proxy, &[ProxyCounter::ConnectFailed, ProxyCounter::Retried]), [1, 1]);
    // Without another server the client is reset when the timeout expires.
    settings.upstreams.get_mut("main").unwrap().servers.0.pop();
    let proxy = start(&settings);
    assert!(connect(proxy.addresses()[0]).read(&mut [0]).is_err());
    assert_eq!(proxy.counted(ProxyCounter::NoServer), 1);
}

/// Frequent reloads while connections arrive: none is refused, reset or truncated.
#[test]
fn reloads_under_load_lose_no_connection() {
    let server = TestServer::echo();
    let mut settings = config(server.address);
    let mut proxy = start(&settings);
    let address = proxy.addresses()[0];
    let (stop, done) = (AtomicBool::new(false), AtomicU64::new(0));
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    let mut stream = connect(address);
                    exchange(&mut stream, b"before").unwrap();
                    exchange(&mut stream, &[7; 50_000]).unwrap();
                    stream.shutdown(Shutdown::Write).unwrap();
                    assert_eq!(stream.read(&mut [0]).unwrap(), 0);
                    done.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let mut kept = connect(address);
        for i in 0..60 {
            // A second listener is added and removed; limits and names change.
            let extra = ListenAt::Address("127.0.0.1:0".parse().unwrap());
            if i % 2 == 0 {
                settings.listeners.insert("extra".into(), ListenerConfig::of(extra, "main"));
            } else {
                settings.listeners.remove("extra");
            }
            settings.max_connections = 1000 + i;
            proxy.reload(&settings).unwrap_or_else(|e| panic!("{e}"));
            exchange(&mut kept, b"still here").unwrap();
            thread::sleep(Duration::from_millis(20));
        }
        // An invalid configuration: the running one stays.
        let mut wrong = settings.clone();
        wrong.listeners.get_mut("main").unwrap().client.cc = Some("no-such".into());
        let error = proxy.reload(&wrong).unwrap_err().to_string();
        assert!(error.starts_with("listeners.main.client.cc: this kernel has no `no-such`"), "{error}");
        exchange(&mut connect(address), b"x").unwrap();
        stop.store(true, Ordering::Relaxed);
    });
    let done = done.load(Ordering::Relaxed);
    assert!(done > 100, "{done} connections");
    let failed = [ProxyCounter::ClientReset, ProxyCounter::ServerReset, ProxyCounter::NoServer];
    assert_eq!(counter_values(&proxy, &failed), [0, 0, 0]);
}

#[test]
fn a_drain_accepts_no_connections_and_lets_existing_ones_end() {
    let server = TestServer::echo();
    let (proxy, address) = proxy_for(&server);
    let mut stream = connect(address);
    exchange(&mut stream, b"x").unwrap();
    proxy.drain();
    until("refusals", || TcpStream::connect(address).is_err());
    exchange(&mut stream, &[1; 100_000]).unwrap();
    assert!(!proxy.wait(Duration::from_millis(200)), "one is left");
    drop(stream);
    assert!(proxy.wait(WAIT_TIMEOUT));
    // A connection that does not end is reset when the drain timeout is over.
    let (proxy, address) = proxy_for(&server);
    let mut stream = connect(address);
    exchange(&mut stream, b"x").unwrap();
    proxy.drain();
    proxy.stop();
    assert!(proxy.wait(WAIT_TIMEOUT));
    assert_eq!(stream.read(&mut [0]).unwrap_err().kind(), ErrorKind::ConnectionReset);
    assert_eq!(proxy.counted(ProxyCounter::Drained), 1);
}

fn http(address: SocketAddr, path: &str) -> String {
    let mut stream = connect(address);
    stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n").as_bytes()).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

/// With a client that reads slowly, the client's side is reported as slow, because of its receive window.
#[test]
fn the_status_page_shows_which_side_is_slow() {
    let server = TestServer::new(|stream| drop(write_stream(&stream, 1, 1 << 30, 1 << 20)));
    let mut settings = config(server.address);
    settings.status = Some("127.0.0.1:0".parse().unwrap());
    settings.listeners.get_mut("main").unwrap().client.send_buffer = Some(units::Bytes::new(1 << 18));
    let proxy = start(&settings);
    let status = proxy.status_address().unwrap();
    let mut stream = connect(proxy.addresses()[0]);
    let mut buffer = vec![0; 1 << 16];
    let mut slow = serde_json::Value::Null;
    for _ in 0..200 {
        stream.read_exact(&mut buffer).unwrap();
        thread::sleep(Duration::from_millis(50));
        let text = http(status, "/status.json");
        let body = text.split("\r\n\r\n").nth(1).unwrap();
        let value: serde_json::Value = serde_json::from_str(body).unwrap();
        slow = value["paths"][0]["slow"][0].clone();
        if !slow.is_null() {
            break;
        }
    }
    assert_eq!(slow["side"], "client", "{slow}");
    assert_eq!(slow["cause"], "receive-window", "{slow}");
    assert!(http(status, "/metrics").contains("longfat_proxy_connections 1\n"));
    proxy.show_page(|about, tables| format!("{about} {tables:?}"));
    assert!(http(status, "/").contains("down: the client's side"));
}
