//! Two ends in this process, connected over loopback, with servers and streams whose every byte is known.

#![allow(dead_code)]

use pair::{Pair, PrivateKey};
use proxy::{HostPort, PairConfig, PairListenerConfig, PairUpstreamConfig, PeerConfig, PublicKey};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

/// Longer than anything in these tests takes.
pub const DEADLINE: Duration = Duration::from_secs(20);

/// A free address on loopback.
pub fn any() -> SocketAddr {
    (Ipv4Addr::LOCALHOST, 0).into()
}

/// A key for this test, and its file.
pub fn key(test: &str, end: &str) -> (PathBuf, PublicKey) {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let path = folder.join(format!("{}-{test}-{end}.key", env!("CARGO_CRATE_NAME")));
    let _ = std::fs::remove_file(&path);
    let key = PrivateKey::generate().expect("randomness");
    key.write(&path).expect("writes");
    (path, key.public())
}

/// The configurations of both ends: `near` connects to `far`.
pub struct Setting {
    pub near: PairConfig,
    pub far: PairConfig,
}

impl Setting {
    /// A listener at the near end, a server at the far end.
    pub fn new(test: &str, server: SocketAddr) -> Setting {
        let (near_key, near_public) = key(test, "near");
        let (far_key, far_public) = key(test, "far");
        let mut near = PairConfig::of(near_key, PeerConfig::of(far_public, Some(HostPort::Address(any()))));
        near.listeners.insert("main".into(), PairListenerConfig::of(any()));
        let mut far = PairConfig::of(far_key, PeerConfig::of(near_public, None));
        far.listen = Some(any());
        far.upstreams.insert("main".into(), PairUpstreamConfig::of(vec![HostPort::Address(server)]));
        Setting { near, far }
    }

    /// Starts the far end, then the near one, which connects to it through `through` or directly.
    pub fn start(&mut self, through: Option<&dyn Fn(SocketAddr) -> SocketAddr>) -> Ends {
        let (far, _) = start(&self.far);
        let quic = address(&far, "quic");
        self.far.listen = Some(quic);
        let called = through.map_or(quic, |through| through(quic));
        for peer in self.near.peers.values_mut() {
            peer.address = Some(HostPort::Address(called));
        }
        let (near, events) = start(&self.near);
        Ends { near, far, events }
    }
}

/// Both ends, running.
pub struct Ends {
    pub near: Pair,
    pub far: Pair,
    /// The log of the near end.
    pub events: Receiver<serde_json::Map<String, serde_json::Value>>,
}

impl Ends {
    /// The address of the near end's listener.
    pub fn address(&self) -> SocketAddr {
        address(&self.near, "main")
    }

    /// Waits for a log event of the near end.
    pub fn wait_for(&self, event: &str) -> serde_json::Map<String, serde_json::Value> {
        let end = Instant::now() + DEADLINE;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let entry = self.events.recv_timeout(left).unwrap_or_else(|_| panic!("no {event}"));
            if entry["event"] == event {
                return entry;
            }
        }
    }
}

/// Starts one end.
pub fn start(config: &PairConfig) -> (Pair, Receiver<serde_json::Map<String, serde_json::Value>>) {
    let (tell, events) = mpsc::channel();
    let pair = Pair::start(config, Box::new(move |entry| drop(tell.send(entry)))).expect("starts");
    (pair, events)
}

/// The address of an end's listener with this name.
pub fn address(pair: &Pair, name: &str) -> SocketAddr {
    pair.addresses().into_iter().find(|(n, _)| n == name).expect("listens").1
}

