//! The hosts' threads of one run, each in its namespace.

use crate::LabError;
use crate::clock::WallClock;
use crate::crew::Crew;
use crate::host::{HostReport, LabHost};
use crate::network::LabNetwork;
use crate::plan::FlowPlan;
use linux::namespace::enter_network;
use scenario::Scenario;
use std::os::fd::AsFd;
use std::sync::atomic::AtomicBool;
use std::thread::{Scope, ScopedJoinHandle};

/// What they play, and where.
#[derive(Clone, Copy)]
pub struct PlayingHosts<'a> {
    pub scenario: &'a Scenario,
    pub plan: &'a FlowPlan,
    pub network: &'a LabNetwork,
    pub seed: u64,
    pub clock: WallClock,
    pub stop: &'a AtomicBool,
    pub crew: &'a Crew,
}

impl<'a> PlayingHosts<'a> {
    /// Starts a thread for each host that has traffic of ours.
    pub fn start<'s>(self, s: &'s Scope<'s, 'a>) -> Vec<ScopedJoinHandle<'s, Result<HostReport, LabError>>> {
        let hosts = (0..self.network.namespaces.len()).filter(|&h| self.plan.plays(h));
        hosts.map(|h| s.spawn(move || self.play(h))).collect()
    }

    fn play(self, host: usize) -> Result<HostReport, LabError> {
        let namespace = self.network.namespaces[host].as_fd();
        enter_network(namespace).map_err(LabError::system("entering a namespace"))?;
        if self.plan.connects(host) {
            self.crew.join();
        }
        LabHost::new(self.scenario, self.plan, host, self.seed, self.clock)?.run(self.stop)
    }
}
