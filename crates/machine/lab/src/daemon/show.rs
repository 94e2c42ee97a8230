//! Router show commands that an engineer would run after a run, and their output.

use super::{Daemons, config, tunnel_device};
use crate::LabError;
use crate::routing::table;
use scenario::Scenario;

impl Daemons<'_> {
    /// Queries the tunnels, security associations, sessions and each customer's routes of every host with
    /// daemons. Formats the output as a terminal would show it.
    ///
    /// # Errors
    /// Fails when a running console does not answer.
    pub fn show(&mut self) -> Result<String, LabError> {
        let scenario = self.scenario;
        let hosts: Vec<usize> =
            self.consoles.iter().filter(|(_, c)| !c.is_dead).map(|(&host, _)| host).collect();
        let mut text = String::new();
        for host in hosts {
            for (title, command) in show_commands(scenario, host) {
                let (_, output) = self.command(host, &command)?;
                text += &format!("{}# {title}\n{}\n\n", scenario.hosts[host].name, output.trim_end());
            }
        }
        Ok(text)
    }
}

/// The show commands for a host: as a router's command line has them, and the shell command.
fn show_commands(scenario: &Scenario, host: usize) -> Vec<(String, String)> {
    let mut all = Vec::new();
    for link in config::tunnels(scenario, host) {
        let name = &scenario.links[link].name;
        let device = tunnel_device(scenario, host, link);
        all.push((format!("show ipsec sa tunnel {name}"), config::swanctl(link, "--list-sas")));
        all.push((format!("show interface {device}"), format!("ip -s link show {device}")));
    }
    if scenario.speaker(host).is_some() {
        all.push(("show bgp summary".into(), config::birdc("show protocols")));
    }
    let mut seen = Vec::new();
    let own = scenario.links.iter().enumerate().filter(|(_, l)| l.between.contains(&host));
    for (link, _) in own {
        let customer = scenario.customer_of_link(link);
        let number = table(scenario, host, customer);
        if !seen.contains(&number) {
            seen.push(number);
            let suffix = customer.map_or(String::new(), |c| format!(" customer {c}"));
            all.push((format!("show ip route{suffix}"), format!("ip -4 route show table {number}")));
        }
    }
    all
}
