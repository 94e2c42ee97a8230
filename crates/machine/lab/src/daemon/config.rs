//! Configuration of the daemons: scripts that write their configuration files and start them, and commands
//! that query them.
//!
//! All names in the scripts are numbers of links and hosts or validated names; longfat writes the addresses
//! and numbers.

use crate::network::device;
use crate::routing::{outgoing, table};
use scenario::{FaultKind, Scenario, ScheduledFault, Service};
use std::fmt::Write;
use std::fs::File;
use std::io::{self, Read};
use std::net::Ipv4Addr;
use units::Span;

/// Paths as in Debian.
pub const CHARON: &str = "/usr/lib/ipsec/charon";
pub const LIBIPSEC: &str = "/usr/lib/ipsec/plugins/libstrongswan-kernel-libipsec.so";
pub const OPENSSL: &str = "/usr/lib/ipsec/plugins/libstrongswan-openssl.so";
pub const BIRD: &str = "/usr/sbin/bird";
pub const VSFTPD: &str = "/usr/sbin/vsftpd";
/// Folder of a host's daemons, in the host's own `/run`.
const DIR: &str = "/run/longfat";
/// First port of IKE and of ESP in UDP. Each tunnel has its own charon, so none uses the standard ports. If
/// neither port is 500, every message carries the non-ESP marker of RFC 3948 and goes to the second port.
const FIRST_ESP_PORT: usize = 20_000;
/// Plugins of charon, in order of preference.
const PLUGINS: &str = "random nonce openssl aes sha1 sha2 hmac kdf gcm curve25519 kernel-libipsec kernel-netlink \
                       socket-default vici";
/// Shell function that waits up to 5 s for a command to succeed, in steps of 20 ms.
const AWAIT: &str =
    "await() { n=0; until \"$@\"; do n=$((n+1)); [ $n -lt 250 ] || return 1; sleep 0.02; done; }";

/// Returns the port of a tunnel's ESP in UDP, the same at both ends.
pub fn esp_port(link: usize) -> u16 {
    (FIRST_ESP_PORT + 2 * link + 1) as u16
}

/// Generates a pre-shared key for the tunnels of a run.
pub fn secret() -> io::Result<String> {
    let mut bytes = [0; 24];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}")))
}

/// Returns the links with a tunnel that ends at a host, in order.
pub fn tunnels(scenario: &Scenario, host: usize) -> impl Iterator<Item = usize> + '_ {
    let ends_here = move |&l: &usize| scenario.links[l].between.contains(&host) && scenario.is_tunnel(l);
    (0..scenario.links.len()).filter(ends_here)
}

/// Returns the links over which a host has a BGP session.
fn sessions(scenario: &Scenario, host: usize) -> impl Iterator<Item = usize> + '_ {
    let has_session = move |&l: &usize| scenario.links[l].between.contains(&host) && scenario.has_session(l);
    (0..scenario.links.len()).filter(has_session)
}

/// Returns a host's address on a link and its neighbour's; `inside` the tunnel, or outside.
fn ends(scenario: &Scenario, host: usize, link: usize, inside: bool) -> [Ipv4Addr; 2] {
    let side = usize::from(scenario.links[link].between[1] == host);
    [side, 1 - side].map(|side| scenario.link_address(link, side, inside))
}

/// Prefix of an output line with a daemon's process id and program.
const DAEMON: &str = "@longfat-daemon ";

/// Parses the daemons that a host's start script printed: their process ids inside the namespace, and
/// descriptions.
pub fn daemons(scenario: &Scenario, output: &str) -> Vec<(i32, String)> {
    let read = |line: &str| {
        let mut words = line.strip_prefix(DAEMON)?.split(' ');
        let pid = words.next()?.parse().ok()?;
        let what = match (words.next()?, words.next()) {
            ("bird", _) => "BIRD (BGP)".into(),
            ("vsftpd", _) => "vsftpd (FTP)".into(),
            (_, link) => {
                let link = scenario.links.get(link?.parse::<usize>().ok()?)?;
                format!("charon (IPsec over link {})", link.name)
            }
        };
        Some((pid, what))
    };
    output.lines().filter_map(read).collect()
}

