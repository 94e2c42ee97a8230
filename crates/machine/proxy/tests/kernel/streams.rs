//! Streams through a proxy on loopback: every byte arrives, ends and resets are forwarded, and connections do
//! not delay each other.

use crate::common::*;
use proxy::{ProxyConfig, ProxyCounter};
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};
use units::{Bytes, Rate, Span};

const MB: u64 = 1 << 20;

/// Both directions at once, by copy and by pipe, with various write sizes.
#[test]
fn every_byte_arrives_in_both_directions() {
    for (piece, bytes) in
        [(1, 3_000), (100, 100_000), (8192, MB), (8193, MB), (65_536, 64 * MB), (1 << 20, 64 * MB)]
    {
        let server = TestServer::new(move |stream| {
            let other = stream.try_clone().unwrap();
            let writer = thread::spawn(move || {
                write_stream(&other, 2, bytes + 7, piece).unwrap();
                other.shutdown(Shutdown::Write).unwrap();
            });
            assert_eq!(read_stream(&stream, 1).unwrap(), bytes);
            writer.join().unwrap();
        });
        let (proxy, address) = proxy_for(&server);
        let stream = connect(address);
        let other = stream.try_clone().unwrap();
        let writer = thread::spawn(move || {
            write_stream(&other, 1, bytes, piece).unwrap();
            other.shutdown(Shutdown::Write).unwrap();
        });
        assert_eq!(read_stream(&stream, 2).unwrap(), bytes + 7, "pieces of {piece}");
        writer.join().unwrap();
        until("the end", || proxy.connections() == 0);
        let moved =
            counter_values(&proxy, &[ProxyCounter::BytesUp, ProxyCounter::BytesDown, ProxyCounter::Finished]);
        assert_eq!(moved, [bytes, bytes + 7, 1]);
        assert_eq!(proxy.counted(ProxyCounter::Pipes), 0);
    }
}

/// The client ends its stream first; the response follows.
#[test]
fn a_half_closed_connection_continues_in_the_other_direction() {
    let server = TestServer::new(|stream| {
        assert_eq!(read_stream(&stream, 1).unwrap(), 100_000);
        thread::sleep(Duration::from_millis(100));
        write_stream(&stream, 2, 5 * MB, 10_000).unwrap();
    });
    let (proxy, address) = proxy_for(&server);
    let stream = connect(address);
    write_stream(&stream, 1, 100_000, 5_000).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    assert_eq!(read_stream(&stream, 2).unwrap(), 5 * MB);
    drop(stream);
    until("the end", || proxy.connections() == 0);
    assert_eq!(proxy.counted(ProxyCounter::Finished), 1);
}

/// The server's stream ends while pipe and send buffer are full of bytes that the client has not read.
#[test]
fn a_stream_end_behind_a_full_pipe_loses_no_byte() {
    let server = TestServer::new(|stream| {
        write_stream(&stream, 7, 24 * MB, 1 << 20).unwrap();
    });
    let mut settings = config(server.address);
    settings.listeners.get_mut("main").unwrap().client.send_buffer = Some(Bytes::new(64 << 10));
    let proxy = start(&settings);
    for _ in 0..3 {
        let stream = connect(proxy.addresses()[0]);
        thread::sleep(Duration::from_millis(300));
        assert_eq!(read_stream(&stream, 7).unwrap(), 24 * MB);
    }
}

#[test]
fn resets_are_forwarded_in_both_directions() {
    let (sender, results) = mpsc::channel();
    let server = TestServer::new(move |mut stream| {
        let mut first = [0];
        stream.read_exact(&mut first).unwrap();
        match first[0] {
            b'r' => reset(stream),
            _ => {
                stream.write_all(b"y").unwrap();
                sender.send(stream.read(&mut first).map_err(|e| e.kind())).unwrap();
            }
        }
    });
    let (proxy, address) = proxy_for(&server);
    let mut stream = connect(address);
    stream.write_all(b"r").unwrap();
    assert_eq!(stream.read(&mut [0]).unwrap_err().kind(), ErrorKind::ConnectionReset);
    until("the end", || proxy.connections() == 0);
    assert_eq!(proxy.counted(ProxyCounter::ServerReset), 1);
    let mut stream = connect(address);
    stream.write_all(b"c").unwrap();
    stream.read_exact(&mut [0]).unwrap();
    reset(stream);
    assert_eq!(results.recv_timeout(WAIT_TIMEOUT).unwrap(), Err(ErrorKind::ConnectionReset));
    until("the end", || proxy.connections() == 0);
    assert_eq!(proxy.counted(ProxyCounter::ClientReset), 1);
}

