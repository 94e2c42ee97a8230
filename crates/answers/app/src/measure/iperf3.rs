//! The tests where only `iperf3 -s` is at the far end: the installed iperf3 client runs each, and its JSON is
//! read. The keys are listed at the head of `fit`'s reader of the same JSON, which makes scenarios of it.
//!
//! Without `longfat serve` there are no echoes and trains, so delay under load, path MTU, ECN, DSCP, order
//! and the trains' verdict on the limit are unknown.

use super::model::{Direction, StreamTest};
use ::measure::client::StreamOptions;
use serde_json::Value;
use std::io::{self, Read};
use std::net::{IpAddr, SocketAddr, ToSocketAddrs, UdpSocket};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Port of `iperf3 -s` unless another is given.
pub const IPERF3_PORT: u16 = 5201;

/// Part of a test, one in this many, that iperf3 omits (`-O`): connections start.
const OMITTED: f64 = 4.0;
/// Time beyond that of a test in which iperf3 must end.
const GRACE: Duration = Duration::from_secs(15);

/// Why iperf3 could not measure.
#[derive(Debug, thiserror::Error)]
pub enum Iperf3Error {
    #[error(
        "iperf3 is not installed on this host: the package is `iperf3` (`apt install iperf3`, `dnf install iperf3`)"
    )]
    Missing,
    #[error("{0}: no such host: {1}")]
    Name(String, io::Error),
    #[error("iperf3 cannot be run: {0}")]
    Run(io::Error),
    #[error("iperf3: {0}")]
    Failed(String),
    #[error("iperf3 did not end {0} s after its test should have")]
    Late(u64),
    #[error("iperf3 prints something else than the JSON of a test: {0}")]
    Json(String),
}

/// An iperf3 server.
pub struct Iperf3 {
    server: SocketAddr,
}

impl Iperf3 {
    /// Finds the server's address, and that iperf3 is installed. The server is not contacted.
    ///
    /// # Errors
    /// Fails when iperf3 is missing, or there is no such host.
    pub fn open(host: &str, port: u16) -> Result<Iperf3, Iperf3Error> {
        let version =
            Command::new("iperf3").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        version.map_err(started)?;
        let name = |e| Iperf3Error::Name(host.to_string(), e);
        let mut addresses = (host, port).to_socket_addrs().map_err(name)?;
        let server = addresses.next().ok_or_else(|| name(io::ErrorKind::NotFound.into()))?;
        Ok(Iperf3 { server })
    }

    /// The server's address and port.
    pub fn server(&self) -> SocketAddr {
        self.server
    }

    /// The address that this host uses towards the server; unspecified where no route is known.
    pub fn local(&self) -> IpAddr {
        let any: SocketAddr = match self.server {
            SocketAddr::V4(_) => ([0, 0, 0, 0], 0).into(),
            SocketAddr::V6(_) => ([0u16; 8], 0).into(),
        };
        // Connecting a UDP socket sends nothing.
        let local = || -> io::Result<IpAddr> {
            let socket = UdpSocket::bind(any)?;
            socket.connect(self.server)?;
            Ok(socket.local_addr()?.ip())
        };
        local().unwrap_or(any.ip())
    }

    /// Runs a test. `tick` is called at least every 50 ms and ends the test by `false`.
    ///
    /// # Errors
    /// Fails when iperf3 does.
    pub fn stream(
        &self,
        name: &str,
        direction: Direction,
        options: &StreamOptions,
        tick: &mut dyn FnMut() -> bool,
    ) -> Result<StreamTest, Iperf3Error> {
        let seconds = (f64::from(options.ms) / 1e3).round().max(2.0);
        let omitted = (seconds / OMITTED).round().max(1.0);
        let arguments = arguments(self.server, direction, options, [seconds - omitted, omitted]);
        let text = run(&arguments, Duration::from_secs_f64(seconds), tick)?;
        test(name, direction, &text)
    }
}

/// The arguments of a test; `seconds` that are measured, and omitted before.
fn arguments(
    server: SocketAddr,
    direction: Direction,
    options: &StreamOptions,
    [measured, omitted]: [f64; 2],
) -> Vec<String> {
    let mut all: Vec<String> = ["-J", "-c"].map(String::from).into();
    all.push(server.ip().to_string());
    let mut option = |name: &str, value: String| all.extend([name.to_string(), value]);
    option("-p", server.port().to_string());
    option("-t", measured.to_string());
    option("-O", omitted.to_string());
    option("-P", options.connections.max(1).to_string());
    if let Some(control) = &options.control {
        option("-C", control.clone());
    }
    if let Some(mss) = options.mss {
        option("-M", mss.to_string());
    }
    if let Some(rate) = options.pacing {
        option("--fq-rate", rate.to_string());
    }
    if direction == Direction::Down {
        all.push("-R".into());
    }
    all
}

fn started(e: io::Error) -> Iperf3Error {
    if e.kind() == io::ErrorKind::NotFound { Iperf3Error::Missing } else { Iperf3Error::Run(e) }
}

