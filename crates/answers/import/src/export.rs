//! Writes a scenario as a containerlab topology and reports how each part was written.
//!
//! | in the scenario | in the topology |
//! |---|---|
//! | host, `forward` | a `linux` node, `net.ipv4.ip_forward` |
//! | link | a link; the interfaces of a node are `eth1`, `eth2` … in the order of the links |
//! | addresses, routes | `ip` commands: addresses on `lo`, a route to each address of every other host |
//! | customer | a routing table for each at shared hosts, chosen by the inbound interface |
//! | `link`, `delay`, `jitter`, `loss`, `duplicate` of a direction | one netem on the sending interface: delays added, losses combined |
//! | `shaper`, a `link` with a queue that is not a FIFO | a TBF with the discipline of the queue, below the netem if there is one |
//! | `policer` | a police action on the receiving interface |
//! | everything else | [`ExportedKey`]: approximated or left out, with a comment at the top of the file |

mod account;
mod qdisc;
mod queue;
mod rest;

use account::Accounts;
pub use account::{ExportFate, ExportedKey};

use qdisc::{Direction, direction};
use scenario::{Attachment, Experiment, NamedStage, Scenario};
use serde::Serialize;
use std::fmt::Write as _;
use std::net::IpAddr;

/// The first customer's table; the others follow.
const FIRST_TABLE: usize = 100;

/// A topology.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Exported {
    /// The format of this as JSON.
    pub schema: &'static str,
    /// The file.
    pub yaml: String,
    /// The scenario for `longfat attach`, with [`StagesAs::Attached`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attach: Option<String>,
    /// How each part of the scenario was written, in order.
    pub parts: Vec<ExportedKey>,
}

/// How a topology gets the stages of the links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StagesAs {
    /// By `tc` commands, which approximate some of them.
    Commands,
    /// By `longfat attach`, exactly.
    Attached,
}

impl Exported {
    /// The parts that are left out or approximated.
    pub fn unlike(&self) -> impl Iterator<Item = &ExportedKey> {
        self.parts.iter().filter(|part| part.fate != ExportFate::Carried)
    }

    /// The number of parts with this fate.
    pub fn count(&self, fate: ExportFate) -> usize {
        self.parts.iter().filter(|part| part.fate == fate).count()
    }
}

/// None of the stages of a scenario can be written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no stage of this scenario can be written as a topology: {}", listed(.parts))]
pub struct NothingExported {
    /// How each part was written.
    pub parts: Vec<ExportedKey>,
}

/// The first parts of a list, for an error.
fn listed(parts: &[ExportedKey]) -> String {
    const MAX_SHOWN: usize = 5;
    let stages: Vec<String> = parts
        .iter()
        .filter(|p| p.fate != ExportFate::Carried && p.key.starts_with("links."))
        .map(|p| format!("{}: {}", p.key, p.how))
        .collect();
    let more = stages.len().saturating_sub(MAX_SHOWN);
    let more = if more > 0 { format!("; and {more} more") } else { String::new() };
    stages[..stages.len().min(MAX_SHOWN)].join("; ") + &more
}

/// Writes the first variant of an experiment as a topology. Its nodes run `image`, which must contain `ip`
/// and `tc`. `others` are the names of the other variants.
///
/// # Errors
/// [`NothingExported`] if links have stages and none of them can be written.
pub fn to_containerlab(
    experiment: &Experiment,
    others: &[String],
    image: &str,
    stages_as: StagesAs,
) -> Result<Exported, NothingExported> {
    let scenario = &experiment.variants[0].scenario;
    let mut parts = Vec::new();
    let directions: Vec<[Direction; 2]> = scenario
        .links
        .iter()
        .map(|link| {
            let mut export = |name: &str, stages: &[NamedStage]| {
                let path = format!("links.{}.{name}", link.name);
                match stages_as {
                    StagesAs::Commands => return direction(&path, stages, &mut parts),
                    StagesAs::Attached if stages.is_empty() => {}
                    StagesAs::Attached => Accounts { path, list: &mut parts }.carried("", "longfat attach"),
                }
                Direction::default()
            };
            [export("forward", &link.forward), export("backward", &link.backward)]
        })
        .collect();
    if !parts.is_empty() && parts.iter().all(|part| part.fate == ExportFate::LeftOut) {
        return Err(NothingExported { parts });
    }
    rest::rest(experiment, others, &mut parts);
    let mut yaml = format!("# {}, written by longfat export.\n", scenario.name);
    for part in parts.iter().filter(|part| part.fate != ExportFate::Carried) {
        let _ = writeln!(yaml, "# {}", part.says());
    }
    let _ = write!(yaml, "name: {}\ntopology:\n  nodes:\n", quoted(&scenario.name));
    for host in 0..scenario.hosts.len() {
        let _ = write!(
            yaml,
            "    {}:\n      kind: linux\n      image: {}\n      exec:\n",
            quoted(&scenario.hosts[host].name),
            quoted(image)
        );
        for command in commands(scenario, host, &directions) {
            let _ = writeln!(yaml, "        - {}", quoted(&command));
        }
    }
    yaml += "  links:\n";
    for (link, l) in scenario.links.iter().enumerate() {
        let end = |side: usize| {
            let host = l.between[side];
            quoted(&format!("{}:{}", scenario.hosts[host].name, interface(scenario, host, link)))
        };
        let _ = writeln!(yaml, "    - endpoints: [{}, {}]", end(0), end(1));
    }
    let attach = (stages_as == StagesAs::Attached).then(|| attached(experiment).to_toml());
    Ok(Exported { schema: "longfat-export/1", yaml, attach, parts })
}

