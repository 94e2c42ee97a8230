//! Streams between two ends over loopback, with every byte checked in both directions: ends, resets,
//! restarts, keys, datagrams, addresses.

use crate::common::*;
use proxy::{HostPort, PairUpstreamConfig};
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, UdpSocket};
use std::thread;
use std::time::{Duration, Instant};

#[test]
fn bytes_arrive_unchanged_with_every_control() {
    for cc in ["contract", "bbr3", "bbr-hsr", "bbr", "cubic", "reno"] {
        let mut setting = Setting::new(&format!("bytes-{cc}"), echo());
        setting.near.peers.values_mut().for_each(|peer| peer.cc = cc.into());
        setting.far.peers.values_mut().for_each(|peer| peer.cc = cc.into());
        let ends = setting.start(None);
        for (stream, length) in [0, 1, 1200, 65_536, 3_000_000].into_iter().enumerate() {
            exchange(ends.address(), stream as u64, length);
        }
    }
}

#[test]
fn many_streams_run_in_parallel() {
    let ends = Setting::new("many", echo()).start(None);
    let to = ends.address();
    let threads: Vec<_> =
        (0..100).map(|n| thread::spawn(move || exchange(to, n, 50_000 + 997 * n as usize))).collect();
    threads.into_iter().for_each(|t| t.join().expect("its bytes are right"));
}

#[test]
fn one_direction_can_end_before_the_other() {
    // Answers only after the request has ended.
    let server = serve(|mut tcp| {
        let mut request = Vec::new();
        tcp.read_to_end(&mut request).expect("ends");
        tcp.write_all(&bytes(7, request.len() * 3)).expect("is sent");
    });
    let ends = Setting::new("half", server).start(None);
    let mut tcp = connect(ends.address());
    tcp.write_all(&bytes(1, 100_000)).expect("is sent");
    tcp.shutdown(Shutdown::Write).expect("ends");
    let mut got = Vec::new();
    tcp.read_to_end(&mut got).expect("ends");
    assert!(got == bytes(7, 300_000));
}

/// Closes with a reset.
fn reset(tcp: std::net::TcpStream) {
    use std::os::fd::AsFd;
    linux::socket::reset_on_close(tcp.as_fd());
}

#[test]
fn a_reset_is_forwarded() {
    let server = serve(|mut tcp| {
        let _ = tcp.read(&mut [0; 10]);
        reset(tcp);
    });
    let ends = Setting::new("reset", server).start(None);
    let mut tcp = connect(ends.address());
    tcp.write_all(b"hello").expect("is sent");
    assert_eq!(tcp.read(&mut [0; 10]).expect_err("is reset").kind(), ErrorKind::ConnectionReset);
    let (report, reports) = std::sync::mpsc::channel();
    // In the other direction: the server sees the reset.
    let server = serve(move |mut tcp| {
        let _ = tcp.read(&mut [0; 5]);
        let _ = report.send(tcp.read(&mut [0; 10]).map_err(|e| e.kind()));
    });
    let ends = Setting::new("reset2", server).start(None);
    let mut tcp = connect(ends.address());
    tcp.write_all(b"hello").expect("is sent");
    thread::sleep(Duration::from_millis(300));
    reset(tcp);
    assert_eq!(reports.recv_timeout(DEADLINE).expect("a report"), Err(ErrorKind::ConnectionReset));
}

#[test]
fn a_slow_reader_slows_only_its_own_stream() {
    // Reads nothing for a second, then all of it.
    let (report, reports) = std::sync::mpsc::channel();
    let server = serve(move |mut tcp| {
        thread::sleep(Duration::from_secs(1));
        let mut all = Vec::new();
        let _ = tcp.read_to_end(&mut all);
        let _ = report.send(all);
    });
    let ends = Setting::new("slow", server).start(None);
    let mut slow = connect(ends.address());
    let sender = thread::spawn(move || {
        slow.write_all(&bytes(3, 60_000_000)).expect("is sent");
    });
    // Other connections are not delayed by it.
    let begun = Instant::now();
    drop(connect(ends.address()));
    assert!(begun.elapsed() < Duration::from_secs(1));
    let all = std::iter::repeat_with(|| reports.recv_timeout(DEADLINE).expect("a report"))
        .find(|all| !all.is_empty());
    sender.join().expect("sends");
    assert!(all.expect("comes") == bytes(3, 60_000_000));
}

#[test]
fn a_restarted_peer_is_connected_to_again() {
    let mut setting = Setting::new("restart", echo());
    let Ends { near, far, events } = setting.start(None);
    let ends = Ends { near, far, events };
    exchange(ends.address(), 1, 10_000);
    let mut open = connect(ends.address());
    open.write_all(b"x").expect("is sent");
    assert_eq!(open.read(&mut [0; 1]).expect("comes back"), 1);
    let Ends { near, far, events } = ends;
    drop(far);
    let (far, _) = start(&setting.far);
    let ends = Ends { near, far, events };
    ends.wait_for("pair-down");
    // Connections over the old link are reset, not left hanging.
    assert_eq!(open.read(&mut [0; 1]).expect_err("is reset").kind(), ErrorKind::ConnectionReset);
    ends.wait_for("pair-up");
    exchange(ends.address(), 2, 10_000);
}