/// Runs iperf3 and returns what it prints.
fn run(arguments: &[String], time: Duration, tick: &mut dyn FnMut() -> bool) -> Result<String, Iperf3Error> {
    let mut command = Command::new("iperf3");
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().map_err(started)?;
    let mut out = child.stdout.take();
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        out.as_mut().map(|out| out.read_to_string(&mut text)).transpose().map(|_| text)
    });
    let begin = Instant::now();
    let ended = loop {
        match child.try_wait() {
            Ok(Some(_)) => break Ok(()),
            Ok(None) if !tick() => break Err(Iperf3Error::Failed("the test was interrupted".into())),
            Ok(None) if begin.elapsed() > time + GRACE => break Err(Iperf3Error::Late(GRACE.as_secs())),
            Ok(None) => std::thread::sleep(Duration::from_millis(50)),
            Err(e) => break Err(Iperf3Error::Run(e)),
        }
    };
    if ended.is_err() {
        let _ = child.kill();
        let _ = child.wait();
    }
    let text = reader.join().unwrap_or_else(|_| Ok(String::new())).map_err(Iperf3Error::Run)?;
    ended.map(|()| text)
}

/// Reads the JSON of a test.
fn test(name: &str, direction: Direction, text: &str) -> Result<StreamTest, Iperf3Error> {
    let all: Value = serde_json::from_str(text).map_err(|e| Iperf3Error::Json(e.to_string()))?;
    if let Some(why) = all.get("error").and_then(Value::as_str) {
        return Err(Iperf3Error::Failed(why.strip_prefix("error - ").unwrap_or(why).into()));
    }
    let number = |at: &str| all.pointer(at).and_then(Value::as_f64).filter(|x| x.is_finite() && *x >= 0.0);
    let needed = |at: &str| number(at).ok_or_else(|| Iperf3Error::Json(format!("`{at}` is missing")));
    let (bytes, seconds) = (needed("/end/sum_received/bytes")?, needed("/end/sum_received/seconds")?);
    let mss = number("/start/tcp_mss_default").unwrap_or_default();
    let streams = all.pointer("/end/streams").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    // Where the sender is another system, retransmissions are missing; without -R they are this host's.
    let retransmitted = number("/end/sum_sent/retransmits").unwrap_or_default();
    let sent = needed("/end/sum_sent/bytes")? / mss.max(1.0) + retransmitted;
    let min_rtt = |stream: &Value| stream.pointer("/sender/min_rtt")?.as_f64().filter(|us| *us > 0.0);
    let control = all.pointer("/end/sender_tcp_congestion").and_then(Value::as_str).unwrap_or_default();
    Ok(StreamTest {
        name: name.into(),
        direction,
        connections: streams.len() as u32,
        seconds,
        bytes: bytes as u64,
        goodput_mbps: if seconds > 0.0 { bytes * 8e-6 / seconds } else { 0.0 },
        control: super::stream_test::plain(control),
        retransmitted_share: if sent > 0.0 { retransmitted / sent } else { 0.0 },
        min_rtt_ms: streams.iter().filter_map(min_rtt).reduce(f64::min).map(|us| us / 1e3),
        mss: mss as u32,
        ..StreamTest::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const POLICED: &str = include_str!("../../../../faces/cli/tests/cli/measured/iperf3-policed.json");

    #[test]
    fn the_json_of_a_test_is_read() {
        let up = test("up", Direction::Up, POLICED).expect("a test");
        assert_eq!((up.connections, up.control.as_str(), up.mss, up.bytes), (1, "reno", 1448, 7_323_408));
        assert!((up.goodput_mbps - 5.835).abs() < 1e-3, "{up:?}");
        assert_eq!(up.min_rtt_ms, Some(40.139));
        // 50 retransmissions, and 7,589,840 bytes in segments of 1448.
        assert!((up.retransmitted_share - 50.0 / (50.0 + 7_589_840.0 / 1448.0)).abs() < 1e-9, "{up:?}");
        let busy = r#"{"start": {}, "error": "error - the server is busy running a test. try again later"}"#;
        let why = test("up", Direction::Up, busy).expect_err("an error").to_string();
        assert_eq!(why, "iperf3: the server is busy running a test. try again later");
        for wrong in ["", "{}", "{\"end\": {\"sum_received\": {\"bytes\": -1}}}"] {
            assert!(matches!(test("up", Direction::Up, wrong), Err(Iperf3Error::Json(_))), "{wrong}");
        }
    }

    #[test]
    fn a_test_becomes_the_options_of_iperf3() {
        let options = StreamOptions {
            connections: 4,
            control: Some("bbr".into()),
            pacing: Some(18_000_000),
            ..StreamOptions::default()
        };
        let server = "192.0.2.1:5201".parse().expect("an address");
        let line = |direction| arguments(server, direction, &options, [4.0, 1.0]).join(" ");
        let up = "-J -c 192.0.2.1 -p 5201 -t 4 -O 1 -P 4 -C bbr --fq-rate 18000000";
        assert_eq!(line(Direction::Up), up);
        assert_eq!(line(Direction::Down), format!("{up} -R"));
    }
}
