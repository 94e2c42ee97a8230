//! Starts the hosts' traffic threads of a run, each in its host's namespace.

use crate::LabError;
use crate::affinity::TrafficThreads;
use crate::clock::WallClock;
use crate::host::{HostReport, LabHost};
use crate::network::LabNetwork;
use crate::plan::FlowPlan;
use linux::namespace::enter_network;
use scenario::Scenario;
use std::os::fd::AsFd;
use std::sync::atomic::AtomicBool;
use std::thread::{Scope, ScopedJoinHandle};

/// The traffic to generate, and where.
#[derive(Clone, Copy)]
pub struct HostThreads<'a> {
    pub scenario: &'a Scenario,
    pub plan: &'a FlowPlan,
    pub network: &'a LabNetwork,
    pub seed: u64,
    pub clock: WallClock,
    pub stop: &'a AtomicBool,
    pub threads: &'a TrafficThreads,
}

impl<'a> HostThreads<'a> {
    /// Starts a thread for each host with traffic of longfat's own.
    pub fn start<'s>(self, s: &'s Scope<'s, 'a>) -> Vec<ScopedJoinHandle<'s, Result<HostReport, LabError>>> {
        let hosts = (0..self.network.namespaces.len()).filter(|&h| self.plan.has_own_traffic(h));
        hosts.map(|h| s.spawn(move || self.run_host(h))).collect()
    }

    fn run_host(self, host: usize) -> Result<HostReport, LabError> {
        let namespace = self.network.namespaces[host].as_fd();
        enter_network(namespace).map_err(LabError::system("entering a namespace"))?;
        if self.plan.has_own_tcp(host) {
            self.threads.register_current();
        }
        LabHost::new(self.scenario, self.plan, host, self.seed, self.clock)?.run(self.stop)
    }
}
