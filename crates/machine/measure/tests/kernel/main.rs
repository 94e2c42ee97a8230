//! A server and its clients on loopback: good ones are served whatever bad ones do.

#![cfg(target_os = "linux")]

use measure::client::{Client, ClientError, StreamOptions};
use measure::datagram::{DatagramHead, DatagramKind};
use measure::frame::{MAX_REPLY, MAX_REQUEST, decode, encode};
use measure::message::SessionId;
use measure::server::{ServeOptions, ServerEvent, serve};
use measure::{Reply, Request, SessionLimits, TrainOrder};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

const TOKEN: &[u8] = b"a token of the tests";

/// A server in this process; it ends on drop.
struct Server {
    at: SocketAddr,
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    fn start(change: impl FnOnce(&mut ServeOptions)) -> Server {
        let mut options = ServeOptions {
            listen: "127.0.0.1:0".parse().expect("an address"),
            token: None,
            max_clients: 4,
            max_per_address: 4,
            limits: SessionLimits { rate: None, seconds: 60, bytes: 1 << 30 },
            time: None,
            onward: Vec::new(),
        };
        change(&mut options);
        let ended = Arc::new(AtomicBool::new(false));
        let (send, listening) = mpsc::channel();
        let thread = std::thread::spawn({
            let ended = ended.clone();
            move || {
                let log = |event| {
                    if let ServerEvent::Listening(at) = event {
                        let _ = send.send(at);
                    }
                };
                // The channel's sender is for one thread at a time.
                let log = std::sync::Mutex::new(log);
                let log = |event| log.lock().expect("no panic")(event);
                let onward = |host: &str, port: u16, _: &mut dyn FnMut() -> bool| match host {
                    "down" => Err("it cannot be reached".into()),
                    _ => Ok(format!("{{\"to\":\"{host}:{port}\"}}")),
                };
                serve(&options, &onward, &mut || ended.load(Relaxed), &log).expect("it serves");
            }
        });
        let at = listening.recv_timeout(Duration::from_secs(10)).expect("it listens");
        Server { at, ended, thread: Some(thread) }
    }