/// Returns the script that starts all daemons of a host.
pub fn start(scenario: &Scenario, host: usize, secret: &str) -> String {
    let mut text = format!("set -e\n{AWAIT}\nmkdir -p {DIR}\nip link set lo up\n");
    for link in tunnels(scenario, host) {
        text += &charon(scenario, host, link, secret);
    }
    for service in &scenario.hosts[host].services {
        match service {
            Service::Ipsec { .. } => {}
            Service::Bgp { .. } => {
                let config = bird(scenario, host);
                let _ = write!(
                    text,
                    "cat > {DIR}/bird.conf <<'END'\n{config}END\n\
                     {BIRD} -c {DIR}/bird.conf -s {DIR}/bird.ctl -P {DIR}/bird.pid >{DIR}/bird.out 2>&1 || {{ cat {DIR}/bird.out; false; }}\n\
                     await [ -S {DIR}/bird.ctl ]\nawait [ -s {DIR}/bird.pid ]\n\
                     echo \"{DAEMON}$(cat {DIR}/bird.pid) bird\"\n"
                );
            }
            Service::Ftp {} => text += &vsftpd(),
        }
    }
    text
}

/// A charon for one end of a tunnel, its device with the addresses of that end.
fn charon(scenario: &Scenario, host: usize, link: usize, secret: &str) -> String {
    let ([own, other], [inner, peer]) = (ends(scenario, host, link, false), ends(scenario, host, link, true));
    let rekey = scenario.hosts[host].services.iter().find_map(|s| match s {
        Service::Ipsec { link: name, rekey } if *name == scenario.links[link].name => *rekey,
        _ => None,
    });
    let rekey = rekey.unwrap_or(Span::from_secs(3600)).as_nanos() / 1_000_000_000;
    let (ike, natt) = (FIRST_ESP_PORT + 2 * link, esp_port(link));
    let (dir, dev) = (format!("{DIR}/{}", device(link)), outgoing(scenario, host, link));
    let mtu = scenario.link_mtu(link);
    let load = swanctl(link, &format!("--load-all --file {dir}/swanctl.conf"));
    // `kernel-libipsec` routes everything into its device with its own table; delete that rule, because the
    // scenario's routes decide.
    format!(
        "mkdir -p {dir}\n\
         cat > {dir}/strongswan.conf <<'END'\n\
         charon {{\n load = {PLUGINS}\n port = {ike}\n port_nat_t = {natt}\n install_routes = no\n install_virtual_ip = no\n\
         \x20plugins {{ vici {{ socket = unix://{dir}/vici }} }}\n filelog {{ stderr {{ default = 1 }} }}\n}}\nEND\n\
         cat > {dir}/swanctl.conf <<'END'\n\
         connections {{ t {{\n version = 2\n local_addrs = {own}\n remote_addrs = {other}\n remote_port = {natt}\n encap = yes\n\
         \x20mobike = no\n keyingtries = 0\n proposals = aes128gcm16-prfsha256-x25519\n\
         \x20local {{ auth = psk\n id = {own} }}\n remote {{ auth = psk\n id = {other} }}\n\
         \x20children {{ t {{\n local_ts = 0.0.0.0/0\n remote_ts = 0.0.0.0/0\n esp_proposals = aes128gcm16\n mode = tunnel\n\
         \x20rekey_time = {rekey}s\n }} }} }} }}\n\
         secrets {{ ike-1 {{ secret = \"{secret}\" }} }}\nEND\n\
         rm -f /run/charon.pid\n\
         STRONGSWAN_CONF={dir}/strongswan.conf {CHARON} >{dir}/log 2>&1 &\necho $! >{dir}/charon.pid\n\
         echo \"{DAEMON}$! charon {link}\"\n\
         await [ -S {dir}/vici ] || {{ cat {dir}/log; exit 1; }}\n\
         await [ -e /proc/sys/net/ipv4/conf/{dev} ]\n\
         {load} >{dir}/load 2>&1 || {{ cat {dir}/load; exit 1; }}\n\
         ip address add {inner} peer {peer} dev {dev}\nip link set {dev} mtu {mtu} txqueuelen 1000 up\n\
         while ip rule delete priority 220 2>/dev/null; do :; done\n"
    )
}

