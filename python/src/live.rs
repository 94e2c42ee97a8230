//! A sender in real time, outside the kernel: the counterpart on sockets of the learning environment in
//! virtual time.
//!
//! Its segments are UDP datagrams ([`sim::world::encode_segment`]). During a step this thread sleeps until a
//! datagram arrives or a timer is due, with Python's lock released. The sender does its own pacing, with a
//! timer for each packet.

use crate::errors::raise;
use crate::load::LoadedScenario;
use congestion::Control;
use linux::poll::wait_readable;
use linux::schedule::exact_timers;
use linux::socket::{SocketOption, set_option};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use scenario::Scenario;
use sim::world::{WindowActor, WorldError, decode_segment, encode_segment};
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use transport::{Segment, Tcp};
use units::{Span, Time};

/// The largest UDP datagram.
const MAX_DATAGRAM: usize = 65_535;
/// Maximum duration of a handshake. Linux gives up a SYN after 127 s, but a run in the lab is rarely that
/// long.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(20);
/// Bytes that the application keeps written and unsent: more than any window takes.
const ALWAYS_WRITTEN: u64 = 1 << 40;
/// Socket buffer for datagrams that arrive while this thread does not run, bytes.
const SOCKET_BUFFER: i32 = 4 << 20;

/// One end of a connection, on a socket.
struct LiveEnd {
    socket: UdpSocket,
    tcp: Tcp,
    begun: Instant,
    out: Vec<Segment>,
    datagram: Vec<u8>,
    arrived: Vec<u8>,
}

impl LiveEnd {
    fn new(socket: UdpSocket, tcp: Tcp) -> io::Result<LiveEnd> {
        socket.set_nonblocking(true)?;
        for option in [SocketOption::SO_RCVBUF, SocketOption::SO_SNDBUF] {
            // A refused size is ignored: a smaller buffer only costs packets.
            let _ = set_option(socket.as_fd(), option, SOCKET_BUFFER);
        }
        let (out, datagram) = (Vec::new(), Vec::new());
        Ok(LiveEnd { socket, tcp, begun: Instant::now(), out, datagram, arrived: vec![0; MAX_DATAGRAM] })
    }

    fn now(&self) -> Time {
        Time::from_nanos(self.begun.elapsed().as_nanos() as u64)
    }

    /// Sends the end's segments. If the socket's buffer is full the rest is dropped, as in a full device
    /// queue.
    fn send(&mut self) -> io::Result<()> {
        for segment in self.out.drain(..) {
            encode_segment(&segment, &mut self.datagram);
            match self.socket.send(&self.datagram) {
                // An ICMP message about an earlier datagram.
                Err(e) if e.kind() == io::ErrorKind::ConnectionRefused => {}
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
                sent => sent.map(drop)?,
            }
        }
        Ok(())
    }

    /// Processes everything that has arrived and all due timers.
    fn process_due(&mut self) -> io::Result<()> {
        loop {
            match self.socket.recv(&mut self.arrived) {
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => break,
                Err(e) if e.kind() == io::ErrorKind::ConnectionRefused => {}
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                n => self.arrive(n?)?,
            }
        }
        let now = self.now();
        if self.tcp.next_wake().is_some_and(|due| due <= now) {
            self.tcp.handle_wake(now, &mut self.out);
            self.send()?;
        }
        Ok(())
    }

    fn arrive(&mut self, n: usize) -> io::Result<()> {
        if let Some(segment) = decode_segment(&self.arrived[..n]) {
            let now = self.now();
            self.tcp.handle_segment(now, &segment, &mut self.out);
            self.send()?;
        }
        Ok(())
    }

    /// Sleeps until a datagram arrives, a timer is due, or it is `until`.
    fn wait(&self, until: Time) {
        let due = self.tcp.next_wake().map_or(until, |due| due.min(until));
        let left = due.since(self.now().min(due)).as_nanos();
        // A signal ends the sleep early, which costs one round of the loop.
        let _ = wait_readable(self.socket.as_fd(), Duration::from_nanos(left));
    }

    fn play_until(&mut self, until: Time) -> io::Result<Time> {
        loop {
            self.process_due()?;
            let now = self.now();
            if now >= until {
                return Ok(now);
            }
            self.wait(until);
        }
    }
}

fn usage(py: Python<'_>, e: impl ToString) -> PyErr {
    raise(py, "UsageError", &e.to_string())
}

fn failed(py: Python<'_>, e: &io::Error) -> PyErr {
    raise(py, "RunError", &format!("socket of the sender: {e}"))
}

/// The limits of the scenario's stack at one end of a flow, with the path's MTU.
fn limits(scenario: &Scenario, flow: usize, sends: bool) -> Option<transport::Limits> {
    let flow = scenario.flows.get(flow)?;
    let (here, there) = if sends { (flow.from, flow.to) } else { (flow.to, flow.from) };
    let mtu = scenario.mtu(flow.from, flow.to) - scenario.longer_header(there);
    let pacing = flow.max_pacing_rate.filter(|_| sends);
    Some(scenario.hosts[here].stack.own_limits(mtu, pacing))
}

