//! How the library and a link hold a [`Steering`].

use super::{INITIAL_WINDOW, Steering, SteeringView, WIRE_HEADERS};
use crate::contract::ContractTerms;
use noq_proto::RttEstimator;
use noq_proto::congestion::{self as quic, ControllerMetrics};
use std::any::Any;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use units::Time;

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// When the last packet may be sent, set by a control that knows a bucket and read by the link that sends it.
#[derive(Debug)]
pub struct PacedDeparture {
    pub(super) origin: Instant,
    nanos: AtomicU64,
    sequence: AtomicU64,
    left: AtomicU64,
}

impl PacedDeparture {
    /// When the last packet may be sent, and its number among paced packets.
    pub fn get(&self) -> (Instant, u64) {
        let nanos = self.nanos.load(Ordering::Relaxed);
        (self.origin + Duration::from_nanos(nanos), self.sequence.load(Ordering::Relaxed))
    }

    /// The last packet is sent now, later than it was allowed.
    pub fn set_left(&self, now: Instant) {
        let nanos = now.saturating_duration_since(self.origin).as_nanos() as u64;
        self.left.store(nanos, Ordering::Relaxed);
    }

    pub(super) fn set(&self, at: Time) {
        self.nanos.store(at.as_nanos(), Ordering::Relaxed);
        self.sequence.fetch_add(1, Ordering::Relaxed);
    }

    /// When the last packet was sent, if it had to wait. Returned once.
    pub(super) fn take_left(&self) -> Option<Time> {
        Some(self.left.swap(0, Ordering::Relaxed)).filter(|nanos| *nanos > 0).map(Time::from_nanos)
    }
}

/// Which congestion control a connection gets.
#[derive(Clone, Debug)]
pub struct CongestionChoice {
    /// The seed of the control's random stream.
    pub seed: u64,
    /// The sending time of the last packet, written by the control.
    pub departure: Arc<PacedDeparture>,
    newest: Arc<Mutex<NewestControl>>,
}

/// The settings for the connection's next path, and the control of its newest path.
#[derive(Clone, Debug)]
struct NewestControl {
    /// `contract`, or a name from the registry of controls.
    name: String,
    /// The highest sending rate, bytes per second.
    pace: Option<u64>,
    steering: Option<SteeringHandle>,
}

impl CongestionChoice {
    /// The control of this name, for a connection that starts now.
    pub fn new(name: &str, pace: Option<u64>, seed: u64, now: Instant) -> CongestionChoice {
        let departure = PacedDeparture {
            origin: now,
            nanos: AtomicU64::new(0),
            sequence: AtomicU64::new(0),
            left: AtomicU64::new(0),
        };
        let newest = NewestControl { name: name.into(), pace, steering: None };
        CongestionChoice { seed, departure: Arc::new(departure), newest: Arc::new(Mutex::new(newest)) }
    }
}

/// The library's controller: a handle of a [`Steering`] that survives a change of address of the same host.
#[derive(Clone)]
pub struct SteeringHandle(pub(super) Arc<Mutex<Steering>>);

impl std::fmt::Debug for SteeringHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.lock().cc.name())
    }
}

impl SteeringHandle {
    pub(super) fn lock(&self) -> MutexGuard<'_, Steering> {
        lock(&self.0)
    }
}

impl CongestionChoice {
    /// Changes the control of the connection, once its peer is known.
    pub fn change(&self, name: &str, pace: Option<u64>) {
        let mut newest = lock(&self.newest);
        (newest.name, newest.pace) = (name.into(), pace);
        newest.steering.iter().for_each(|steering| steering.lock().change(name, pace));
    }
}

impl CongestionChoice {
    /// The state of the newest path.
    pub fn view(&self) -> Option<SteeringView> {
        Some(lock(&self.newest).steering.as_ref()?.lock().view())
    }

    /// The believed terms of a policer on the path.
    pub fn terms(&self) -> Option<ContractTerms> {
        lock(&self.newest).steering.as_ref()?.lock().contract.as_ref()?.terms()
    }
}

impl quic::ControllerFactory for CongestionChoice {
    fn build(self: Arc<Self>, _: Instant, mtu: u16) -> Box<dyn quic::Controller> {
        let mut newest = lock(&self.newest);
        let steering = Steering::new(&newest.name, newest.pace, &self, mtu);
        let handle = SteeringHandle(Arc::new(Mutex::new(steering)));
        newest.steering = Some(handle.clone());
        Box::new(handle)
    }
}

impl quic::Controller for SteeringHandle {
    fn on_packet_sent(&mut self, now: Instant, bytes: u16, number: u64) {
        self.lock().on_sent(now, bytes.into(), number);
    }

    fn on_ack(&mut self, now: Instant, _: Instant, _: u64, number: u64, _: bool, rtt: &RttEstimator) {
        self.lock().on_acked(now, number, [rtt.get(), rtt.min()]);
    }

    fn on_end_acks(&mut self, now: Instant, in_flight: u64, app_limited: bool, _: Option<u64>) {
        self.lock().on_ack_end(now, in_flight, app_limited);
    }

    fn on_packet_lost(&mut self, _: u16, number: u64, now: Instant) {
        self.lock().on_lost(now, number);
    }

    fn on_congestion_event(
        &mut self,
        now: Instant,
        _: Instant,
        is_persistent: bool,
        is_marked: bool,
        _: u64,
        largest: u64,
    ) {
        let mut steering = self.lock();
        if is_marked {
            steering.on_marked(now, largest);
        } else {
            steering.on_congestion(now, largest, is_persistent);
        }
    }

    fn on_spurious_congestion_event(&mut self) {
        self.lock().undo();
    }

    fn on_mtu_update(&mut self, mtu: u16) {
        let mut steering = self.lock();
        steering.socket.mss = mtu.into();
        if let Some(contract) = &mut steering.contract {
            contract.set_packet(u64::from(mtu) + WIRE_HEADERS);
        }
    }

    fn window(&self) -> u64 {
        self.lock().bytes_allowed()
    }

    fn metrics(&self) -> ControllerMetrics {
        let steering = self.lock();
        let mut metrics = ControllerMetrics::default();
        metrics.congestion_window = steering.bytes_allowed();
        metrics.pacing_rate = steering.pacing_rate();
        metrics.bandwidth_estimate = steering.cc.probe().btl_bw.map(|bytes| bytes * 8);
        metrics
    }

    fn clone_box(&self) -> Box<dyn quic::Controller> {
        Box::new(self.clone())
    }

    fn initial_window(&self) -> u64 {
        u64::from(INITIAL_WINDOW) * u64::from(self.lock().socket.mss)
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