/// Returns a swanctl command for a tunnel's charon.
pub fn swanctl(link: usize, arguments: &str) -> String {
    let dir = format!("{DIR}/{}", device(link));
    format!("STRONGSWAN_CONF={dir}/strongswan.conf swanctl {arguments} --uri unix://{dir}/vici")
}

/// Returns a birdc command for a host's BIRD.
pub fn birdc(command: &str) -> String {
    format!("birdc -r -s {DIR}/bird.ctl {command} | grep -v '^BIRD \\|^Access restricted'")
}

/// Returns BIRD's configuration.
fn bird(scenario: &Scenario, host: usize) -> String {
    let Some((own_as, hold)) = scenario.speaker(host) else { return String::new() };
    let router = scenario::default_address(host);
    let mut text =
        format!("log \"{DIR}/bird.log\" all;\nrouter id {router};\nprotocol device {{ scan time 1; }}\n");
    let mut customers: Vec<Option<&str>> = Vec::new();
    for link in sessions(scenario, host) {
        let customer = scenario.customer_of_link(link).filter(|_| scenario.hosts[host].customer.is_none());
        let seconds = |s: Span| (s.as_nanos() / 1_000_000_000).max(1);
        let [own, peer] = ends(scenario, host, link, scenario.is_tunnel(link));
        let other = scenario.links[link].between[usize::from(scenario.links[link].between[0] == host)];
        let (peer_as, _) = scenario.speaker(other).unwrap_or_default();
        let table = bird_table(scenario, customer);
        if !customers.contains(&customer) {
            customers.push(customer);
            text += &bird_tables(scenario, host, customer, &table);
        }
        let reflects = if peer_as == own_as { " rr client;\n" } else { "" };
        let _ = write!(
            text,
            "protocol bgp {} {{\n description \"{}\";\n local {own} as {own_as};\n neighbor {peer} as {peer_as};\n direct;\n{reflects} \
             hold time {};\n keepalive time {};\n connect delay time 1;\n connect retry time 1;\n error wait time 1, 1;\n \
             ipv4 {{\n  table {table};\n  import all;\n  export where source = RTS_STATIC || source = RTS_BGP;\n  next hop self;\n  gateway direct;\n }};\n}}\n",
            session(scenario, link),
            scenario.links[link].name,
            seconds(hold),
            seconds(hold / 3),
        );
    }
    text
}

/// Returns the name of the BGP session over a link.
fn session(scenario: &Scenario, link: usize) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    format!("{}_{link}", scenario.links[link].name.chars().map(plain).collect::<String>())
}

fn bird_table(scenario: &Scenario, customer: Option<&str>) -> String {
    let at = customer.and_then(|of| scenario.customers().iter().position(|c| *c == of));
    at.map_or("master4".into(), |at| format!("customer{at}"))
}

/// Configures a customer's table, the prefixes announced from it, and its export to the kernel.
fn bird_tables(scenario: &Scenario, host: usize, customer: Option<&str>, name: &str) -> String {
    let mut text = String::new();
    if customer.is_some() {
        let _ = writeln!(text, "ipv4 table {name};");
    }
    let announced_by = customer.or(scenario.hosts[host].customer.as_deref());
    let _ = write!(text, "protocol static own_{name} {{\n ipv4 {{ table {name}; }};\n");
    for prefix in scenario.announced(host, announced_by).iter().filter(|p| p.address.is_ipv4()) {
        let _ = writeln!(text, " route {prefix} blackhole;");
    }
    let number = table(scenario, host, customer);
    let own = scenario.address(host);
    let _ = write!(
        text,
        "}}\nprotocol kernel kernel_{name} {{\n scan time 1;\n kernel table {number};\n ipv4 {{\n  table {name};\n  import none;\n  \
         export filter {{ if source != RTS_BGP then reject; krt_prefsrc = {own}; accept; }};\n }};\n}}\n"
    );
    text
}

