//! What loops count, and what is known of client networks and upstreams.

use crate::address::IpNetwork;
use crate::slow::DirectionEvidence;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

macro_rules! counters {
    ($($name:ident, $metric:literal, $kind:literal, $help:literal;)*) => {
        /// What a loop counts.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum ProxyCounter { $(#[doc = $help] $name,)* }
        /// All of them: the counter, its name in Prometheus, its type there, what it is.
        pub const COUNTERS: &[(ProxyCounter, &str, &str, &str)] =
            &[$((ProxyCounter::$name, $metric, $kind, $help),)*];
        /// How many there are.
        const COUNTED: usize = COUNTERS.len();
    };
}

counters! {
    Accepted, "longfat_proxy_accepted_total", "counter", "Connections accepted.";
    Finished, "longfat_proxy_finished_total", "counter", "Connections that both sides ended in order.";
    Open, "longfat_proxy_connections", "gauge", "Connections open now.";
    NotAllowed, "longfat_proxy_not_allowed_total", "counter", "Connections reset as their address is in no allowed network.";
    TooMany, "longfat_proxy_too_many_total", "counter", "Connections reset as their client has as many as it may.";
    BadHello, "longfat_proxy_bad_hello_total", "counter", "Connections reset as they began with no valid PROXY header, or no name that has a route.";
    HelloTimeout, "longfat_proxy_hello_timeouts_total", "counter", "Connections reset as their header or ClientHello did not come in time.";
    NoServer, "longfat_proxy_no_server_total", "counter", "Connections reset as no server took them.";
    ConnectFailed, "longfat_proxy_connect_failures_total", "counter", "Connections to servers that were refused or not answered in time.";
    Retried, "longfat_proxy_retries_total", "counter", "Servers tried after another had failed.";
    ClientReset, "longfat_proxy_client_resets_total", "counter", "Connections that the client's side reset or lost.";
    ServerReset, "longfat_proxy_server_resets_total", "counter", "Connections that the server's side reset or lost.";
    Idle, "longfat_proxy_idle_timeouts_total", "counter", "Connections reset as nothing moved for too long.";
    Drained, "longfat_proxy_drain_resets_total", "counter", "Connections reset at the end of a drain.";
    BytesUp, "longfat_proxy_bytes_up_total", "counter", "Bytes handed on from clients to servers.";
    BytesDown, "longfat_proxy_bytes_down_total", "counter", "Bytes handed on from servers to clients.";
    Pipes, "longfat_proxy_pipes", "gauge", "Pipes lent to connections now.";
    AcceptPauses, "longfat_proxy_accept_pauses_total", "counter", "Times that accepting paused for want of descriptors or places.";
    Turns, "longfat_proxy_turns_total", "counter", "Turns of the event loops.";
}

/// One loop's. Only that loop writes.
pub struct LoopStats([AtomicU64; COUNTED]);

impl Default for LoopStats {
    fn default() -> LoopStats {
        LoopStats(std::array::from_fn(|_| AtomicU64::new(0)))
    }
}

impl LoopStats {
    /// Counts.
    pub fn add(&self, counter: ProxyCounter, n: u64) {
        self.0[counter as usize].fetch_add(n, Relaxed);
    }

    /// Counts one.
    pub fn one(&self, counter: ProxyCounter) {
        self.add(counter, 1);
    }

    /// Sets a gauge.
    pub fn set(&self, counter: ProxyCounter, n: u64) {
        self.0[counter as usize].store(n, Relaxed);
    }

    /// What was counted.
    pub fn get(&self, counter: ProxyCounter) -> u64 {
        self.0[counter as usize].load(Relaxed)
    }
}

/// What the kernel last said of a side's connections.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SideGauges {
    /// Smoothed RTT, µs; `None` before one is known.
    pub rtt_us: Option<u32>,
    /// Smallest RTT, µs.
    pub min_rtt_us: Option<u32>,
    /// Congestion window, bytes.
    pub cwnd_bytes: u64,
    /// Delivery rate, bytes per second; `None` before one is known.
    pub delivery_rate: Option<u64>,
}

/// What is known of a client network's connections to an upstream. What is sent to a side is the evidence of the direction to it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PathStats {
    /// Connections that were looked at.
    pub connections: u64,
    /// The client's side, the server's side.
    pub sides: [SideGauges; 2],
    /// To the client, to the server: all of it.
    pub total: [DirectionEvidence; 2],
    /// The same of lately: halved every half minute.
    pub recent: [DirectionEvidence; 2],
}

/// Whom statistics are kept of: a client network and an upstream's name.
pub type PathKey = (IpNetwork, String);

/// So many pairs are kept apart; what comes after them counts as [`OTHERS`].
const MOST_PATHS: usize = 1000;
/// The upstream's name of pairs that are too many.
const OTHERS: &str = "(others)";

/// All that is known, of all loops.
#[derive(Default)]
pub struct PathTable(Mutex<BTreeMap<PathKey, PathStats>>);

impl PathTable {
    /// Changes what is known of a pair.
    pub fn update(&self, network: IpNetwork, upstream: &str, change: impl FnOnce(&mut PathStats)) {
        let mut table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut key = (network, upstream.to_string());
        if table.len() >= MOST_PATHS && !table.contains_key(&key) {
            key = (IpNetwork::of(std::net::Ipv4Addr::UNSPECIFIED.into(), 0), OTHERS.into());
        }
        change(table.entry(key).or_default());
    }

    /// All of it.
    pub fn all(&self) -> BTreeMap<PathKey, PathStats> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Lets half of what was lately go.
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
    fn a_thousand_networks_are_kept_apart_and_the_rest_together() {
        let table = PathTable::default();
        for n in 0..3000u32 {
            let network = IpNetwork::of_site(Ipv4Addr::from_bits(n << 8).into());
            table.update(network, "dc", |path| path.connections += 1);
        }
        let all = table.all();
        assert_eq!(all.len(), MOST_PATHS + 1);
        assert_eq!(all.values().map(|p| p.connections).sum::<u64>(), 3000);
        assert_eq!(all.iter().find(|(k, _)| k.1 == OTHERS).map(|(_, p)| p.connections), Some(2000));
    }
}