    fn client(&self) -> Result<Client, ClientError> {
        Client::connect("127.0.0.1", self.at.port(), None)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.ended.store(true, Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Asserts that a client gets echoes, streams in both directions, and trains.
fn is_served(server: &Server) {
    let mut client = server.client().expect("a session");
    assert!(client.open_datagrams(), "datagrams pass");
    let go = &mut || true;
    let echoes = client.echo(5, Duration::from_millis(5), go);
    assert_eq!((echoes.sent, echoes.rtt_ms.len()), (5, 5));
    let options = StreamOptions { connections: 2, ms: 300, echo_ms: Some(20), ..StreamOptions::default() };
    let down = client.download(&options, go).expect("a download");
    assert!(down.bytes() > 100_000, "{} bytes", down.bytes());
    assert_eq!((down.sender.streams.len(), down.receiver.streams.len()), (2, 2));
    assert!(down.sender.streams.iter().all(|s| s.acked > 0 && s.busy_s.is_some()), "{:?}", down.sender);
    let up = client.upload(&StreamOptions { pacing: Some(8_000_000), ..options }, go).expect("an upload");
    assert!(up.bytes() > 50_000, "{} bytes", up.bytes());
    assert!(up.echoes.sent > 0 && up.echoes.loss() < 1.0);
    let order = TrainOrder {
        first: 0,
        sizes: vec![100, 1200],
        tos: vec![0, 2],
        count: 40,
        rate: 4_000_000,
        whole: true,
    };
    for train in [client.train_up(&order, Duration::ZERO), client.train_down(&order, Duration::ZERO)] {
        let train = train.expect("a train");
        assert_eq!(train.packets.len(), 40);
        let arrived = train.packets.iter().filter(|p| p.arrived_us.is_some() && p.arrived_tos == Some(p.tos));
        assert_eq!(arrived.count(), 40, "{train:?}");
    }
}

#[test]
fn a_client_is_served() {
    is_served(&Server::start(|_| ()));
}

#[test]
fn ten_thousand_connections_neither_stall_others_nor_take_memory() {
    let server = Server::start(|_| ());
    is_served(&server);
    let before = linux::process::resident();
    let mut kept = Vec::new();
    for i in 0..10_000 {
        let Ok(mut stream) = TcpStream::connect(server.at) else { continue };
        // Some say nothing, some the begin of a message, some garbage, some a length without end.
        let _ = match i % 4 {
            0 => Ok(()),
            1 => stream.write_all(&encode(&Request::Hello { version: 1 })[..7]),
            2 => stream.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"),
            _ => stream.write_all(&[0xff; 64]),
        };
        if kept.len() < 400 {
            kept.push(stream);
        }
    }
    is_served(&server);
    let grown = linux::process::resident().saturating_sub(before);
    assert!(grown < 32 << 20, "{grown} bytes more");
}

/// Reads a reply; `None` if the connection ends without one.
fn reply(stream: &mut TcpStream) -> Option<Reply> {
    stream.set_read_timeout(Some(Duration::from_secs(10))).expect("a socket");
    let mut bytes = Vec::new();
    let mut chunk = [0; 4096];
    loop {
        if let Some((reply, _)) = decode(&bytes, MAX_REPLY).expect("a reply") {
            return Some(reply);
        }
        match stream.read(&mut chunk) {
            Ok(0) | Err(_) => return None,
            Ok(n) => bytes.extend(&chunk[..n]),
        }
    }
}

/// Opens a session by hand.
fn session(at: SocketAddr) -> (TcpStream, SessionId) {
    let mut control = TcpStream::connect(at).expect("a connection");
    control.write_all(&encode(&Request::Hello { version: measure::VERSION })).expect("sent");
    assert!(matches!(reply(&mut control), Some(Reply::Hello { challenge: None, .. })));
    control.write_all(&encode(&Request::Prove { proof: String::new() })).expect("sent");
    match reply(&mut control) {
        Some(Reply::Session { session, .. }) => (control, session),
        other => panic!("{other:?}"),
    }
}

#[test]
fn datagrams_are_answered_only_to_the_address_that_opened_their_way() {
    let server = Server::start(|_| ());
    let (_control, session) = session(server.at);
    let socket = || {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        socket.set_read_timeout(Some(Duration::from_millis(300))).expect("a socket");
        socket
    };
    let answered = |socket: &UdpSocket, session, kind| {
        let head = DatagramHead { session, kind, number: 1 };
        socket.send_to(&head.encode(), server.at).expect("sent");
        let mut buffer = [0; 100];
        let n = socket.recv(&mut buffer).ok()?;
        DatagramHead::decode(&buffer[..n]).map(|head| head.kind)
    };
    let stranger = socket();
    assert_eq!(answered(&stranger, SessionId([1; 16]), DatagramKind::Open), None, "another id");
    assert_eq!(answered(&stranger, SessionId([1; 16]), DatagramKind::Echo), None, "another id");
    assert_eq!(answered(&stranger, session, DatagramKind::Echo), None, "not opened yet");
    let own = socket();
    assert_eq!(answered(&own, session, DatagramKind::Open), Some(DatagramKind::Opened));
    assert_eq!(answered(&own, session, DatagramKind::Echo), Some(DatagramKind::Echoed));
    assert_eq!(answered(&stranger, session, DatagramKind::Open), None, "the address never changes");
    assert_eq!(answered(&stranger, session, DatagramKind::Echo), None, "the address never changes");
    let elsewhere = UdpSocket::bind("127.0.0.2:0").expect("a socket");
    elsewhere.set_read_timeout(Some(Duration::from_millis(300))).expect("a socket");
    assert_eq!(answered(&elsewhere, session, DatagramKind::Echo), None, "another address");
    assert_eq!(answered(&own, session, DatagramKind::Echo), Some(DatagramKind::Echoed));
}

#[test]
fn a_token_is_needed_where_the_server_has_one() {
    let server = Server::start(|options| options.token = Some(TOKEN.to_vec()));
    let with = |token: Option<&[u8]>| Client::connect("127.0.0.1", server.at.port(), token).map(drop);
    assert!(matches!(with(None), Err(ClientError::TokenNeeded)));
    assert!(matches!(with(Some(b"another token ......")), Err(ClientError::Refused(_))));
    assert!(with(Some(TOKEN)).is_ok());
}

#[test]
fn limits_of_clients_and_bytes_hold() {
    let server = Server::start(|options| {
        options.max_per_address = 1;
        options.limits.bytes = 2_000_000;
    });
    let mut first = server.client().expect("a session");
    let second = server.client().err();
    assert!(matches!(second, Some(ClientError::Refused(_))), "{second:?}");
    let options = StreamOptions { ms: 2000, ..StreamOptions::default() };
    let result = first.download(&options, &mut || true).expect("a download");
    // What was given to the socket before the limit was met may be more by one call.
    assert!(result.bytes() <= 2_100_000, "{} bytes", result.bytes());
    assert!(first.download(&options, &mut || true).is_err(), "the session has ended");
}

#[test]
fn requests_out_of_order_or_out_of_bounds_end_the_session() {
    let server = Server::start(|_| ());
    let orders = [
        Request::Download { streams: 0, ms: 1000 },
        Request::Download { streams: 1000, ms: 1000 },
        Request::Upload { streams: 1, ms: u32::MAX },
        Request::Hello { version: 1 },
        Request::Train {
            train: TrainOrder {
                first: 0,
                sizes: vec![],
                tos: vec![],
                count: u32::MAX,
                rate: u64::MAX,
                whole: true,
            },
        },
    ];
    for order in orders {
        let (mut control, _) = session(server.at);
        control.write_all(&encode(&order)).expect("sent");
        assert!(matches!(reply(&mut control), Some(Reply::Refused { .. })), "{order:?}");
        assert_eq!(reply(&mut control), None, "it is closed");
    }
    let (mut control, _) = session(server.at);
    control.write_all(&((MAX_REQUEST + 1) as u32).to_be_bytes()).expect("sent");
    assert_eq!(reply(&mut control), None, "too long a message ends the session");
    is_served(&server);
}

#[test]
fn onward_is_only_to_hosts_that_the_server_permits() {
    let server = Server::start(|options| options.onward = vec![("up".into(), 1), ("down".into(), 1)]);
    let mut client = server.client().expect("a session");
    let mut onward =
        |host, port| client.onward(host, port, Duration::from_secs(10)).map_err(|e| e.to_string());
    assert_eq!(onward("up", 1), Ok("{\"to\":\"up:1\"}".into()));
    assert_eq!(onward("down", 1), Err("the server refuses: it cannot be reached".into()));
    for (host, port) in [("up", 2), ("other", 1), ("", 0)] {
        let refused = onward(host, port).expect_err("it is not permitted");
        assert!(refused.contains("may not measure the path"), "{refused}");
    }
    assert!(onward("up", 1).is_ok(), "the session goes on");
}