/// Configures vsftpd with files in memory; `big` is a sparse file of 1 GB.
fn vsftpd() -> String {
    format!(
        "mkdir -p {DIR}/empty {DIR}/ftp/pub\nchown daemon {DIR}/ftp/pub\ntruncate -s 1G {DIR}/ftp/big\n\
         cat > {DIR}/vsftpd.conf <<'END'\n\
         listen=YES\nanonymous_enable=YES\nlocal_enable=NO\nwrite_enable=YES\nanon_upload_enable=YES\nno_anon_password=YES\n\
         anon_root={DIR}/ftp\nftp_username=daemon\nsecure_chroot_dir={DIR}/empty\nseccomp_sandbox=NO\nanon_umask=022\n\
         pasv_min_port=30000\npasv_max_port=30999\nxferlog_enable=NO\nEND\n\
         {VSFTPD} {DIR}/vsftpd.conf >{DIR}/vsftpd.out 2>&1 &\necho $! >{DIR}/vsftpd.pid\n\
         echo \"{DAEMON}$! vsftpd\"\n\
         await sh -c 'ss -ltn | grep -q :21'\n"
    )
}

/// Returns the command that sets up a tunnel, from either end.
pub fn initiate_tunnel(link: usize) -> String {
    swanctl(link, "--initiate --child t --timeout 5")
}

/// Kills all daemons of a host at once, as a power failure does, without notifying peers. Also deletes the
/// files that would make a new start believe that they still run.
fn kill() -> String {
    format!(
        "for p in {DIR}/*.pid {DIR}/*/*.pid; do [ -e $p ] && kill -9 $(cat $p); rm -f $p; done 2>/dev/null\n\
         rm -f {DIR}/*/vici {DIR}/bird.ctl /run/charon.pid"
    )
}

/// Returns a command that sets up the tunnels of which a host is the first end. It fails while one tunnel is
/// down.
pub fn initiate_tunnels(scenario: &Scenario, host: usize) -> Option<String> {
    let first = tunnels(scenario, host).filter(|&l| scenario.links[l].between[0] == host);
    let initiate = |link| {
        let list = swanctl(link, "--list-sas");
        format!("{{ {list} | grep -q INSTALLED; }} || {}", initiate_tunnel(link))
    };
    let all: Vec<String> = first.map(initiate).collect();
    (!all.is_empty()).then(|| all.join(" && "))
}

/// Returns a command that checks whether all BGP sessions of a host are established, and otherwise lists
/// them.
pub fn sessions_established(scenario: &Scenario, host: usize) -> Option<String> {
    let all = sessions(scenario, host).count();
    (all > 0).then(|| {
        let list = birdc("show protocols");
        format!(
            "[ \"$({list} | grep -c ' BGP .*Established')\" = {all} ] || {{ {list} | grep ' BGP '; false; }}"
        )
    })
}

/// Returns the commands that begin a fault at hosts, or end it if `up`.
pub fn switch(scenario: &Scenario, fault: &ScheduledFault, up: bool) -> Vec<(usize, String)> {
    let Some(&link) = fault.links.first() else { return Vec::new() };
    let host = scenario.links[link].between[0];
    match (fault.kind, up) {
        (FaultKind::Link, _) | (FaultKind::Host, true) => Vec::new(),
        (FaultKind::Host, false) => fault.host.map(|host| (host, kill())).into_iter().collect(),
        (FaultKind::Tunnel, false) => vec![(host, swanctl(link, "--terminate --ike t --timeout 2"))],
        (FaultKind::Tunnel, true) => vec![(host, initiate_tunnel(link))],
        (FaultKind::Bgp, _) => {
            let verb = if up { "enable" } else { "disable" };
            // Without -r (restricted), because it changes the state.
            let name = session(scenario, link);
            vec![(host, format!("birdc -s {DIR}/bird.ctl {verb} {name}"))]
        }
    }
}