/// The first variant, with an attachment for each link that has stages: at the topology's node at its first
/// end.
fn attached(experiment: &Experiment) -> Experiment {
    let mut experiment = experiment.clone();
    experiment.variants.truncate(1);
    experiment.baseline = None;
    let scenario = &mut experiment.variants[0].scenario;
    let target = |link: usize| {
        let host = scenario.links[link].between[0];
        format!("clab:{}/{}:{}", scenario.name, scenario.hosts[host].name, interface(scenario, host, link))
    };
    let has_stages = |link: &usize| {
        let link = &scenario.links[*link];
        !(link.forward.is_empty() && link.backward.is_empty())
    };
    let attachment = |link: usize| Attachment {
        name: scenario.links[link].name.clone(),
        link,
        target: target(link),
        at_second_end: false,
        direction: None,
        only: None,
    };
    scenario.attachments = (0..scenario.links.len()).filter(has_stages).map(attachment).collect();
    experiment
}

/// A double-quoted scalar: quotes and backslashes are escaped; names have no control characters.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// The interface of a link; `eth0` is reserved by containerlab.
fn interface(scenario: &Scenario, host: usize, link: usize) -> String {
    let before = scenario.links[..link].iter().filter(|l| l.between.contains(&host)).count();
    format!("eth{}", before + 1)
}

/// The commands that a node runs after its start.
fn commands(scenario: &Scenario, host: usize, directions: &[[Direction; 2]]) -> Vec<String> {
    let mut all = vec![format!("sysctl -w net.ipv4.ip_forward={}", u8::from(scenario.hosts[host].forward))];
    for own in scenario.addresses(host).into_iter().filter(IpAddr::is_ipv4) {
        all.push(format!("ip address add {own}/32 dev lo"));
    }
    for (link, l) in scenario.links.iter().enumerate() {
        let Some(side) = l.between.iter().position(|&h| h == host) else { continue };
        let device = interface(scenario, host, link);
        let [own, peer] = [side, 1 - side].map(|side| scenario.link_address(link, side, false));
        all.push(format!("ip address add {own} peer {peer} dev {device}"));
        if l.mtu() != 1500 {
            all.push(format!("ip link set {device} mtu {}", l.mtu()));
        }
        if let Some(table) = table(scenario, host, scenario.customer_of_link(link)) {
            all.push(format!("ip rule add iif {device} lookup {table}"));
        }
        // Egress has the stages of the direction from this host, ingress the policers of the opposite
        // direction.
        all.extend(directions[link][side].egress(&device));
        all.extend(directions[link][1 - side].ingress(&device));
    }
    all.extend(routes(scenario, host));
    all
}

/// The routing table of a customer at a shared host.
fn table(scenario: &Scenario, host: usize, customer: Option<&str>) -> Option<usize> {
    let at = scenario.customers().iter().position(|c| Some(*c) == customer)?;
    scenario.hosts[host].customer.is_none().then_some(FIRST_TABLE + at)
}

/// Routes to the addresses of all other hosts that are reachable through this host.
fn routes(scenario: &Scenario, host: usize) -> Vec<String> {
    let mut all = Vec::new();
    for to in (0..scenario.hosts.len()).filter(|&to| to != host) {
        let Some(customer) = scenario.customer_between(host, to) else { continue };
        let Some(hop) = scenario.next_hop(host, to, customer, &[]) else { continue };
        let via = scenario.link_address(hop.link, usize::from(hop.forward), false);
        let (device, own) = (interface(scenario, host, hop.link), scenario.address(host));
        for address in scenario.addresses(to).into_iter().filter(IpAddr::is_ipv4) {
            let route = format!("ip route replace {address}/32 via {via} dev {device} src {own}");
            all.extend(table(scenario, host, customer).map(|t| format!("{route} table {t}")));
            let owners = (0..scenario.hosts.len()).filter(|&h| scenario.addresses(h).contains(&address));
            // Its own packets, if the address is unique.
            if customer.is_none() || scenario.hosts[host].customer.is_some() || owners.count() == 1 {
                all.push(route);
            }
        }
    }
    all
}

#[cfg(test)]
mod tests;
