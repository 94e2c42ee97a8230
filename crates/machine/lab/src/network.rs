//! The hosts of a scenario as network namespaces, and the TUN devices between them.
//!
//! A namespace lives as long as a descriptor of it or a thread in it; a TUN device as long as its
//! descriptor. All belong to this process, so they vanish with it, however it ends.

use crate::LabError;
use crate::netlink::{DeviceRoute, MAIN, Netlink};
use crate::routing::{install, outgoing, own_of, rules};
use linux::device::{TUN_OFFLOADS, open_tun};
use linux::namespace;
use linux::privilege::{CAP_NET_ADMIN, has_capability};
use scenario::{Prefix, Scenario};
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use transport::{Profile, Stack};

/// IP packets are at most this big where no link says otherwise.
const MTU: u32 = 1500;
/// Packets a TUN device holds for the engine: more than any socket may have below it.
const TUN_QUEUE: u32 = 5000;
/// Devices that the engine polls at once.
const MAX_DEVICES: usize = 512;

/// The running hosts.
pub struct LabNetwork {
    /// A namespace for each host of the scenario.
    pub namespaces: Vec<OwnedFd>,
    /// For each link its devices at the first and the second host.
    pub tuns: Vec<[OwnedFd; 2]>,
}

/// The name of a link's device, at either host.
pub fn device(link: usize) -> String {
    format!("tun{link}")
}

/// A host knows the MTU of the links it speaks over. Where it only hands on, the path is to refuse what is too big, and
/// to count it; the kernel would do so before it.
fn mtu(scenario: &Scenario, host: usize, link: usize) -> u32 {
    if scenario.speaks(host) || scenario.links.iter().filter(|l| l.between.contains(&host)).count() < 2 {
        scenario.links[link].mtu()
    } else {
        MTU
    }
}

impl LabNetwork {
    /// Makes namespaces, devices, addresses and routes. The calling thread stays where it is.
    pub fn build(scenario: &Scenario) -> Result<LabNetwork, LabError> {
        if 2 * scenario.links.len() > MAX_DEVICES {
            return Err(LabError::unsupported("links", format!("at most {}", MAX_DEVICES / 2)));
        }
        let mut namespaces = Vec::new();
        let mut ends: Vec<[Option<OwnedFd>; 2]> = scenario.links.iter().map(|_| [None, None]).collect();
        for host in 0..scenario.hosts.len() {
            // A thread of its own, which leaves its namespace behind.
            let made = std::thread::scope(|s| s.spawn(|| make_host(scenario, host)).join());
            let (namespace, devices) = made.unwrap_or(Err(LabError::Killed))?;
            namespaces.push(namespace);
            for (link, side, fd) in devices {
                ends[link][side] = Some(fd);
            }
        }
        let tuns = ends.into_iter().filter_map(|[a, b]| Some([a?, b?])).collect();
        Ok(LabNetwork { namespaces, tuns })
    }
}

/// What Linux writes into a packet (`IPDEFTTL`), and what the field holds.
const LINUX_TTL: usize = 64;
const MOST_HOPS: usize = 255;

type Devices = Vec<(usize, usize, OwnedFd)>;

fn make_host(scenario: &Scenario, host: usize) -> Result<(OwnedFd, Devices), LabError> {
    let name = &scenario.hosts[host].name;
    let stack = &scenario.hosts[host].stack;
    namespace::enter_new_network().map_err(namespace_error)?;
    let namespace = namespace::own_network().map_err(LabError::system("its namespace"))?;
    let failed = |what: &str| LabError::system(format!("host {name}: {what}"));
    let routes: Vec<_> = (0..scenario.hosts.len()).map(|to| scenario.route(host, to)).collect();
    let hops = routes.iter().flatten().map(|way| way.len()).max().unwrap_or(0);
    if hops > MOST_HOPS {
        return Err(LabError::unsupported(
            "links",
            format!("a packet passes at most {MOST_HOPS} in a row (TTL)"),
        ));
    }
    settings(name, stack, send_buffer(scenario, host), hops, scenario.hosts[host].forward)?;
    ipv6(name, scenario.speaks_ipv6(), scenario.hosts[host].forward)?;
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
        if scenario.is_whole_network() {
            let [here, there] = [side, 1 - side].map(|side| scenario.link_address(i, side, false));
            netlink.neighbours(index, here, there).map_err(failed("its TUN device's address"))?;
        }
        devices.push((i, side, tun));
    }
    rules(scenario, host, &netlink).map_err(failed("a rule"))?;
    install(scenario, host, &netlink, false).map_err(failed("a route"))?;
    Ok((namespace, devices))
}