#[test]
fn a_peer_with_another_key_is_refused() {
    for end in ["near", "far"] {
        let mut setting = Setting::new(&format!("wrong-{end}"), echo());
        let (_, other) = key("wrong", "other");
        let config = if end == "near" { &mut setting.near } else { &mut setting.far };
        config.peers.values_mut().for_each(|peer| peer.key = other);
        let ends = setting.start(None);
        let why = ends.wait_for("pair-down")["why"].to_string();
        assert!(why.contains("certificate") || why.contains("crypto") || why.contains("verif"), "{why}");
        let mut tcp = connect(ends.address());
        let _ = tcp.write_all(b"hello");
        tcp.set_read_timeout(Some(Duration::from_millis(500))).expect("sets");
        assert!(tcp.read(&mut [0; 1]).map_or(true, |n| n == 0), "nothing comes through");
    }
}

#[test]
fn a_peer_can_only_reach_configured_upstreams() {
    let mut setting = Setting::new("nowhere", echo());
    setting.near.listeners.values_mut().for_each(|l| l.upstream = Some("elsewhere".into()));
    let ends = setting.start(None);
    let mut tcp = connect(ends.address());
    assert_eq!(tcp.read(&mut [0; 1]).expect_err("is reset").kind(), ErrorKind::ConnectionReset);
}

#[test]
fn servers_are_tried_in_turn() {
    let dead = std::net::TcpListener::bind(any()).expect("binds").local_addr().expect("has one");
    let mut setting = Setting::new("turn", dead);
    let servers = vec![HostPort::Address(dead), HostPort::Address(echo())];
    setting.far.upstreams.insert("main".into(), PairUpstreamConfig::of(servers));
    exchange(setting.start(None).address(), 1, 10_000);
}

#[test]
fn datagrams_are_forwarded_in_both_directions() {
    let server = UdpSocket::bind(any()).expect("binds");
    let mut setting = Setting::new("datagrams", server.local_addr().expect("has one"));
    setting.near.listeners.values_mut().for_each(|l| l.udp = true);
    let ends = setting.start(None);
    ends.wait_for("pair-up");
    thread::spawn(move || {
        let mut buffer = [0; 2000];
        while let Ok((n, from)) = server.recv_from(&mut buffer) {
            buffer[..n].reverse();
            let _ = server.send_to(&buffer[..n], from);
        }
    });
    let clients: Vec<UdpSocket> = (0..3).map(|_| UdpSocket::bind(any()).expect("binds")).collect();
    for client in &clients {
        client.set_read_timeout(Some(Duration::from_millis(200))).expect("sets");
    }
    for length in [0usize, 1, 500, 1100] {
        for (i, client) in clients.iter().enumerate() {
            let payload = bytes(i as u64, length);
            let mut buffer = [0; 2000];
            // The first datagram may arrive before the stream of its flow and be lost; as with UDP, the
            // client sends again.
            let answer = (0..20).find_map(|_| {
                client.send_to(&payload, ends.address()).expect("sends");
                client.recv(&mut buffer).ok()
            });
            assert_eq!(answer, Some(length));
            buffer[..length].reverse();
            assert!(buffer[..length] == payload);
            while client.recv(&mut buffer).is_ok() {}
        }
    }
}

#[test]
fn a_link_survives_a_change_of_address() {
    let mut setting = Setting::new("moves", echo());
    let nat = std::cell::RefCell::new(None);
    let through = |quic| {
        let made = Nat::new(quic);
        let address = made.address;
        *nat.borrow_mut() = Some(made);
        address
    };
    let ends = setting.start(Some(&through));
    ends.wait_for("pair-up");
    let nat = nat.into_inner().expect("is there");
    let to = ends.address();
    let stream = thread::spawn(move || exchange(to, 5, 8_000_000));
    for _ in 0..3 {
        thread::sleep(Duration::from_millis(150));
        nat.rebind();
    }
    stream.join().expect("its bytes are right");
    // It is the same connection: nothing was lost and no end connected again.
    assert!(ends.events.try_iter().all(|entry| entry["event"] != "pair-down"));
}

#[test]
fn early_data_is_only_sent_if_configured() {
    for enabled in [false, true] {
        let mut setting = Setting::new(&format!("early-{enabled}"), echo());
        for peer in setting.near.peers.values_mut().chain(setting.far.peers.values_mut()) {
            (peer.early_data, peer.idle_timeout) = (enabled, units::Span::from_secs(1));
        }
        let nat = std::cell::RefCell::new(None);
        let through = |quic| {
            let made = Nat::new(quic);
            let address = made.address;
            *nat.borrow_mut() = Some(made);
            address
        };
        let ends = setting.start(Some(&through));
        assert_eq!(ends.wait_for("pair-up")["early_data"], "false", "nothing to resume");
        exchange(ends.address(), 1, 10_000);
        // Both ends give up. Then the near one connects again and resumes the session.
        nat.borrow().as_ref().expect("is there").pause(Duration::from_secs(3));
        ends.wait_for("pair-down");
        exchange(ends.address(), 2, 10_000);
        assert_eq!(ends.wait_for("pair-up")["early_data"], enabled.to_string());
    }
}
