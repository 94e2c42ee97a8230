//! Load for `benches/proxy.py`: servers and clients that do one task each, as simply as possible.
//!
//! load serve PORT               echoes each connection's messages until it ends
//! load hold PORT                echoes each connection's first message and keeps it open
//! load connect ADDR SECONDS N   N clients repeatedly open, exchange, close; prints connections/s
//! load ping ADDR N              one connection, N round trips of a message; prints p50 and p99 in µs
//! load talk ADDR SECONDS N      N connections, repeated round trips of a message; prints messages/s
//! load idle ADDR N              N connections, one message each; prints "ready", waits for the end of
//! standard input

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

/// Bytes of a message.
const MESSAGE: usize = 100;
/// Serving threads.
const SERVERS: usize = 64;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |i: usize| args[i].parse::<usize>().unwrap_or_else(|e| panic!("{}: {e}", args[i]));
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["serve", _] => serve(number(1) as u16),
        ["hold", _] => hold(number(1) as u16),
        ["connect", to, ..] => connect(to, Duration::from_secs(number(2) as u64), number(3)),
        ["ping", to, _] => ping(to, number(2)),
        ["talk", to, ..] => talk(to, Duration::from_secs(number(2) as u64), number(3)),
        ["idle", to, _] => idle(to, number(2)),
        _ => panic!("see the comment at the top of this file for usage"),
    }
}

fn listen(port: u16) -> TcpListener {
    TcpListener::bind(("127.0.0.1", port)).expect("a free port")
}

fn open(to: &str) -> TcpStream {
    let stream = TcpStream::connect(to).expect("connects");
    stream.set_nodelay(true).expect("an option");
    stream
}

fn answer(stream: &mut TcpStream) {
    let mut buffer = [0; MESSAGE];
    while stream.read_exact(&mut buffer).is_ok() && stream.write_all(&buffer).is_ok() {}
}

fn serve(port: u16) {
    let listener = Arc::new(listen(port));
    let serving: Vec<_> = (0..SERVERS)
        .map(|_| {
            let listener = listener.clone();
            thread::spawn(move || {
                while let Ok((mut stream, _)) = listener.accept() {
                    let _ = stream.set_nodelay(true);
                    answer(&mut stream);
                }
            })
        })
        .collect();
    serving.into_iter().for_each(|t| drop(t.join()));
}

fn hold(port: u16) {
    let mut all = Vec::new();
    for stream in listen(port).incoming() {
        let Ok(mut stream) = stream else { continue };
        let mut buffer = [0; MESSAGE];
        if stream.read_exact(&mut buffer).is_ok() {
            let _ = stream.write_all(&buffer);
        }
        all.push(stream);
    }
}

fn talk(to: &str, time: Duration, clients: usize) {
    let done = AtomicU64::new(0);
    let started = Instant::now();
    thread::scope(|scope| {
        for _ in 0..clients {
            scope.spawn(|| {
                let (mut stream, mut buffer) = (open(to), [7; MESSAGE]);
                while started.elapsed() < time {
                    stream.write_all(&buffer).expect("sends");
                    stream.read_exact(&mut buffer).expect("receives");
                    done.fetch_add(1, Relaxed);
                }
            });
        }
    });
    println!("{:.0}", done.load(Relaxed) as f64 / started.elapsed().as_secs_f64());
}

fn connect(to: &str, time: Duration, clients: usize) {
    let (stop, done) = (AtomicBool::new(false), AtomicU64::new(0));
    let started = Instant::now();
    thread::scope(|scope| {
        for _ in 0..clients {
            scope.spawn(|| {
                let mut buffer = [1; MESSAGE];
                while !stop.load(Relaxed) {
                    let Ok(mut stream) = TcpStream::connect(to) else { continue };
                    let whole = stream.write_all(&buffer).is_ok()
                        && stream.read_exact(&mut buffer).is_ok()
                        && stream.shutdown(Shutdown::Write).is_ok()
                        && stream.read(&mut buffer).is_ok_and(|n| n == 0);
                    done.fetch_add(u64::from(whole), Relaxed);
                }
            });
        }
        thread::sleep(time);
        stop.store(true, Relaxed);
    });
    println!("{:.0}", done.load(Relaxed) as f64 / started.elapsed().as_secs_f64());
}

fn ping(to: &str, count: usize) {
    let mut stream = open(to);
    let mut buffer = [1; MESSAGE];
    let mut times: Vec<f64> = (0..count)
        .map(|_| {
            let started = Instant::now();
            stream.write_all(&buffer).expect("sends");
            stream.read_exact(&mut buffer).expect("receives");
            started.elapsed().as_secs_f64() * 1e6
        })
        .collect();
    times.sort_by(f64::total_cmp);
    println!("{:.2} {:.2}", times[count / 2], times[count * 99 / 100]);
}

fn idle(to: &str, count: usize) {
    let mut all = Vec::new();
    let mut buffer = [1; MESSAGE];
    for _ in 0..count {
        let mut stream = open(to);
        stream.write_all(&buffer).expect("sends");
        stream.read_exact(&mut buffer).expect("receives");
        all.push(stream);
    }
    println!("ready");
    let _ = std::io::stdin().read(&mut buffer);
}
