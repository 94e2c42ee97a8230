//! Helpers for the tests of a running proxy: streams with known bytes, servers, a proxy on loopback.

#![allow(dead_code)] // each test file uses a part

use proxy::{Proxy, ProxyConfig, ProxyCounter};
use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Timeout of all waits; a test that hangs fails.
pub const WAIT_TIMEOUT: Duration = Duration::from_secs(60);

/// Word `at` of the stream `seed` (splitmix64 of its position), so that lost, duplicated and reordered bytes
/// are detected.
fn word(seed: u64, at: u64) -> [u8; 8] {
    let mut x = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(at);
    x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    (x ^ x >> 31).to_le_bytes()
}

/// Fills `out` with the stream `seed`, starting at byte `at`.
pub fn fill(seed: u64, at: u64, out: &mut [u8]) {
    for (i, byte) in out.iter_mut().enumerate() {
        let at = at + i as u64;
        *byte = word(seed, at / 8)[(at % 8) as usize];
    }
}

/// Writes `bytes` of the stream `seed` in pieces of at most `piece`.
pub fn write_stream(mut to: &TcpStream, seed: u64, bytes: u64, piece: usize) -> io::Result<()> {
    let mut buffer = vec![0; piece];
    let mut at = 0;
    while at < bytes {
        let n = piece.min((bytes - at) as usize);
        fill(seed, at, &mut buffer[..n]);
        to.write_all(&buffer[..n])?;
        at += n as u64;
    }
    Ok(())
}

/// Reads to the end and checks every byte. Returns their number.
pub fn read_stream(mut from: &TcpStream, seed: u64) -> io::Result<u64> {
    let (mut buffer, mut wanted) = (vec![0; 64 << 10], vec![0; 64 << 10]);
    let mut at = 0;
    loop {
        match from.read(&mut buffer)? {
            0 => return Ok(at),
            n => {
                fill(seed, at, &mut wanted[..n]);
                assert!(
                    buffer[..n] == wanted[..n],
                    "stream {seed} differs between {at} and {}",
                    at + n as u64
                );
                at += n as u64;
            }
        }
    }
}

/// A server that handles every connection the same way, each in a thread.
pub struct TestServer {
    pub address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl TestServer {
    pub fn new(serve: impl Fn(TcpStream) + Send + Sync + 'static) -> TestServer {
        TestServer::at("127.0.0.1:0".parse().unwrap(), serve)
    }

    pub fn at(address: SocketAddr, serve: impl Fn(TcpStream) + Send + Sync + 'static) -> TestServer {
        let listener = TcpListener::bind(address).unwrap();
        let address = listener.local_addr().unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let (stopping, serve) = (stop.clone(), Arc::new(serve));
        let thread = thread::spawn(move || {
            for stream in listener.incoming() {
                if stopping.load(Ordering::Relaxed) {
                    return;
                }
                let (Ok(stream), serve) = (stream, serve.clone()) else { continue };
                stream.set_read_timeout(Some(WAIT_TIMEOUT)).unwrap();
                thread::spawn(move || serve(stream));
            }
        });
        TestServer { address, stop, thread: Some(thread) }
    }

    /// A server that echoes.
    pub fn echo() -> TestServer {
        TestServer::new(echo)
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let _ = TcpStream::connect(self.address);
        self.thread.take().into_iter().for_each(|t| drop(t.join()));
    }
}

pub fn echo(mut stream: TcpStream) {
    let mut buffer = vec![0; 64 << 10];
    while let Ok(n) = stream.read(&mut buffer) {
        if n == 0 || stream.write_all(&buffer[..n]).is_err() {
            break;
        }
    }
    let _ = stream.shutdown(Shutdown::Write);
}

/// Starts a proxy with this configuration; its log goes to the test's output.
pub fn start(config: &ProxyConfig) -> Proxy {
    let log = Box::new(|entry| eprintln!("{}", serde_json::Value::Object(entry)));
    Proxy::start(config, BTreeMap::new(), log).unwrap_or_else(|e| panic!("{e}"))
}

/// A proxy on loopback for one server, with two loops.
pub fn proxy_for(server: &TestServer) -> (Proxy, SocketAddr) {
    let proxy = start(&config(server.address));
    let address = proxy.addresses()[0];
    (proxy, address)
}

pub fn config(server: SocketAddr) -> ProxyConfig {
    ProxyConfig { workers: Some(2), ..ProxyConfig::on_loopback(server) }
}

pub fn connect(to: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(to).unwrap_or_else(|e| panic!("{to}: {e}"));
    stream.set_read_timeout(Some(WAIT_TIMEOUT)).unwrap();
    stream.set_nodelay(true).unwrap();
    stream
}

/// Waits until a condition holds.
pub fn until(what: &str, holds: impl Fn() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < WAIT_TIMEOUT, "{what} does not come");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Sends bytes and reads their echo.
pub fn exchange(stream: &mut TcpStream, text: &[u8]) -> io::Result<()> {
    stream.write_all(text)?;
    let mut back = vec![0; text.len()];
    stream.read_exact(&mut back)?;
    assert_eq!(back, text);
    Ok(())
}

/// Resets the connection by closing it.
pub fn reset(stream: TcpStream) {
    let linger = libc::linger { l_onoff: 1, l_linger: 0 };
    let size = size_of::<libc::linger>() as u32;
    let fd = std::os::fd::AsRawFd::as_raw_fd(&stream);
    // SAFETY: reads the structure, whose size is given.
    #[allow(unsafe_code)]
    let code =
        unsafe { libc::setsockopt(fd, libc::SOL_SOCKET, libc::SO_LINGER, (&raw const linger).cast(), size) };
    assert_eq!(code, 0);
}

/// Returns the number of this process's descriptors.
pub fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

pub fn counter_values(proxy: &Proxy, counters: &[ProxyCounter]) -> Vec<u64> {
    counters.iter().map(|c| proxy.counted(*c)).collect()
}