/// The byte at a position of a stream.
pub fn byte(stream: u64, place: usize) -> u8 {
    let x = (place as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ stream.wrapping_mul(0xff51_afd7_ed55_8ccd);
    (x >> 29) as u8
}

/// The first `length` bytes of a stream.
pub fn bytes(stream: u64, length: usize) -> Vec<u8> {
    (0..length).map(|place| byte(stream, place)).collect()
}

/// A server that sends back all it receives, then closes the connection.
pub fn echo() -> SocketAddr {
    serve(|mut tcp| {
        let mut buffer = vec![0; 65_536];
        while let Ok(n) = tcp.read(&mut buffer) {
            if n == 0 || tcp.write_all(&buffer[..n]).is_err() {
                break;
            }
        }
    })
}

/// A server that calls `each` with every connection.
pub fn serve(each: impl Fn(TcpStream) + Send + Sync + Clone + 'static) -> SocketAddr {
    let listener = TcpListener::bind(any()).expect("binds");
    let at = listener.local_addr().expect("has an address");
    thread::spawn(move || {
        for tcp in listener.incoming().flatten() {
            let each = each.clone();
            thread::spawn(move || each(tcp));
        }
    });
    at
}

/// A connection with timeouts.
pub fn connect(to: SocketAddr) -> TcpStream {
    let tcp = TcpStream::connect(to).expect("connects");
    tcp.set_read_timeout(Some(DEADLINE)).expect("sets");
    tcp.set_write_timeout(Some(DEADLINE)).expect("sets");
    tcp
}

/// Sends a stream to its end and compares what comes back.
pub fn exchange(to: SocketAddr, stream: u64, length: usize) {
    let mut tcp = connect(to);
    let mut sending = tcp.try_clone().expect("clones");
    let sent = bytes(stream, length);
    let expected = sent.clone();
    let sender = thread::spawn(move || {
        sending.write_all(&sent).expect("is sent");
        sending.shutdown(std::net::Shutdown::Write).expect("ends");
    });
    let mut got = Vec::new();
    tcp.read_to_end(&mut got).expect("is read to its end");
    sender.join().expect("sends");
    assert_eq!(got.len(), expected.len(), "stream {stream}");
    assert!(got == expected, "stream {stream}: other bytes");
}

/// A UDP forwarder between the ends, like a NAT: it can forget its mapping and take another port.
pub struct Nat {
    pub address: SocketAddr,
    change: mpsc::Sender<Option<Duration>>,
}

impl Nat {
    pub fn new(server: SocketAddr) -> Nat {
        let inside = UdpSocket::bind(any()).expect("binds");
        let address = inside.local_addr().expect("has an address");
        let (change, changes) = mpsc::channel();
        thread::spawn(move || {
            let wait = Some(Duration::from_micros(200));
            inside.set_read_timeout(wait).expect("sets");
            let mut outside = UdpSocket::bind(any()).expect("binds");
            outside.set_read_timeout(wait).expect("sets");
            let (mut client, mut buffer, mut host) = (None, [0; 2048], 0);
            loop {
                match changes.try_recv() {
                    Ok(Some(pause)) => thread::sleep(pause),
                    Ok(None) => {
                        host += 1;
                        outside = UdpSocket::bind((Ipv4Addr::new(127, 0, 0, host), 0)).expect("binds");
                        outside.set_read_timeout(wait).expect("sets");
                    }
                    Err(mpsc::TryRecvError::Empty) => {}
                    Err(mpsc::TryRecvError::Disconnected) => return,
                }
                while let Ok((n, from)) = inside.recv_from(&mut buffer) {
                    client = Some(from);
                    let _ = outside.send_to(&buffer[..n], server);
                }
                while let Ok((n, _)) = outside.recv_from(&mut buffer) {
                    client.map(|client| inside.send_to(&buffer[..n], client));
                }
            }
        });
        Nat { address, change }
    }

    /// Forwards nothing for this time.
    pub fn pause(&self, pause: Duration) {
        self.change.send(Some(pause)).expect("the forwarder runs");
    }

    /// From now on the server sees another port: first of the same address, then of another.
    pub fn rebind(&self) {
        self.change.send(None).expect("the forwarder runs");
    }
}
