//! The hosts' threads of one run, each in its namespace.

use crate::Error;
use crate::clock::Clock;
use crate::crew::Crew;
use crate::host::{Host, Report};
use crate::network::Network;
use crate::plan::Plan;
use crate::sys;
use scenario::Scenario;
use std::os::fd::AsFd;
use std::sync::atomic::AtomicBool;
use std::thread::{Scope, ScopedJoinHandle};

/// What they play, and where.
#[derive(Clone, Copy)]
pub struct Hosts<'a> {
    pub scenario: &'a Scenario,
    pub plan: &'a Plan,
    pub network: &'a Network,
    pub seed: u64,
    pub clock: Clock,
    pub stop: &'a AtomicBool,
    pub crew: &'a Crew,
}

impl<'a> Hosts<'a> {
    /// Starts a thread for each host that has traffic of ours.
    pub fn start<'s>(self, s: &'s Scope<'s, 'a>) -> Vec<ScopedJoinHandle<'s, Result<Report, Error>>> {
        let hosts = (0..self.network.namespaces.len()).filter(|&h| self.plan.plays(h));
        hosts.map(|h| s.spawn(move || self.play(h))).collect()
    }

    fn play(self, host: usize) -> Result<Report, Error> {
        let namespace = self.network.namespaces[host].as_fd();
        sys::enter_network(namespace).map_err(Error::system("entering a namespace"))?;
        if self.plan.connects(host) {
            self.crew.join();
        }
        Host::new(self.scenario, self.plan, host, self.seed, self.clock)?.run(self.stop)
    }
}