/// One loop, and clients that never read. The server is stopped by its window, memory stays bounded, other
/// connections are served.
#[test]
fn a_slow_reader_stops_only_its_own_server() {
    let (sender, results) = mpsc::channel();
    let server = TestServer::new(move |mut stream| {
        let mut first = [0];
        stream.read_exact(&mut first).unwrap();
        if first[0] == b'e' {
            return echo(stream);
        }
        stream.set_write_timeout(Some(Duration::from_secs(1))).unwrap();
        let (block, mut sent) = (vec![0; 1 << 20], 0);
        while let Ok(n) = stream.write(&block) {
            sent += n as u64;
        }
        sender.send(sent).unwrap();
    });
    let proxy = start(&ProxyConfig { workers: Some(1), ..config(server.address) });
    let mut slow: Vec<TcpStream> = (0..10).map(|_| connect(proxy.addresses()[0])).collect();
    for stream in &mut slow {
        stream.write_all(b"b").unwrap();
    }
    let mut quick = connect(proxy.addresses()[0]);
    quick.write_all(b"e").unwrap();
    for _ in 0..1000 {
        exchange(&mut quick, b"hello").unwrap();
    }
    for _ in &slow {
        // Socket buffers on the path (tcp_rmem and tcp_wmem at most, twice each) and one pipe.
        let sent = results.recv_timeout(WAIT_TIMEOUT).unwrap();
        assert!(sent < 120 * MB, "{sent} bytes were accepted");
    }
    exchange(&mut quick, b"hello").unwrap();
    assert!(proxy.counted(ProxyCounter::Pipes) <= 10);
    drop(slow);
    until("the slow ones' end", || proxy.connections() == 1);
    // The gauge is updated one iteration after the last end.
    until("pipes", || {
        exchange(&mut quick.try_clone().unwrap(), b"x").unwrap();
        proxy.counted(ProxyCounter::Pipes) == 0
    });
}

/// Many bytes, then a last piece after which the stream neither continues nor ends: corking would delay it by
/// 200 ms.
#[test]
fn the_last_piece_is_sent_without_delay() {
    let server = TestServer::echo();
    let (_proxy, address) = proxy_for(&server);
    let mut best = Duration::MAX;
    for _ in 0..5 {
        let stream = connect(address);
        let writer = stream.try_clone().unwrap();
        let bytes = 3 * MB as usize + 17;
        let writing = thread::spawn(move || write_stream(&writer, 3, bytes as u64, 1 << 20).unwrap());
        let (mut got, mut buffer, started) = (0, vec![0; 1 << 20], Instant::now());
        while got < bytes {
            got += (&stream).read(&mut buffer).unwrap();
        }
        writing.join().unwrap();
        best = best.min(started.elapsed());
    }
    assert!(best < Duration::from_millis(190), "{best:?}");
}

/// 2 MB at 1 MB/s take two seconds, less the first ten segments of 65,483 B on loopback, which the kernel
/// does not pace (`tcp_update_skb_after_send`, net/ipv4/tcp_output.c): 1.34 s.
#[test]
fn pacing_applies_only_to_its_side() {
    let server = TestServer::echo();
    let mut settings = config(server.address);
    settings.listeners.get_mut("main").unwrap().client.pace = Some(Rate::from_bps(8_000_000));
    let proxy = start(&settings);
    let stream = connect(proxy.addresses()[0]);
    let writer = stream.try_clone().unwrap();
    let started = Instant::now();
    write_stream(&writer, 3, 2_000_000, 100_000).unwrap();
    writer.shutdown(Shutdown::Write).unwrap();
    assert_eq!(read_stream(&stream, 3).unwrap(), 2_000_000);
    let took = started.elapsed();
    assert!(took > Duration::from_millis(1300), "{took:?}");
    let (_proxy, address) = proxy_for(&server);
    let stream = connect(address);
    let started = Instant::now();
    write_stream(&stream, 3, 2_000_000, 100_000).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    assert_eq!(read_stream(&stream, 3).unwrap(), 2_000_000);
    assert!(started.elapsed() < took / 2);
}

#[test]
fn idle_and_half_closed_connections_are_reset_after_their_timeout() {
    let server = TestServer::new(|mut stream| {
        // Never ends its stream, so that it stays in CLOSE_WAIT.
        while stream.read(&mut [0; 100]).is_ok_and(|n| n > 0) {}
        thread::sleep(WAIT_TIMEOUT);
    });
    let mut settings = config(server.address);
    let listener = settings.listeners.get_mut("main").unwrap();
    listener.idle_timeout = Span::from_millis(1500);
    listener.half_close_timeout = Span::from_millis(200);
    let proxy = start(&settings);
    let mut idle = connect(proxy.addresses()[0]);
    let half = connect(proxy.addresses()[0]);
    half.shutdown(Shutdown::Write).unwrap();
    until("the half-closed one's end", || proxy.counted(ProxyCounter::Idle) == 1);
    idle.write_all(b"x").unwrap();
    thread::sleep(Duration::from_millis(1000));
    assert_eq!(proxy.connections(), 1, "something moved");
    assert_eq!(idle.read(&mut [0]).unwrap_err().kind(), ErrorKind::ConnectionReset);
    until("the end", || proxy.connections() == 0);
    assert_eq!(proxy.counted(ProxyCounter::Idle), 2);
}
