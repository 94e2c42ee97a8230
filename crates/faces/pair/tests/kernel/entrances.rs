//! Which clients a pair's listeners accept, where they are forwarded, and what a reload changes, over
//! loopback, with every byte checked.

use crate::common::*;
use proxy::{HostPort, PairListenerConfig, PairUpstreamConfig, ProxyVersion, read_header, sample_hello};
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

/// A server that sends its name, then sends back all it receives.
fn named(name: &'static str) -> SocketAddr {
    serve(move |mut tcp| {
        let _ = tcp.write_all(name.as_bytes());
        let mut all = Vec::new();
        let _ = tcp.read_to_end(&mut all);
        let _ = tcp.write_all(&all);
    })
}

/// The answer to these bytes and the end of the stream; `None` if the connection is reset.
fn answer(to: SocketAddr, bytes: &[u8]) -> Option<Vec<u8>> {
    let mut tcp = connect(to);
    tcp.write_all(bytes).ok()?;
    tcp.shutdown(Shutdown::Write).ok()?;
    let mut all = Vec::new();
    tcp.read_to_end(&mut all).ok().map(|_| all)
}

fn upstream(at: SocketAddr) -> PairUpstreamConfig {
    PairUpstreamConfig::of(vec![HostPort::Address(at)])
}

#[test]
fn clients_are_routed_by_server_name() {
    let mut setting = Setting::new("sni", named("main"));
    setting.far.upstreams.insert("web".into(), upstream(named("web!")));
    setting.far.upstreams.insert("rest".into(), upstream(named("rest")));
    let main = setting.near.listeners.get_mut("main").expect("there is one");
    main.sni.insert("www.example.com".into(), "web".into());
    main.sni.insert("*.example.com".into(), "rest".into());
    let mut strict = main.clone();
    strict.upstream = None;
    setting.near.listeners.insert("strict".into(), strict);
    let ends = setting.start(None);
    let hello = |name: &str| sample_hello(Some(name), 50);
    let with = |name: &str, hello: &[u8]| Some([name.as_bytes(), hello].concat());
    for (to, others) in [(ends.address(), with("main", b"plain")), (address(&ends.near, "strict"), None)] {
        assert_eq!(answer(to, &hello("www.example.com")), with("web!", &hello("www.example.com")));
        assert_eq!(answer(to, &hello("a.example.com")), with("rest", &hello("a.example.com")));
        assert_eq!(answer(to, b"plain"), others);
    }
    // In pieces, with pauses.
    let mut tcp = connect(ends.address());
    for piece in hello("www.example.com").chunks(40) {
        tcp.write_all(piece).expect("is sent");
        thread::sleep(Duration::from_millis(20));
    }
    let mut name = [0; 4];
    tcp.read_exact(&mut name).expect("is answered");
    assert_eq!(&name, b"web!");
}

#[test]
fn the_server_gets_the_addresses_of_the_client() {
    for version in [ProxyVersion::V1, ProxyVersion::V2] {
        let mut setting = Setting::new(&format!("proxy-{version:?}"), named(""));
        setting.far.upstreams.values_mut().for_each(|u| u.proxy_protocol = Some(version));
        let plain = setting.near.listeners["main"].clone();
        let behind =
            PairListenerConfig { proxy_protocol_from: vec!["127.0.0.0/8".parse().expect("one")], ..plain };
        setting.near.listeners.insert("behind".into(), behind);
        let ends = setting.start(None);
        // With the addresses of the connection.
        let mut tcp = connect(ends.address());
        tcp.write_all(b"hello").expect("is sent");
        tcp.shutdown(Shutdown::Write).expect("ends");
        let header = version.write(tcp.local_addr().expect("has one"), ends.address());
        let mut all = Vec::new();
        tcp.read_to_end(&mut all).expect("ends");
        assert_eq!(all, [&header[..], b"hello"].concat(), "{version:?}");
        // With the addresses of a PROXY header, whatever its version.
        let between = ("192.0.2.7:1234".parse().expect("one"), "[2001:db8::1]:443".parse().expect("one"));
        let header = version.write(between.0, between.1);
        assert!(read_header(&header).is_ok());
        let to = address(&ends.near, "behind");
        for sent in [ProxyVersion::V1, ProxyVersion::V2] {
            let bytes = [&sent.write(between.0, between.1)[..], b"hello"].concat();
            assert_eq!(answer(to, &bytes), Some([&header[..], b"hello"].concat()), "{sent:?} {version:?}");
        }
        assert_eq!(answer(to, b"hello, without a header"), None);
    }
}

