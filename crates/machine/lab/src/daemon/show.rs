//! What an engineer would ask the routers after a run, and what they answer.

use super::{Daemons, config, tunnel_device};
use crate::LabError;
use crate::routing::table;
use scenario::Scenario;

impl Daemons<'_> {
    /// Asks every host with daemons for its tunnels, security associations, sessions, and routes of each customer: as a
    /// terminal would have shown it.
    ///
    /// # Errors
    /// One that has not died does not answer.
    pub fn show(&mut self) -> Result<String, LabError> {
        let scenario = self.scenario;
        let hosts: Vec<usize> =
            self.consoles.iter().filter(|(_, c)| !c.is_dead).map(|(&host, _)| host).collect();
        let mut text = String::new();
        for host in hosts {
            for (asked, command) in questions(scenario, host) {
                let (_, said) = self.ask(host, &command)?;
                text += &format!("{}# {asked}\n{}\n\n", scenario.hosts[host].name, said.trim_end());
            }
        }
        Ok(text)
    }
}

/// What is asked of a host: as a router's command line has it, and the command.
fn questions(scenario: &Scenario, host: usize) -> Vec<(String, String)> {
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
            let of = customer.map_or(String::new(), |c| format!(" customer {c}"));
            all.push((format!("show ip route{of}"), format!("ip -4 route show table {number}")));
        }
    }
    all
}
