//! Ended connections leave no resources in use, and idle ones hold no pipe.

use crate::common::*;
use proxy::{Proxy, ProxyCounter};
use std::io::{Read, Write};
use std::net::Shutdown;
use std::thread;

fn run_and_kill(proxy: &Proxy, rounds: u64, threads: u64, seed: u64) {
    let address = proxy.addresses()[0];
    thread::scope(|scope| {
        for t in 0..threads {
            scope.spawn(move || {
                for round in 0..rounds {
                    let draw =
                        (t * 1_000_003 + round * 7919 + seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
                    let stream = connect(address);
                    let bytes = 1 + draw % 60_000;
                    if draw % 100 == 0 {
                        let _ = write_stream(&stream, t, bytes, 1000);
                        reset(stream);
                        continue;
                    }
                    let writer = stream.try_clone().unwrap();
                    let writing = thread::spawn(move || {
                        write_stream(&writer, t, bytes, 10_000).unwrap();
                        writer.shutdown(Shutdown::Write).unwrap();
                    });
                    assert_eq!(read_stream(&stream, t).unwrap(), bytes);
                    writing.join().unwrap();
                }
            });
        }
    });
}

/// One in a hundred connections is killed by its client in the middle; all others are complete; nothing
/// remains of any.
#[test]
fn killed_connections_leave_nothing_behind() {
    let server = TestServer::echo();
    let (proxy, _) = proxy_for(&server);
    run_and_kill(&proxy, 20, 4, 1);
    until("the end", || proxy.connections() == 0);
    let initial = descriptors();
    run_and_kill(&proxy, 300, 8, 2);
    until("the end", || proxy.connections() == 0);
    assert!(proxy.counted(ProxyCounter::ClientReset) > 0);
    until("as few descriptors", || descriptors() <= initial + 64);
}

/// Idle connections that have moved bytes by pipe hold no pipe: 2,000 of them, or as many as descriptors
/// permit, which is more than the kernel gives a user full-sized pipes (`fs.pipe-user-pages-soft`, 1,024 of
/// them).
#[test]
fn thousands_of_idle_connections_hold_no_pipes() {
    let server = TestServer::new(|mut stream| {
        let mut buffer = [0; 100_000];
        if stream.read_exact(&mut buffer).is_ok() && stream.write_all(&buffer).is_ok() {
            let _ = stream.read(&mut [0]);
        }
    });
    let proxy = start(&config(server.address));
    let address = proxy.addresses()[0];
    let mut all = Vec::new();
    for _ in 0..permitted_connections() {
        let mut stream = connect(address);
        exchange(&mut stream, &[3; 100_000]).unwrap();
        all.push(stream);
    }
    assert_eq!(proxy.connections(), all.len());
    // The last direction sees the end of the stream a moment after the last byte.
    until("no pipes", || {
        let _ = connect(address);
        proxy.counted(ProxyCounter::Pipes) == 0
    });
}

/// Each connection needs four descriptors in this process: client, server, and the proxy's two.
fn permitted_connections() -> usize {
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap();
    let line = limits.lines().find(|l| l.starts_with("Max open files")).unwrap();
    let limit: usize = line.split_whitespace().nth(3).unwrap().parse().unwrap();
    (limit.saturating_sub(2000) / 4).clamp(100, 2_000)
}