/// Connections between `host` and `to` begin with this congestion control, whoever's they are; called
/// in the host's namespace. Unlike a namespace's default and a program's own choice, a route may
/// name one that only the privileged may use.
pub fn route_control(scenario: &Scenario, host: usize, to: usize, cc: &str) -> io::Result<()> {
    let Some(hop) = scenario.route(host, to).and_then(|r| r.first().copied()) else { return Ok(()) };
    let netlink = Netlink::new()?;
    let index = netlink.index(&outgoing(scenario, host, hop.link))?;
    let to = Prefix::host(scenario.address(to));
    let (from, window) = (own_of(scenario, host, to), scenario.hosts[host].stack.initial_window);
    netlink.route(&DeviceRoute { to, index, from, table: MAIN, window, cc: Some(cc) })
}

/// Whether only privileged programs may use this congestion control (tcp(7)).
pub fn is_restricted(cc: &str) -> bool {
    let list = fs::read_to_string("/proc/sys/net/ipv4/tcp_allowed_congestion_control").unwrap_or_default();
    !list.split_whitespace().any(|allowed| allowed == cc)
}

fn namespace_error(source: io::Error) -> LabError {
    let (missing, why) = match source.raw_os_error() {
        Some(libc::ENOSPC) => ("network namespaces", namespace::refusal(&source, "net")),
        _ if source.kind() == io::ErrorKind::PermissionDenied => {
            ("CAP_SYS_ADMIN", "a network namespace for each host needs it".into())
        }
        _ => return LabError::System { what: "making a network namespace".into(), source },
    };
    LabError::Permission { missing: missing.into(), why }
}

