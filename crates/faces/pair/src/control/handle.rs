//! A [`Steering`] as the library holds it, and as a link does.

use super::{INITIAL_WINDOW, Steering, SteeringView, WIRE_HEADERS};
use crate::contract::ContractTerms;
use noq_proto::RttEstimator;
use noq_proto::congestion::{self as quic, ControllerMetrics};
use std::any::Any;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use units::Time;

pub(super) fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// When the last packet may leave, as a control that knows a bucket says it; whoever sends it asks.
#[derive(Debug)]
pub struct PacedDeparture {
    pub(super) origin: Instant,
    nanos: AtomicU64,
    order: AtomicU64,
    left: AtomicU64,
}

impl PacedDeparture {
    /// When the last packet may leave, and its number among those that are paced.
    pub fn get(&self) -> (Instant, u64) {
        let nanos = self.nanos.load(Ordering::Relaxed);
        (self.origin + Duration::from_nanos(nanos), self.order.load(Ordering::Relaxed))
    }

    /// The last packet leaves now, later than it might have.
    pub fn left(&self, now: Instant) {
        let nanos = now.saturating_duration_since(self.origin).as_nanos() as u64;
        self.left.store(nanos, Ordering::Relaxed);
    }

    pub(super) fn set(&self, at: Time) {
        self.nanos.store(at.as_nanos(), Ordering::Relaxed);
        self.order.fetch_add(1, Ordering::Relaxed);
    }

    /// When the last packet left, where it waited; told once.
    pub(super) fn take_left(&self) -> Option<Time> {
        Some(self.left.swap(0, Ordering::Relaxed)).filter(|nanos| *nanos > 0).map(Time::from_nanos)
    }
}

/// Which control a connection gets.
#[derive(Clone, Debug)]
pub struct CongestionChoice {
    /// Of the control's random stream.
    pub seed: u64,
    /// Where it says when packets may leave.
    pub departure: Arc<PacedDeparture>,
    newest: Arc<Mutex<NewestControl>>,
}

/// What a connection's next path gets, and its newest one has.
#[derive(Clone, Debug)]
struct NewestControl {
    /// `contract`, or a name of the registry of controls.
    name: String,
    /// The most that is sent, bytes per second.
    pace: Option<u64>,
    steering: Option<SteeringHandle>,
}

impl CongestionChoice {
    /// The control of this name, for one connection that begins now.
    pub fn new(name: &str, pace: Option<u64>, seed: u64, now: Instant) -> CongestionChoice {
        let departure = PacedDeparture {
            origin: now,
            nanos: AtomicU64::new(0),
            order: AtomicU64::new(0),
            left: AtomicU64::new(0),
        };
        let newest = NewestControl { name: name.into(), pace, steering: None };
        CongestionChoice { seed, departure: Arc::new(departure), newest: Arc::new(Mutex::new(newest)) }
    }
}

/// The library's controller: a handle of a [`Steering`], which outlives a change of address behind the same host.
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
    /// The connection goes on with another control: its peer is known only now.
    pub fn change(&self, name: &str, pace: Option<u64>) {
        let mut newest = lock(&self.newest);
        (newest.name, newest.pace) = (name.into(), pace);
        newest.steering.iter().for_each(|steering| steering.lock().change(name, pace));
    }
}

impl CongestionChoice {
    /// How the newest path stands.
    pub fn view(&self) -> Option<SteeringView> {
        Some(lock(&self.newest).steering.as_ref()?.lock().view())
    }

    /// What is believed of a policer on the way now.
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
