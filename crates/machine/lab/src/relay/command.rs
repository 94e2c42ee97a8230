//! Configuration of relays: longfat's proxy by its configuration and as a command line, nginx and HAProxy by
//! a configuration file.

use crate::LabError;
use crate::controls::Controls;
use crate::plan::FlowPlan;
use ::proxy::{HostPort, ListenAt, ListenerConfig, ProxyConfig, SideConfig, UpstreamConfig};
use linux::socket::any;
use scenario::{RelayTool, Scenario};
use std::net::SocketAddr;
use std::path::Path;
use units::{Bytes, Rate, Span};

/// Timeout longer than any run; HAProxy's milliseconds must fit 31 bits.
const TIMEOUT: Span = Span::from_secs(24 * 3600);
/// Rate that enables pacing without limiting.
const UNLIMITED_PACING: Rate = Rate::from_bps(1_000_000_000_000);
/// The configuration is read from standard input, so no file remains, however the run ends.
const STDIN_PATH: &str = "/proc/self/fd/0";
/// nginx's maximum buffer per direction; its default is 16k (`proxy_buffer_size`). nginx waits until the
/// buffer is empty, so a buffer as large as the socket's makes the transfer stall periodically.
const NGINX_BUFFER: Bytes = Bytes::new(256 << 10);
/// Paths of nginx's stream module in common distributions.
const STREAM_MODULES: [&str; 2] =
    ["/usr/lib/nginx/modules/ngx_stream_module.so", "/usr/lib64/nginx/modules/ngx_stream_module.so"];

/// A leg that ends at a relay, and the address it continues to.
struct RelayStop<'a> {
    port: u16,
    /// Wildcard address of the leg's IP version, with the port.
    listen: SocketAddr,
    to: SocketAddr,
    /// Congestion control towards the leg's start, and onward.
    cc: [&'a str; 2],
    pace: Option<Rate>,
}

fn relay_stop<'a>(scenario: &Scenario, plan: &'a FlowPlan, leg: usize) -> RelayStop<'a> {
    let (near, far) = (&plan.legs[leg], &plan.legs[leg + 1]);
    let paced = scenario.hosts[near.to].stack.pacing == Some(true);
    RelayStop {
        port: near.port,
        listen: SocketAddr::from((any(plan.addresses[near.to]), near.port)),
        to: SocketAddr::from((plan.addresses[far.to], far.port)),
        cc: [&near.cc[1].name, &far.cc[0].name],
        pace: plan.flows[near.flow].max_pacing_rate.or(paced.then_some(UNLIMITED_PACING)),
    }
}

/// Returns a proxy configuration with one listener and one upstream per leg.
pub fn proxy_config(scenario: &Scenario, plan: &FlowPlan, legs: &[usize]) -> ProxyConfig {
    let mut config: Option<ProxyConfig> = None;
    for &leg in legs {
        let relay_stop = relay_stop(scenario, plan, leg);
        let side =
            |cc: &str| SideConfig { cc: Some(cc.into()), pace: relay_stop.pace, ..SideConfig::default() };
        let name = format!("port-{}", relay_stop.port);
        let listen = ListenAt::Address(relay_stop.listen);
        let listener = ListenerConfig {
            client: side(relay_stop.cc[0]),
            idle_timeout: TIMEOUT,
            half_close_timeout: TIMEOUT,
            ..ListenerConfig::of(listen, &name)
        };
        let upstream = UpstreamConfig {
            server: side(relay_stop.cc[1]),
            connect_timeout: TIMEOUT,
            retries: 0,
            ..UpstreamConfig::of(HostPort::Address(relay_stop.to))
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

/// Returns the relays of a run that are longfat's proxy as command lines: for each connection the host and
/// the command to type there.
///
/// # Errors
/// Fails as [`crate::run`] does before it creates anything.
pub fn proxy_commands(
    scenario: &Scenario,
    only_flow: Option<usize>,
) -> Result<Vec<(usize, String)>, LabError> {
    let plan = &FlowPlan::new(scenario, only_flow, &Controls::default())?;
    let mut lines = Vec::new();
    for (relay, legs) in super::legs_by_relay(plan) {
        let relay = &scenario.relays[relay];
        for leg in legs.into_iter().filter(|_| relay.tool == RelayTool::Longfat) {
            let RelayStop { port, to, cc: [client, upstream], pace, .. } = relay_stop(scenario, plan, leg);
            let pace = pace.map_or_else(String::new, |rate| format!(" --pace {rate}"));
            let line = format!(
                "longfat proxy --listen :{port} --upstream {to} --client-cc {client} --upstream-cc {upstream}{pace}"
            );
            lines.push((relay.host, line));
        }
    }
    Ok(lines)
}

/// Returns the command line of a relay program, and its configuration file.
pub fn of_program(
    scenario: &Scenario,
    plan: &FlowPlan,
    tool: RelayTool,
    legs: &[usize],
    buffer: Bytes,
) -> (Vec<String>, String) {
    let stops: Vec<RelayStop<'_>> = legs.iter().map(|&leg| relay_stop(scenario, plan, leg)).collect();
    match tool {
        RelayTool::Haproxy => {
            (["haproxy", "-db", "-f", STDIN_PATH].map(String::from).into(), haproxy(&stops))
        }
        _ => (["nginx", "-e", "stderr", "-c", STDIN_PATH].map(String::from).into(), nginx(&stops, buffer)),
    }
}

/// The pid file is the file that was just read, so no other file remains.
fn nginx(stops: &[RelayStop<'_>], buffer: Bytes) -> String {
    let module = STREAM_MODULES.iter().find(|path| Path::new(path).is_file());
    let module = module.map_or_else(String::new, |path| format!("load_module {path};\n"));
    let seconds = TIMEOUT.as_nanos() / 1_000_000_000;
    let buffer = (buffer.get() / 4).clamp(4096, NGINX_BUFFER.get());
    let server = |s: &RelayStop<'_>| format!("    server {{ listen {}; proxy_pass {}; }}\n", s.listen, s.to);
    let servers: String = stops.iter().map(server).collect();
    format!(
        "daemon off; master_process off; worker_processes 1; error_log stderr; pid {STDIN_PATH};\n{module}\
         events {{ worker_connections {}; }}\n\
         stream {{\n    tcp_nodelay on; proxy_buffer_size {buffer};\n    proxy_timeout {seconds}s; proxy_connect_timeout {seconds}s;\n\
         {servers}}}\n",
        3 * stops.len() + 16
    )
}

fn haproxy(stops: &[RelayStop<'_>]) -> String {
    let seconds = TIMEOUT.as_nanos() / 1_000_000_000;
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