#[test]
fn connections_per_client_are_limited() {
    let mut setting = Setting::new("places", named("hi"));
    setting.near.listeners.values_mut().for_each(|l| l.max_connections_per_client = Some(2));
    let ends = setting.start(None);
    let come = |hi: &mut TcpStream| hi.read_exact(&mut [0; 2]).is_ok();
    let mut open: Vec<TcpStream> = (0..2).map(|_| connect(ends.address())).collect();
    assert!(open.iter_mut().all(come));
    assert!(!come(&mut connect(ends.address())), "a third");
    drop(open.pop());
    let begun = Instant::now();
    while !come(&mut connect(ends.address())) {
        assert!(begun.elapsed() < DEADLINE, "a free place");
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_client_that_sends_no_hello_is_reset() {
    let mut setting = Setting::new("late", named("main"));
    let main = setting.near.listeners.get_mut("main").expect("there is one");
    main.sni.insert("www.example.com".into(), "main".into());
    main.hello_timeout = units::Span::from_millis(100);
    let ends = setting.start(None);
    assert!(connect(ends.address()).read(&mut [0; 1]).is_err(), "is reset");
}

#[test]
fn a_reload_applies_the_configuration_and_loses_no_connection() {
    let mut setting = Setting::new("reload", named("old"));
    let Ends { mut near, mut far, events } = setting.start(None);
    setting.far.listen = Some(any());
    let to = address(&near, "main");
    let mut open = connect(to);
    open.read_exact(&mut [0; 3]).expect("is answered");
    // Change the server, add a listener and restrict its clients, while connections come and go.
    let load = thread::spawn(move || {
        for stream in 0..200u64 {
            let sent = bytes(stream, 20_000);
            let all = answer(to, &sent).expect("no connection is lost");
            assert!(all[..3] == *b"old" || all[..3] == *b"new");
            assert!(all[3..] == sent[..], "its bytes are right");
        }
    });
    setting.far.upstreams.insert("main".into(), upstream(named("new")));
    for _ in 0..20 {
        let change = far.prepare(&setting.far).expect("can be");
        far.change(change).expect("is taken");
        let change = near.prepare(&setting.near).expect("can be");
        near.change(change).expect("is taken");
        thread::sleep(Duration::from_millis(10));
    }
    load.join().expect("all of them");
    assert_eq!(address(&near, "main"), to, "the same socket");
    assert_eq!(answer(to, b"x"), Some(b"newx".to_vec()));
    let mut shut = setting.near.listeners["main"].clone();
    shut.allow = vec!["192.0.2.0/24".parse().expect("one")];
    setting.near.listeners.insert("shut".into(), shut);
    let change = near.prepare(&setting.near).expect("can be");
    near.change(change).expect("is taken");
    assert_eq!(answer(address(&near, "shut"), b"x"), None, "not allowed");
    assert_eq!(answer(to, b"y"), Some(b"newy".to_vec()));
    // The open connection stays and ends at its first server.
    open.write_all(b"still here").expect("is sent");
    open.shutdown(Shutdown::Write).expect("ends");
    let mut all = Vec::new();
    open.read_to_end(&mut all).expect("ends");
    assert_eq!(all, b"still here");
    let lost = events.try_iter().filter(|entry| entry["event"] == "pair-down").count();
    assert_eq!(lost, 0);
    // The address of a removed listener is free again.
    setting.near.listeners.remove("main");
    let change = near.prepare(&setting.near).expect("can be");
    near.change(change).expect("is taken");
    let begun = Instant::now();
    while TcpStream::connect(to).is_ok() {
        assert!(begun.elapsed() < DEADLINE, "the port is closed");
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_reload_adds_and_removes_peers() {
    let mut setting = Setting::new("peers", named("hi"));
    let mut ends = setting.start(None);
    setting.far.listen = Some(any());
    assert_eq!(answer(ends.address(), b""), Some(b"hi".to_vec()));
    // The near end gets another key: its link ends and does not come back.
    let known = setting.far.peers.clone();
    let (_, other) = key("peers", "other");
    setting.far.peers.values_mut().for_each(|peer| peer.key = other);
    let change = ends.far.prepare(&setting.far).expect("can be");
    ends.far.change(change).expect("is taken");
    ends.wait_for("pair-down");
    let mut tcp = connect(ends.address());
    tcp.set_read_timeout(Some(Duration::from_millis(500))).expect("sets");
    assert!(tcp.read(&mut [0; 1]).map_or(true, |n| n == 0), "nothing comes through");
    setting.far.peers = known;
    let change = ends.far.prepare(&setting.far).expect("can be");
    ends.far.change(change).expect("is taken");
    // The client's handshake ends before it is refused, so in the meantime it reports that it is up.
    let begun = Instant::now();
    while answer(ends.address(), b"") != Some(b"hi".to_vec()) {
        assert!(begun.elapsed() < DEADLINE, "it works again");
        thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn changes_that_need_a_restart_are_rejected() {
    let mut setting = Setting::new("restart-only", named("hi"));
    let ends = setting.start(None);
    let mut moved = setting.near.clone();
    moved.listen = Some(any());
    let why = ends.near.prepare(&moved).err().map(|e| e.to_string());
    assert!(why.is_some_and(|why| why.contains("restart")));
    let mut taken = setting.near.clone();
    let mut second = taken.listeners["main"].clone();
    second.listen.0 = vec![echo()];
    taken.listeners.insert("second".into(), second);
    assert!(ends.near.prepare(&taken).is_err(), "an address in use");
    assert_eq!(answer(ends.address(), b""), Some(b"hi".to_vec()), "what runs stays");
}

#[test]
fn the_state_of_links_is_published() {
    let mut setting = Setting::new("board", named("hi"));
    let ends = setting.start(None);
    let before = ends.near.status().read();
    assert!(before.iter().all(|link| link.peer == "main"), "{before:?}");
    let mut open = connect(ends.address());
    open.read_exact(&mut [0; 2]).expect("is answered");
    exchange_with_name(ends.address());
    thread::sleep(Duration::from_millis(600));
    let links = ends.near.status().read();
    let [link] = &links[..] else { panic!("one: {links:?}") };
    assert!(link.is_up && link.rtt_s.is_some() && link.cwnd_bytes.is_some(), "{link:?}");
    assert!(link.sent_packets > 100 && link.sent_bytes > 500_000, "{link:?}");
    assert!(link.received_bytes > 500_000 && link.delivery_rate.is_some(), "{link:?}");
    assert_eq!((link.streams, link.flows), (1, 0), "{link:?}");
    drop(ends.far);
    let begun = Instant::now();
    while ends.near.status().read().iter().any(|link| link.is_up) {
        assert!(begun.elapsed() < DEADLINE, "it is down");
        thread::sleep(Duration::from_millis(50));
    }
}

fn exchange_with_name(to: SocketAddr) {
    let sent = bytes(1, 500_000);
    assert!(answer(to, &sent).expect("comes back")[2..] == sent[..]);
}
