//! Builds the hosts of a scenario as network namespaces, and the TUN devices between them.
//!
//! A namespace lives as long as a descriptor of it or a thread in it, a TUN device as long as its descriptor.
//! All namespaces and devices belong to this process and vanish with it, however it ends.

use crate::LabError;
use crate::netlink::{DeviceRoute, MAIN_TABLE, Netlink};
use crate::routing::{install, outgoing, rules, source_address};
use linux::device::{TUN_OFFLOADS, open_tun};
use linux::namespace;
use linux::privilege::{CAP_NET_ADMIN, has_capability};
use scenario::{Prefix, Scenario};
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use transport::{Profile, Stack};

/// MTU in bytes where no link sets another.
const MTU: u32 = 1500;
/// Packets that a TUN device queues for the engine: more than any socket may have queued below it.
pub(crate) const TUN_QUEUE: u32 = 5000;
const MAX_DEVICES: usize = 512;

/// The namespaces and devices of the hosts.
pub struct LabNetwork {
    /// Network namespace of each host of the scenario.
    pub namespaces: Vec<OwnedFd>,
    /// TUN devices of each link, at the first and the second host.
    pub tuns: Vec<[OwnedFd; 2]>,
}

/// Returns the name of a link's device, the same at both hosts.
pub fn device(link: usize) -> String {
    format!("tun{link}")
}

/// Returns the MTU of a link's device. A host that sends or receives traffic knows the link's MTU. On a host
/// that only forwards, the path should drop and count packets that are too big, so the device's MTU must not
/// do it first.
fn mtu(scenario: &Scenario, host: usize, link: usize) -> u32 {
    if scenario.speaks(host) || scenario.links.iter().filter(|l| l.between.contains(&host)).count() < 2 {
        scenario.links[link].mtu()
    } else {
        MTU
    }
}

impl LabNetwork {
    /// Creates namespaces, devices, addresses and routes. The calling thread stays in its namespace.
    pub fn build(scenario: &Scenario) -> Result<LabNetwork, LabError> {
        if 2 * scenario.links.len() > MAX_DEVICES {
            return Err(LabError::unsupported("links", format!("at most {}", MAX_DEVICES / 2)));
        }
        let mut namespaces = Vec::new();
        let mut ends: Vec<[Option<OwnedFd>; 2]> = scenario.links.iter().map(|_| [None, None]).collect();
        for host in 0..scenario.hosts.len() {
            // A separate thread, so that this one does not change its namespace.
            let created = std::thread::scope(|s| s.spawn(|| make_host(scenario, host)).join());
            let (namespace, devices) = created.unwrap_or(Err(LabError::Killed))?;
            namespaces.push(namespace);
            for (link, side, fd) in devices {
                ends[link][side] = Some(fd);
            }
        }
        let tuns = ends.into_iter().filter_map(|[a, b]| Some([a?, b?])).collect();
        Ok(LabNetwork { namespaces, tuns })
    }
}

/// Default TTL of Linux (`IPDEFTTL`).
const LINUX_TTL: usize = 64;
const MAX_TTL: usize = 255;

type Devices = Vec<(usize, usize, OwnedFd)>;

fn make_host(scenario: &Scenario, host: usize) -> Result<(OwnedFd, Devices), LabError> {
    let name = &scenario.hosts[host].name;
    let stack = &scenario.hosts[host].stack;
    namespace::enter_new_network().map_err(namespace_error)?;
    let namespace = namespace::own_network().map_err(LabError::system("its namespace"))?;
    let failed = |what: &str| LabError::system(format!("host {name}: {what}"));
    let routes: Vec<_> = (0..scenario.hosts.len()).map(|to| scenario.route(host, to)).collect();
    let hops = routes.iter().flatten().map(|route| route.len()).max().unwrap_or(0);
    if hops > MAX_TTL {
        return Err(LabError::unsupported(
            "links",
            format!("a packet passes at most {MAX_TTL} in a row (TTL)"),
        ));
    }
    settings(name, stack, send_buffer(scenario, host), hops, scenario.hosts[host].forward)?;
    ipv6(name, scenario.has_ipv6(), scenario.hosts[host].forward)?;
    let netlink = Netlink::new().map_err(failed("rtnetlink"))?;
    let segments = if stack.tso == Some(false) { 1 } else { 0 };
    let loopback = netlink.index("lo").map_err(failed("finding lo"))?;
    netlink.up(loopback).map_err(failed("lo"))?;
    for own in scenario.addresses(host) {
        netlink.address(loopback, own).map_err(failed("lo"))?;
    }
    let mut devices = Vec::new();
    for (i, link) in scenario.links.iter().enumerate() {
        let Some(side) = link.between.iter().position(|&h| h == host) else { continue };
        let tun = open_tun(&device(i), TUN_OFFLOADS).map_err(tun_error)?;
        let index = netlink.index(&device(i)).map_err(failed("finding its TUN device"))?;
        netlink
            .configure(index, mtu(scenario, host, i), TUN_QUEUE, segments)
            .map_err(failed("its TUN device"))?;
        if scenario.needs_link_addresses() {
            let [here, there] = [side, 1 - side].map(|side| scenario.link_address(i, side, false));
            netlink.point_to_point(index, here, there).map_err(failed("its TUN device's address"))?;
        }
        devices.push((i, side, tun));
    }
    rules(scenario, host, &netlink).map_err(failed("a rule"))?;
    install(scenario, host, &netlink, false).map_err(failed("a route"))?;
    Ok((namespace, devices))
}

