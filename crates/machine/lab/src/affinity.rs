//! CPU affinity of the engine and of the threads that send and receive for the hosts.
//!
//! At low load the hosts' threads run on the engine's CPU, as a program usually runs on the CPU whose soft
//! interrupt receives for it. A receiver then reads after the whole burst was delivered, not in the middle of
//! it, so ACK timing does not depend on how fast one CPU wakes another.
//!
//! At a load beyond one CPU, the engine and the hosts' threads may use all CPUs. An engine that delivers
//! bursts at such a rate would leave the readers no CPU time. The receive window would not open and no ACK
//! would be sent (`__tcp_ack_snd_check`) until the burst is over, and then one for the whole window.
//! Therefore a single burst counts, not the mean load. Hosts that only send or receive datagrams need no
//! placement.

use linux::schedule::{self, Cpus};
use std::sync::{Mutex, PoisonError};

/// Packets per 10 ms window that are too many for one CPU to forward, send and receive.
const MAX_PACKETS_ON_ONE_CPU: u32 = 300;
/// The threads return to one CPU after this many consecutive windows with less than half of
/// [`MAX_PACKETS_ON_ONE_CPU`] packets. That is longer than any round trip, and each round trip may bring a
/// burst.
const CALM_WINDOWS: u32 = 100;

/// The threads of a run that send and receive TCP traffic.
pub struct TrafficThreads {
    ids: Mutex<Vec<i32>>,
    all: Option<Cpus>,
}

/// Decides whether the traffic threads share the engine's CPU.
pub struct CpuPlacement<'a> {
    threads: &'a TrafficThreads,
    on_one_cpu: bool,
    /// Consecutive windows with little load.
    calm: u32,
}

impl TrafficThreads {
    pub fn new() -> TrafficThreads {
        TrafficThreads { ids: Mutex::default(), all: schedule::cpus() }
    }

    /// Registers the calling thread.
    pub fn register_current(&self) {
        self.register(schedule::thread_id());
    }

    /// Registers a thread by its kernel thread id.
    pub fn register(&self, thread: i32) {
        self.ids.lock().unwrap_or_else(PoisonError::into_inner).push(thread);
    }

    fn assign(&self, cpus: &Cpus) {
        for &thread in self.ids.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            // A thread that has ended cannot be assigned; ignore the error.
            schedule::assign(thread, cpus);
        }
        schedule::assign(0, cpus);
    }
}

impl<'a> CpuPlacement<'a> {
    /// Returns `None` without real-time priority, because the engine could then not preempt the other threads
    /// on its CPU. Called by the engine's thread.
    pub fn new(threads: &'a TrafficThreads, real_time: bool) -> Option<CpuPlacement<'a>> {
        (real_time && threads.all.is_some()).then_some(CpuPlacement {
            threads,
            on_one_cpu: false,
            calm: CALM_WINDOWS,
        })
    }

    /// Whether the traffic threads currently run on the engine's CPU.
    pub fn is_on_one_cpu(&self) -> bool {
        self.on_one_cpu
    }

    /// Updates the placement at the end of a window in which `packets` left.
    pub fn end_window(&mut self, packets: u32) {
        self.calm = if packets < MAX_PACKETS_ON_ONE_CPU / 2 { self.calm + 1 } else { 0 };
        let to_one_cpu = self.calm > CALM_WINDOWS || self.on_one_cpu && packets < MAX_PACKETS_ON_ONE_CPU;
        if to_one_cpu == self.on_one_cpu {
            return;
        }
        self.on_one_cpu = to_one_cpu;
        match (&self.threads.all, self.on_one_cpu) {
            (_, true) => self.threads.assign(&schedule::own_cpu()),
            (Some(all), false) => self.threads.assign(all),
            (None, false) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_burst_per_round_trip_counts_as_load() {
        let threads = TrafficThreads::new();
        let Some(mut placement) = CpuPlacement::new(&threads, true) else { return };
        let mut after = |windows: &[u32]| {
            windows.iter().for_each(|&packets| placement.end_window(packets));
            placement.is_on_one_cpu()
        };
        assert!(after(&[100]), "one CPU from the start");
        assert!(after(&[200; 50]), "one CPU while the load fits");
        // A window of 1800 packets every 40 ms at 1 Gbit/s: 22 ms without a pause, then a pause.
        assert!(!after(&[830]));
        assert!((0..100).all(|_| !after(&[830, 830, 140, 4])));
        assert!(!after(&[100; 98]));
        assert!(after(&[100]), "one second of little load");
    }
}
