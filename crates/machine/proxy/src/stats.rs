//! Counters of the event loops, and statistics of client networks and upstreams.

use crate::address::IpNetwork;
use crate::slow::DirectionEvidence;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

macro_rules! counters {
    ($($name:ident, $metric:literal, $kind:literal, $help:literal;)*) => {
        /// A counter of an event loop.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum ProxyCounter { $(#[doc = $help] $name,)* }
        /// All counters: the counter, its Prometheus name and type, and its description.
        pub const COUNTERS: &[(ProxyCounter, &str, &str, &str)] =
            &[$((ProxyCounter::$name, $metric, $kind, $help),)*];
        const COUNTER_COUNT: usize = COUNTERS.len();
    };
}

counters! {
    Accepted, "longfat_proxy_accepted_total", "counter", "Connections accepted.";
    Finished, "longfat_proxy_finished_total", "counter", "Connections that both sides closed normally.";
    Open, "longfat_proxy_connections", "gauge", "Connections open now.";
    NotAllowed, "longfat_proxy_not_allowed_total", "counter", "Connections reset because their address is in no allowed network.";
    TooMany, "longfat_proxy_too_many_total", "counter", "Connections reset because their client had reached its limit.";
    BadHello, "longfat_proxy_bad_hello_total", "counter", "Connections reset because they began with no valid PROXY header or with a name without a route.";
    HelloTimeout, "longfat_proxy_hello_timeouts_total", "counter", "Connections reset because their header or ClientHello did not arrive in time.";
    NoServer, "longfat_proxy_no_server_total", "counter", "Connections reset because no server accepted them.";
    ConnectFailed, "longfat_proxy_connect_failures_total", "counter", "Connections to servers that were refused or timed out.";
    Retried, "longfat_proxy_retries_total", "counter", "Servers tried after another had failed.";
    ClientReset, "longfat_proxy_client_resets_total", "counter", "Connections that the client's side reset or lost.";
    ServerReset, "longfat_proxy_server_resets_total", "counter", "Connections that the server's side reset or lost.";
    Idle, "longfat_proxy_idle_timeouts_total", "counter", "Connections reset by the idle timeout.";
    Drained, "longfat_proxy_drain_resets_total", "counter", "Connections reset at the end of a drain.";
    BytesUp, "longfat_proxy_bytes_up_total", "counter", "Bytes forwarded from clients to servers.";
    BytesDown, "longfat_proxy_bytes_down_total", "counter", "Bytes forwarded from servers to clients.";
    Pipes, "longfat_proxy_pipes", "gauge", "Pipes in use by connections.";
    AcceptPauses, "longfat_proxy_accept_pauses_total", "counter", "Pauses in accepting because descriptors or connection slots ran out.";
    Turns, "longfat_proxy_turns_total", "counter", "Iterations of the event loops.";
}

/// Counters of one loop. Only that loop writes them.
pub struct LoopStats([AtomicU64; COUNTER_COUNT]);

impl Default for LoopStats {
    fn default() -> LoopStats {
        LoopStats(std::array::from_fn(|_| AtomicU64::new(0)))
    }
}

impl LoopStats {
    /// Increases a counter by `n`.
    pub fn add(&self, counter: ProxyCounter, n: u64) {
        self.0[counter as usize].fetch_add(n, Relaxed);
    }

    /// Increases a counter by one.
    pub fn increment(&self, counter: ProxyCounter) {
        self.add(counter, 1);
    }

    /// Sets a gauge.
    pub fn set(&self, counter: ProxyCounter, n: u64) {
        self.0[counter as usize].store(n, Relaxed);
    }

    /// Returns a counter's value.
    pub fn get(&self, counter: ProxyCounter) -> u64 {
        self.0[counter as usize].load(Relaxed)
    }
}

/// The kernel's latest values for a side's connections.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SideGauges {
    /// Smoothed RTT, µs; `None` before the first sample.
    pub rtt_us: Option<u32>,
    /// Smallest RTT, µs.
    pub min_rtt_us: Option<u32>,
    /// Congestion window, bytes.
    pub cwnd_bytes: u64,
    /// Delivery rate, bytes per second; `None` before the first sample.
    pub delivery_rate: Option<u64>,
}

/// Statistics of a client network's connections to an upstream. Data sent to a side is evidence for the
/// direction to that side.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PathStats {
    /// Connections sampled.
    pub connections: u64,
    /// Client side, server side.
    pub sides: [SideGauges; 2],
    /// Cumulative evidence: to the client, to the server.
    pub total: [DirectionEvidence; 2],
    /// Recent evidence: to the client, to the server; halved every half minute.
    pub recent: [DirectionEvidence; 2],
}

/// Key of the statistics: a client network and an upstream's name.
pub type PathKey = (IpNetwork, String);

/// Number of pairs with separate statistics; later ones are summed up as [`OTHERS`].
const MAX_PATHS: usize = 1000;
/// Upstream name of the summed pairs.
const OTHERS: &str = "(others)";

/// Statistics of all pairs, shared by all loops.
#[derive(Default)]
pub struct PathTable(Mutex<BTreeMap<PathKey, PathStats>>);

impl PathTable {
    /// Updates the statistics of a pair.
    pub fn update(&self, network: IpNetwork, upstream: &str, change: impl FnOnce(&mut PathStats)) {
        let mut table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut key = (network, upstream.to_string());
        if table.len() >= MAX_PATHS && !table.contains_key(&key) {
            key = (IpNetwork::of(std::net::Ipv4Addr::UNSPECIFIED.into(), 0), OTHERS.into());
        }
        change(table.entry(key).or_default());
    }

    /// Returns a copy of all statistics.
    pub fn snapshot(&self) -> BTreeMap<PathKey, PathStats> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Halves the recent evidence.
    pub fn age(&self) {
        let mut table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        table.values_mut().flat_map(|path| &mut path.recent).for_each(DirectionEvidence::halve);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    #[test]
    fn only_the_first_thousand_networks_have_separate_statistics() {
        let table = PathTable::default();
        for n in 0..3000u32 {
            let network = IpNetwork::client_network(Ipv4Addr::from_bits(n << 8).into());
            table.update(network, "dc", |path| path.connections += 1);
        }
        let all = table.snapshot();
        assert_eq!(all.len(), MAX_PATHS + 1);
        assert_eq!(all.values().map(|p| p.connections).sum::<u64>(), 3000);
        assert_eq!(all.iter().find(|(k, _)| k.1 == OTHERS).map(|(_, p)| p.connections), Some(2000));
    }
}