/// Sets the congestion control of all connections from `host` to `to`, whichever program opens them. Must be
/// called in the host's namespace. Unlike a namespace's default or a program's own choice, a route may name a
/// congestion control that is restricted to privileged users.
pub fn route_control(scenario: &Scenario, host: usize, to: usize, cc: &str) -> io::Result<()> {
    let Some(hop) = scenario.route(host, to).and_then(|r| r.first().copied()) else { return Ok(()) };
    let netlink = Netlink::new()?;
    let index = netlink.index(&outgoing(scenario, host, hop.link))?;
    let to = Prefix::host(scenario.address(to));
    let (from, window) = (source_address(scenario, host, to), scenario.hosts[host].stack.initial_window);
    netlink.route(&DeviceRoute { to, index, from, table: MAIN_TABLE, window, cc: Some(cc) })
}

/// Whether only privileged programs may use this congestion control (tcp(7)).
pub fn is_restricted(cc: &str) -> bool {
    let list = fs::read_to_string("/proc/sys/net/ipv4/tcp_allowed_congestion_control").unwrap_or_default();
    !list.split_whitespace().any(|allowed| allowed == cc)
}

pub(crate) fn namespace_error(source: io::Error) -> LabError {
    let (missing, why) = match source.raw_os_error() {
        Some(libc::ENOSPC) => ("network namespaces", namespace::refusal(&source, "net")),
        _ if source.kind() == io::ErrorKind::PermissionDenied => {
            ("CAP_SYS_ADMIN", "a network namespace for each host needs it".into())
        }
        _ => return LabError::System { what: "making a network namespace".into(), source },
    };
    LabError::Permission { missing: missing.into(), why }
}

pub(crate) fn tun_error(source: io::Error) -> LabError {
    let why = match source.kind() {
        io::ErrorKind::PermissionDenied if has_capability(CAP_NET_ADMIN) => {
            "this user may not open the device that makes TUN interfaces (usually mode 0666)"
        }
        io::ErrorKind::PermissionDenied => {
            return LabError::Permission {
                missing: "CAP_NET_ADMIN".into(),
                why: "making TUN devices needs it".into(),
            };
        }
        io::ErrorKind::NotFound => "there is no such device (modprobe tun)",
        _ => return LabError::System { what: "making a TUN device".into(), source },
    };
    LabError::Permission { missing: "access to /dev/net/tun".into(), why: why.into() }
}

/// Returns the initial and the maximum size of a socket's send buffer on a host, bytes. On a host with relays
/// both are the relays' buffer size: otherwise the kernel gives a sender little more than its window
/// (`tcp_sndbuf_expand`).
fn send_buffer(scenario: &Scenario, host: usize) -> [u64; 2] {
    let stack = &scenario.hosts[host].stack;
    let relays = scenario.relays.iter().filter(|r| r.host == host).map(|r| r.buffer.get()).max();
    let own = scenario.flows.iter().any(|f| f.from == host || f.to == host) || relays.is_none();
    let own = own.then(|| stack.send_buffer.map_or(4 << 20, |b| b.get()));
    let [initial, max] = [relays.unwrap_or(16_384), own.max(relays).unwrap_or_default()];
    [initial.min(max), max].map(|bytes| bytes.clamp(4096, i32::MAX as u64))
}