fn tun_error(source: io::Error) -> LabError {
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

/// What a socket of the host holds to be sent and acknowledged, bytes: at its begin, and at most. Where relays are it is what
/// they hold, all of it from the begin on: the kernel else gives a sender little more than its window (`tcp_sndbuf_expand`).
fn send_buffer(scenario: &Scenario, host: usize) -> [u64; 2] {
    let stack = &scenario.hosts[host].stack;
    let relays = scenario.relays.iter().filter(|r| r.host == host).map(|r| r.buffer.get()).max();
    let own = scenario.flows.iter().any(|f| f.from == host || f.to == host) || relays.is_none();
    let own = own.then(|| stack.send_buffer.map_or(4 << 20, |b| b.get()));
    let [first, most] = [relays.unwrap_or(16_384), own.max(relays).unwrap_or_default()];
    [first.min(most), most].map(|bytes| bytes.clamp(4096, i32::MAX as u64))
}

/// The namespace's settings, as the stack of the scenario says; what it leaves open is what the
/// simulator takes, not what this machine happens to have.
fn settings(host: &str, stack: &Stack, send: [u64; 2], hops: usize, forward: bool) -> Result<(), LabError> {
    let set =
        |key: &str, value: &str| -> io::Result<()> { fs::write(format!("/proc/sys/net/ipv4/{key}"), value) };
    let must = |key: &str, value: String| {
        set(key, &value).map_err(LabError::system(format!("host {host}: net.ipv4.{key} = {value}")))
    };
    let flag = |on: bool| u8::from(on).to_string();
    must("ip_forward", flag(forward))?;
    // Linux gives a packet 64 hops: a longer chain needs more, at most what the field holds (RFC 791).
    if hops > LINUX_TTL {
        must("ip_default_ttl", MOST_HOPS.to_string())?;
    }
    for key in ["rp_filter", "send_redirects", "accept_redirects"] {
        must(&format!("conf/all/{key}"), "0".into())?;
        must(&format!("conf/default/{key}"), "0".into())?;
    }
    // Anybody may ping (icmp(7)); a user namespace knows one group only.
    let _ = set("ping_group_range", "0 2147483647").or_else(|_| set("ping_group_range", "0 0"));
    // Servers of any port, without privileges.
    let _ = set("ip_unprivileged_port_start", "0");
    must("tcp_mtu_probing", stack.mtu_probing.unwrap_or_default().sysctl().to_string())?;
    // A path may carry less than the 552 bytes below which the kernel believes no ICMP.
    let _ = set("route/min_pmtu", "68");
    must("tcp_no_metrics_save", "1".into())?;
    must("tcp_slow_start_after_idle", flag(stack.idle_restart != Some(false)))?;
    must("tcp_early_retrans", if stack.tlp == Some(false) { "0" } else { "3" }.into())?;
    // A socket that begins with BBR stays paced, whatever is chosen later; Reno paces nothing.
    must("tcp_congestion_control", "reno".into())?;
    must("tcp_timestamps", flag(stack.timestamps != Some(false)))?;
    must("tcp_sack", flag(stack.sack != Some(false)))?;
    must("tcp_ecn", flag(stack.ecn == Some(true)))?;
    // The kernel takes no maximum below the 4096 B minimum.
    let receive = stack.receive_buffer.map_or(6 << 20, |b| b.get()).clamp(4096, i32::MAX as u64);
    let initial = stack.initial_receive_buffer.map_or(131_072, |b| b.get()).clamp(4096, receive);
    must("tcp_rmem", format!("4096 {initial} {receive}"))?;
    must("tcp_wmem", format!("4096 {} {}", send[0], send[1]))?;
    if let Some(min) = stack.rto_min {
        must("tcp_rto_min_us", min.as_micros().max(1).to_string())?;
    }
    Ok(())
}

/// IPv6 in the namespace: none, or addresses and routes as they are given to it, with no word of its own to neighbours (RFC
/// 4861, RFC 4862).
fn ipv6(host: &str, is_spoken: bool, forward: bool) -> Result<(), LabError> {
    let set = |key: &str, value: &str| fs::write(format!("/proc/sys/net/ipv6/conf/{key}"), value);
    if !is_spoken {
        let _ = ["all", "default"].map(|of| set(&format!("{of}/disable_ipv6"), "1"));
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
        for of in ["all", "default"].map(|of| format!("{of}/{key}")) {
            set(&of, value)
                .map_err(LabError::system(format!("host {host}: net.ipv6.conf.{of} = {value}")))?;
        }
    }
    Ok(())
}

/// What of a scenario the kernel does in its own way.
pub fn departures(scenario: &Scenario) -> Vec<String> {
    let of = |(profile, name): (Profile, &str)| {
        let hosts = scenario.hosts.iter().filter(|h| h.stack.profile == profile);
        let names: Vec<&str> = hosts.map(|h| h.name.as_str()).collect();
        (!names.is_empty()).then(|| {
            let names = names.join(", ");
            format!("stack.profile = \"{name}\" (hosts {names}): the kernel's TCP is Linux, and runs as that")
        })
    };
    [(Profile::Rfc, "rfc"), (Profile::Windows, "windows")].into_iter().filter_map(of).collect()
}

/// Sets what the sockets of this thread's namespace begin with.
pub fn default_congestion_control(cc: &str) -> io::Result<()> {
    fs::write("/proc/sys/net/ipv4/tcp_congestion_control", cc)
}

/// The scenario's names in the format of `/etc/hosts` (hosts(5)).
pub fn hosts_file(scenario: &Scenario) -> String {
    let hosts = scenario.hosts.iter().enumerate();
    let lines = hosts.map(|(i, host)| format!("{} {}\n", scenario.address(i), host.name));
    ["127.0.0.1 localhost\n::1 localhost\n".to_string()].into_iter().chain(lines).collect()
}
