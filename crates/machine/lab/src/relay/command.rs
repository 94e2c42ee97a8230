//! How a relay's program is told what to do: longfat's proxy by its configuration and as a command line, nginx and HAProxy by a
//! file of their own.

use crate::LabError;
use crate::controls::Controls;
use crate::plan::FlowPlan;
use ::proxy::{HostPort, ListenAt, ListenerConfig, ProxyConfig, SideConfig, UpstreamConfig};
use linux::socket::any;
use scenario::{RelayTool, Scenario};
use std::net::SocketAddr;
use std::path::Path;
use units::{Bytes, Rate, Span};

/// Nothing that a run takes is longer; HAProxy's milliseconds fit 31 bits.
const LONGEST: Span = Span::from_secs(24 * 3600);
/// Pacing on and as good as unlimited.
const PACED: Rate = Rate::from_bps(1_000_000_000_000);
/// Read from standard input as a file: nothing of it is left anywhere, however the run ends.
const FILE: &str = "/proc/self/fd/0";
/// nginx's buffer for each direction, at most; its own default is 16k (`proxy_buffer_size`). It waits until one is empty: what is as
/// large as the socket's makes it stop and go.
const NGINX_BUFFER: Bytes = Bytes::new(256 << 10);
/// Where distributions put the module.
const STREAM_MODULES: [&str; 2] =
    ["/usr/lib/nginx/modules/ngx_stream_module.so", "/usr/lib64/nginx/modules/ngx_stream_module.so"];

/// A leg that ends at a relay, and where it goes on.
struct RelayStop<'a> {
    port: u16,
    /// Any address of the leg's version.
    listen: SocketAddr,
    to: SocketAddr,
    /// Towards the leg's begin, and onward.
    cc: [&'a str; 2],
    pace: Option<Rate>,
}

fn stop<'a>(scenario: &Scenario, plan: &'a FlowPlan, leg: usize) -> RelayStop<'a> {
    let (near, far) = (&plan.legs[leg], &plan.legs[leg + 1]);
    let paced = scenario.hosts[near.to].stack.pacing == Some(true);
    RelayStop {
        port: near.port,
        listen: SocketAddr::from((any(plan.addresses[near.to]), near.port)),
        to: SocketAddr::from((plan.addresses[far.to], far.port)),
        cc: [&near.cc[1].name, &far.cc[0].name],
        pace: plan.flows[near.flow].max_pacing_rate.or(paced.then_some(PACED)),
    }
}

/// One listener and one upstream a leg.
pub fn proxy_config(scenario: &Scenario, plan: &FlowPlan, legs: &[usize]) -> ProxyConfig {
    let mut config: Option<ProxyConfig> = None;
    for &leg in legs {
        let stop = stop(scenario, plan, leg);
        let side = |cc: &str| SideConfig { cc: Some(cc.into()), pace: stop.pace, ..SideConfig::default() };
        let name = format!("port-{}", stop.port);
        let listen = ListenAt::Address(stop.listen);
        let listener = ListenerConfig {
            client: side(stop.cc[0]),
            idle_timeout: LONGEST,
            half_close_timeout: LONGEST,
            ..ListenerConfig::of(listen, &name)
        };
        let upstream = UpstreamConfig {
            server: side(stop.cc[1]),
            connect_timeout: LONGEST,
            retries: 0,
            ..UpstreamConfig::of(HostPort::Address(stop.to))
        };
        match &mut config {
            None => {
                let mut first = ProxyConfig::of(listener.clone(), upstream.clone());
                first.listeners = [(name.clone(), listener)].into();
                first.upstreams = [(name, upstream)].into();
                config = Some(first);
            }
            Some(config) => {
                config.listeners.insert(name.clone(), listener);
                config.upstreams.insert(name, upstream);
            }
        }
    }
    let config = config.unwrap_or_else(|| unreachable!("a relay that flows pass has a leg"));
    ProxyConfig { workers: Some(1), max_connections: legs.len(), ..config }
}

/// The relays of a run that are longfat's proxy as command lines: the host, and what a shell there would be told, for each
/// connection.
///
/// # Errors
/// Those of [`crate::run`] before anything is made.
pub fn proxy_commands(
    scenario: &Scenario,
    only_flow: Option<usize>,
) -> Result<Vec<(usize, String)>, LabError> {
    let plan = &FlowPlan::new(scenario, only_flow, &Controls::default())?;
    let mut lines = Vec::new();
    for (relay, legs) in super::stops(plan) {
        let relay = &scenario.relays[relay];
        for leg in legs.into_iter().filter(|_| relay.tool == RelayTool::Longfat) {
            let RelayStop { port, to, cc: [client, upstream], pace, .. } = stop(scenario, plan, leg);
            let pace = pace.map_or_else(String::new, |rate| format!(" --pace {rate}"));
            let line = format!(
                "longfat proxy --listen :{port} --upstream {to} --client-cc {client} --upstream-cc {upstream}{pace}"
            );
            lines.push((relay.host, line));
        }
    }
    Ok(lines)
}

/// The command line of a program, and the file that it reads.
pub fn of_program(
    scenario: &Scenario,
    plan: &FlowPlan,
    tool: RelayTool,
    legs: &[usize],
    buffer: Bytes,
) -> (Vec<String>, String) {
    let stops: Vec<RelayStop<'_>> = legs.iter().map(|&leg| stop(scenario, plan, leg)).collect();
    match tool {
        RelayTool::Haproxy => (["haproxy", "-db", "-f", FILE].map(String::from).into(), haproxy(&stops)),
        _ => (["nginx", "-e", "stderr", "-c", FILE].map(String::from).into(), nginx(&stops, buffer)),
    }
}

/// The file where the process id is to stand is the one that was just read: no other may be left.
fn nginx(stops: &[RelayStop<'_>], buffer: Bytes) -> String {
    let module = STREAM_MODULES.iter().find(|path| Path::new(path).is_file());
    let module = module.map_or_else(String::new, |path| format!("load_module {path};\n"));
    let seconds = LONGEST.as_nanos() / 1_000_000_000;
    let buffer = (buffer.get() / 4).clamp(4096, NGINX_BUFFER.get());
    let server = |s: &RelayStop<'_>| format!("    server {{ listen {}; proxy_pass {}; }}\n", s.listen, s.to);
    let servers: String = stops.iter().map(server).collect();
    format!(
        "daemon off; master_process off; worker_processes 1; error_log stderr; pid {FILE};\n{module}\
         events {{ worker_connections {}; }}\n\
         stream {{\n    tcp_nodelay on; proxy_buffer_size {buffer};\n    proxy_timeout {seconds}s; proxy_connect_timeout {seconds}s;\n\
         {servers}}}\n",
        3 * stops.len() + 16
    )
}

fn haproxy(stops: &[RelayStop<'_>]) -> String {
    let seconds = LONGEST.as_nanos() / 1_000_000_000;
    let listen = |s: &RelayStop<'_>| {
        format!("listen port-{}\n    bind {}\n    server next {}\n", s.port, s.listen, s.to)
    };
    let all: String = stops.iter().map(listen).collect();
    format!(
        "global\n    maxconn {}\n    nbthread 1\ndefaults\n    mode tcp\n    option splice-auto\n    timeout connect {seconds}s\n\
         \x20   timeout client {seconds}s\n    timeout server {seconds}s\n{all}",
        stops.len() + 16
    )
}