/// Applies the sysctls of the host's stack in its namespace. Settings that the scenario leaves open get the
/// simulator's defaults, not those of this machine.
fn settings(host: &str, stack: &Stack, send: [u64; 2], hops: usize, forward: bool) -> Result<(), LabError> {
    let set =
        |key: &str, value: &str| -> io::Result<()> { fs::write(format!("/proc/sys/net/ipv4/{key}"), value) };
    let must = |key: &str, value: String| {
        set(key, &value).map_err(LabError::system(format!("host {host}: net.ipv4.{key} = {value}")))
    };
    let flag = |on: bool| u8::from(on).to_string();
    must("ip_forward", flag(forward))?;
    // The default TTL is 64; a longer chain of hops needs a larger one, at most 255 (RFC 791).
    if hops > LINUX_TTL {
        must("ip_default_ttl", MAX_TTL.to_string())?;
    }
    for key in ["rp_filter", "send_redirects", "accept_redirects"] {
        must(&format!("conf/all/{key}"), "0".into())?;
        must(&format!("conf/default/{key}"), "0".into())?;
    }
    // Every user may ping (icmp(7)); a user namespace knows only one group.
    let _ = set("ping_group_range", "0 2147483647").or_else(|_| set("ping_group_range", "0 0"));
    // Let unprivileged servers use any port.
    let _ = set("ip_unprivileged_port_start", "0");
    must("tcp_mtu_probing", stack.mtu_probing.unwrap_or_default().sysctl().to_string())?;
    // A path's MTU may be below 552 bytes, the default minimum that the kernel accepts from ICMP.
    let _ = set("route/min_pmtu", "68");
    must("tcp_no_metrics_save", "1".into())?;
    must("tcp_slow_start_after_idle", flag(stack.idle_restart != Some(false)))?;
    must("tcp_early_retrans", if stack.tlp == Some(false) { "0" } else { "3" }.into())?;
    // A socket that starts with BBR stays paced, whatever control is chosen later. Reno does not pace.
    must("tcp_congestion_control", "reno".into())?;
    must("tcp_timestamps", flag(stack.timestamps != Some(false)))?;
    must("tcp_sack", flag(stack.sack != Some(false)))?;
    must("tcp_ecn", flag(stack.ecn == Some(true)))?;
    // The kernel accepts no maximum below its minimum of 4096 B.
    let receive = stack.receive_buffer.map_or(6 << 20, |b| b.get()).clamp(4096, i32::MAX as u64);
    let initial = stack.initial_receive_buffer.map_or(131_072, |b| b.get()).clamp(4096, receive);
    must("tcp_rmem", format!("4096 {initial} {receive}"))?;
    must("tcp_wmem", format!("4096 {} {}", send[0], send[1]))?;
    if let Some(min) = stack.rto_min {
        must("tcp_rto_min_us", min.as_micros().max(1).to_string())?;
    }
    Ok(())
}

/// Configures IPv6 in the namespace: disabled, or with static addresses and routes only, without router
/// solicitation and duplicate address detection (RFC 4861, RFC 4862).
fn ipv6(host: &str, is_used: bool, forward: bool) -> Result<(), LabError> {
    let set = |key: &str, value: &str| fs::write(format!("/proc/sys/net/ipv6/conf/{key}"), value);
    if !is_used {
        let _ = ["all", "default"].map(|device| set(&format!("{device}/disable_ipv6"), "1"));
        return Ok(());
    }
    let forward = u8::from(forward).to_string();
    for (key, value) in [
        ("disable_ipv6", "0"),
        ("accept_ra", "0"),
        ("accept_dad", "0"),
        ("addr_gen_mode", "1"),
        ("forwarding", forward.as_str()),
    ] {
        for path in ["all", "default"].map(|device| format!("{device}/{key}")) {
            set(&path, value)
                .map_err(LabError::system(format!("host {host}: net.ipv6.conf.{path} = {value}")))?;
        }
    }
    Ok(())
}

/// Describes the settings of a scenario that the kernel does not follow.
pub fn departures(scenario: &Scenario) -> Vec<String> {
    let describe = |(profile, name): (Profile, &str)| {
        let hosts = scenario.hosts.iter().filter(|h| h.stack.profile == profile);
        let names: Vec<&str> = hosts.map(|h| h.name.as_str()).collect();
        (!names.is_empty()).then(|| {
            let names = names.join(", ");
            format!("stack.profile = \"{name}\" (hosts {names}): on the kernel they run Linux's TCP")
        })
    };
    [(Profile::Rfc, "rfc"), (Profile::Windows, "windows")].into_iter().filter_map(describe).collect()
}

/// Sets the congestion control that new sockets in this thread's namespace start with.
pub fn default_congestion_control(cc: &str) -> io::Result<()> {
    fs::write("/proc/sys/net/ipv4/tcp_congestion_control", cc)
}

/// Returns the scenario's host names in the format of `/etc/hosts` (hosts(5)).
pub fn hosts_file(scenario: &Scenario) -> String {
    let hosts = scenario.hosts.iter().enumerate();
    let lines = hosts.map(|(i, host)| format!("{} {}\n", scenario.address(i), host.name));
    ["127.0.0.1 localhost\n::1 localhost\n".to_string()].into_iter().chain(lines).collect()
}