fn variant(loaded: &LoadedScenario) -> Option<&Scenario> {
    loaded.read.experiment.variants.first().map(|v| &v.scenario)
}

/// A running sender.
#[pyclass(frozen, module = "longfat._native")]
pub struct LiveSender(Mutex<(LiveEnd, WindowActor)>);

#[pymethods]
impl LiveSender {
    /// Connects the scenario's flow to the receiver at `to`. Returns when the connection is established and
    /// has an RTT sample.
    #[new]
    #[pyo3(signature = (loaded, *, flow, to, seed, scheme, classic))]
    fn new(
        py: Python<'_>,
        loaded: &LoadedScenario,
        flow: usize,
        to: &str,
        seed: u64,
        scheme: &str,
        classic: Option<&str>,
    ) -> PyResult<LiveSender> {
        let known = |name: &str| {
            Control::named(name).ok_or_else(|| usage(py, format!("no control is called `{name}`")))
        };
        let mut actor =
            WindowActor::new(scheme, classic.map(known).transpose()?).map_err(|e| usage(py, e))?;
        let to: SocketAddr = to.parse().map_err(|e| usage(py, format!("{to}: {e}")))?;
        let limits = variant(loaded).and_then(|scenario| limits(scenario, flow, true));
        let limits = limits.ok_or_else(|| usage(py, "no such flow"))?;
        let tcp = Tcp::new(limits, actor.control(seed, &format!("world.{flow}")));
        let end = py.detach(|| {
            exact_timers();
            let any = if to.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
            let socket = UdpSocket::bind(any)?;
            socket.connect(to)?;
            let mut end = LiveEnd::new(socket, tcp)?;
            let now = end.now();
            end.tcp.connect(now, &mut end.out);
            end.tcp.write(now, ALWAYS_WRITTEN, false, &mut end.out);
            end.send()?;
            while !WindowActor::may_begin(&end.tcp) {
                if end.begun.elapsed() > HANDSHAKE_TIMEOUT {
                    return Err(io::Error::from(io::ErrorKind::TimedOut));
                }
                let until = end.now() + Span::from_millis(1);
                end.play_until(until)?;
            }
            let now = end.now();
            actor.begin(now, &mut end.tcp);
            Ok(end)
        });
        let end = end.map_err(|e| failed(py, &e))?;
        Ok(LiveSender(Mutex::new((end, actor))))
    }

    /// The current observation.
    fn observation<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        PyBytes::new(py, &bytes(held.1.observation()))
    }

    /// Executes an action (`None`: none) and plays until this many nanoseconds after the sender was created.
    /// Returns the observation and the reward.
    fn step<'py>(
        &self,
        py: Python<'py>,
        action: Option<Vec<f64>>,
        until_ns: u64,
    ) -> PyResult<(Bound<'py, PyBytes>, f64)> {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (end, actor) = &mut *held;
        if let Some(action) = action {
            actor.act(&action, &mut end.tcp).map_err(|e: WorldError| usage(py, e))?;
        }
        let now = py.detach(|| end.play_until(Time::from_nanos(until_ns))).map_err(|e| failed(py, &e))?;
        actor.measure(now, &end.tcp);
        Ok((PyBytes::new(py, &bytes(actor.observation())), actor.reward()))
    }

    /// The measurements of the last step by name, and the payload acknowledged in order.
    fn figures<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let all = PyDict::new(py);
        for (name, value) in held.1.figures().named() {
            all.set_item(name, value)?;
        }
        all.set_item("delivered_bytes", held.0.tcp.tx.s.snd_una)?;
        Ok(all)
    }
}

/// An observation as float32 in native byte order.
fn bytes(seen: &[f32]) -> Vec<u8> {
    seen.iter().flat_map(|x| x.to_ne_bytes()).collect()
}

/// Receives one connection of the scenario's flow at this port until the process is killed or the socket
/// fails.
#[pyfunction]
pub fn live_receive(py: Python<'_>, loaded: &LoadedScenario, flow: usize, port: u16) -> PyResult<()> {
    let scenario = variant(loaded).and_then(|scenario| Some((scenario, scenario.flows.get(flow)?)));
    let (scenario, of) = scenario.ok_or_else(|| usage(py, "no such flow"))?;
    let limits = limits(scenario, flow, false).ok_or_else(|| usage(py, "no such flow"))?;
    let tcp = Tcp::new(limits, of.cc.make(0, "live"));
    let received = py.detach(|| -> io::Result<()> {
        exact_timers();
        let any = if scenario.address(of.to).is_ipv4() { "0.0.0.0" } else { "::" };
        let socket = UdpSocket::bind((any, port))?;
        let mut end = LiveEnd::new(socket, tcp)?;
        end.socket.set_nonblocking(false)?;
        let (n, from) = end.socket.recv_from(&mut end.arrived)?;
        end.socket.connect(from)?;
        end.socket.set_nonblocking(true)?;
        end.arrive(n)?;
        loop {
            let until = end.now() + Span::from_secs(1);
            end.play_until(until)?;
        }
    });
    received.map_err(|e| failed(py, &e))
}
