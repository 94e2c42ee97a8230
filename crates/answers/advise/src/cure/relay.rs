//! A proxy between the ends that terminates TCP (split TCP): losses on a nearby, lossy part of the path are
//! recovered over its short round-trip time, and the long, clean part is not affected.

use super::{Cure, CureOption, Lever};
use crate::Situation;
use congestion::Control;
use result::command::lines;
use result::{Change, ChangeKind, ChangePlace, CommandSet, Platform};
use scenario::{Relay, RelayTool, Scenario};
use units::Bytes;

pub struct NearRelay;

/// Limit of the hosts between the ends that are tried, the nearest to the receiver first.
const MAX_HOSTS: usize = 4;
/// Default buffer of a scenario's relay.
const DEFAULT_BUFFER: Bytes = Bytes::new(4_000_000);

/// Returns the hosts that pass flows without a relay, each with those flows.
fn between(s: &Situation<'_>) -> Vec<(usize, Vec<usize>)> {
    let reference = s.reference();
    let mut found: Vec<(usize, Vec<usize>)> = Vec::new();
    for path in &s.paths {
        let flow = &reference.flows[path.flow];
        if !flow.via.is_empty() || flow.tool.is_some() {
            continue;
        }
        let mut at = path.from;
        let mut hosts = Vec::new();
        for hop in &path.hops {
            let [a, b] = reference.links[hop.link].between;
            at = if at == a { b } else { a };
            hosts.push(at);
        }
        hosts.pop();
        for host in hosts.into_iter().rev().filter(|&h| !reference.speaks(h)) {
            match found.iter_mut().find(|(h, _)| *h == host) {
                Some((_, flows)) => flows.push(path.flow),
                None => found.push((host, vec![path.flow])),
            }
        }
    }
    found.truncate(MAX_HOSTS);
    found
}

/// Returns an option for each host between the ends. `control` is the congestion control of the relay's
/// onward connection.
pub fn options(cure: &dyn Cure, s: &Situation<'_>, control: Option<Control>) -> Vec<CureOption> {
    let option = |(host, flows): (usize, Vec<usize>)| {
        let flows: Vec<usize> = flows
            .into_iter()
            .filter(|&f| {
                let flow = &s.reference().flows[f];
                control.is_none_or(|c| !flow.app.answers() && c.name() != flow.cc.name())
            })
            .collect();
        let first = *flows.first()?;
        let path = s.paths.iter().find(|w| w.flow == first)?;
        let (name, buffer) = (s.host(host), DEFAULT_BUFFER.max(path.bdp().unwrap_or_default()));
        let with = control.map(|c| format!(" with {}", c.label().en)).unwrap_or_default();
        let title = format!("proxy at {name} that terminates TCP{with}");
        let commands = commands(name, [s.host(path.from), s.host(path.to)], control.map(|c| c.name()));
        let change = move |s: &mut Scenario| {
            let mut name = "proxy".to_string();
            while s.relays.iter().any(|r| r.name == name) {
                name.push('2');
            }
            s.relays.push(Relay { name, host, buffer, cc: control, tool: RelayTool::default() });
            let relay = s.relays.len() - 1;
            flows.iter().for_each(|&f| s.flows[f].via = vec![relay]);
        };
        let remedy = Change::new(ChangeKind::SplitProxy, ChangePlace::Path, "").by(commands);
        Some(CureOption::new(cure, title, &[ChangePlace::Path], change).named(name).with([remedy]))
    };
    between(s).into_iter().filter_map(option).collect()
}

/// Returns commands for longfat's proxy, nginx and HAProxy on the host in between, for a receiver that
/// connects to the sender of the data. If the sender connects, the two are swapped.
fn commands(host: &str, [origin, user]: [&str; 2], control: Option<&str>) -> Vec<CommandSet> {
    let client_cc = control.map(|c| format!(" --client-cc {c}")).unwrap_or_default();
    let own = CommandSet::on(
        Platform::Longfat,
        host,
        &format!(
            "Linux 4.5, longfat on this host; {user} connects to {origin} through it (as a service: packaging/); if {origin} \
             connects: --upstream {user}:8080, and --upstream-cc instead of --client-cc"
        ),
        lines(&format!("longfat proxy --listen :8080 --upstream {origin}:8080{client_cc}")),
        lines("pkill -TERM -f '^longfat proxy --listen :8080 '"),
    );
    let sysctl = control.map(|c| {
        let needs =
            "Linux 4.9; nginx, and HAProxy before 3.3, have no option for it and use the host's default";
        result::sender::control_setting(c, None).at(host, needs)
    });
    let nginx = format!(
        "# nginx.conf\n\
         include /etc/nginx/modules-enabled/*.conf;\n\
         worker_processes auto;\n\
         events {{ worker_connections 4096; }}\n\
         stream {{\n    server {{\n        listen 8080;\n        proxy_pass {origin}:8080;\n        \
         proxy_buffer_size 256k;\n    }}\n}}"
    );
    let cc = control.map(|c| format!(" cc {c}")).unwrap_or_default();
    let haproxy = format!(
        "# haproxy.cfg\n\
         defaults\n    mode tcp\n    timeout connect 10s\n    timeout client 1h\n    timeout server 1h\n\
         frontend near\n    bind :8080{cc}\n    default_backend far\n\
         backend far\n    server origin {origin}:8080"
    );
    let needs = match control {
        Some(_) => {
            "HAProxy 3.3 for `cc` on bind; older versions without it, with the sysctl above or `congctl` on the route"
        }
        None => "HAProxy 1.8",
    };
    let mut all: Vec<CommandSet> = std::iter::once(own).chain(sysctl).collect();
    all.push(CommandSet::on(
        Platform::Nginx,
        host,
        &format!(
            "nginx 1.9.0 with the stream module (Debian: libnginx-mod-stream); {user} connects to this host"
        ),
        lines(&nginx),
        lines("nginx -s quit"),
    ));
    all.push(CommandSet::on(
        Platform::Haproxy,
        host,
        needs,
        lines(&haproxy),
        lines("kill -USR1 $(cat haproxy.pid)"),
    ));
    all
}

impl Cure for NearRelay {
    fn name(&self) -> &'static str {
        "proxy"
    }
    fn about(&self) -> &'static str {
        "A proxy between the ends that terminates TCP: each part of the path has its own connection and round-trip time."
    }
    fn applies(&self) -> &'static str {
        "where TCP without a proxy or a program passes a host at which no flow begins or ends"
    }
    fn hurts(&self) -> &'static str {
        "It is another machine to run; data it has acknowledged and not yet passed on is lost if it fails, and end-to-end IPsec bypasses it."
    }
    fn lever(&self) -> Lever {
        Lever::Relay
    }
    fn options(&self, s: &Situation<'_>) -> Vec<CureOption> {
        options(self, s, None)
    }
}
