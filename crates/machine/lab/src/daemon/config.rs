//! What daemons are told: scripts that write their configurations and start them, and commands that ask them.
//!
//! All names in them are links' and hosts' numbers or checked names; addresses and numbers are written by longfat.

use crate::network::device;
use crate::routing::{outgoing, table};
use scenario::{FaultKind, Scenario, ScheduledFault, Service};
use std::fmt::Write;
use std::fs::File;
use std::io::{self, Read};
use std::net::Ipv4Addr;
use units::Span;

/// Where Debian has them.
pub const CHARON: &str = "/usr/lib/ipsec/charon";
pub const LIBIPSEC: &str = "/usr/lib/ipsec/plugins/libstrongswan-kernel-libipsec.so";
pub const OPENSSL: &str = "/usr/lib/ipsec/plugins/libstrongswan-openssl.so";
pub const BIRD: &str = "/usr/sbin/bird";
pub const VSFTPD: &str = "/usr/sbin/vsftpd";
/// Where a host's daemons have their files: its own `/run`.
const HOME: &str = "/run/longfat";
/// Ports of IKE and of ESP in UDP: a charon for each tunnel, so none is the usual one, and with neither port 500 every
/// message has the mark of RFC 3948 and goes to the second port.
const PORTS: usize = 20_000;
/// Plugins of charon, in the order of preference of what they offer.
const PLUGINS: &str = "random nonce openssl aes sha1 sha2 hmac kdf gcm curve25519 kernel-libipsec kernel-netlink \
                       socket-default vici";
/// Waits for something to be there, in steps of 20 ms, for 5 s.
const AWAIT: &str =
    "await() { n=0; until \"$@\"; do n=$((n+1)); [ $n -lt 250 ] || return 1; sleep 0.02; done; }";

/// The port of a tunnel's ESP in UDP, at both ends.
pub fn esp_port(link: usize) -> u16 {
    (PORTS + 2 * link + 1) as u16
}

/// A key that both ends of each tunnel of a run have.
pub fn secret() -> io::Result<String> {
    let mut bytes = [0; 24];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}")))
}

/// Links with a tunnel that a host has an end of, in order.
pub fn tunnels(scenario: &Scenario, host: usize) -> impl Iterator<Item = usize> + '_ {
    let own = move |&l: &usize| scenario.links[l].between.contains(&host) && scenario.is_tunnel(l);
    (0..scenario.links.len()).filter(own)
}

/// Links over which a host has a BGP session.
fn sessions(scenario: &Scenario, host: usize) -> impl Iterator<Item = usize> + '_ {
    let own = move |&l: &usize| scenario.links[l].between.contains(&host) && scenario.has_session(l);
    (0..scenario.links.len()).filter(own)
}

/// A host's address at a link and its neighbour's; within the tunnel, or outside.
fn ends(scenario: &Scenario, host: usize, link: usize, inside: bool) -> [Ipv4Addr; 2] {
    let side = usize::from(scenario.links[link].between[1] == host);
    [side, 1 - side].map(|side| scenario.link_address(link, side, inside))
}

/// Stands before a daemon's process id and its program in what the start at a host says.
const DAEMON: &str = "@longfat-daemon ";

/// The daemons that the start at a host has named: their process ids inside, and what they are.
pub fn daemons(scenario: &Scenario, said: &str) -> Vec<(i32, String)> {
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
    said.lines().filter_map(read).collect()
}

/// Starts everything at a host.
pub fn start(scenario: &Scenario, host: usize, secret: &str) -> String {
    let mut text = format!("set -e\n{AWAIT}\nmkdir -p {HOME}\nip link set lo up\n");
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
                    "cat > {HOME}/bird.conf <<'END'\n{config}END\n\
                     {BIRD} -c {HOME}/bird.conf -s {HOME}/bird.ctl -P {HOME}/bird.pid >{HOME}/bird.out 2>&1 || {{ cat {HOME}/bird.out; false; }}\n\
                     await [ -S {HOME}/bird.ctl ]\nawait [ -s {HOME}/bird.pid ]\n\
                     echo \"{DAEMON}$(cat {HOME}/bird.pid) bird\"\n"
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
    let (ike, natt) = (PORTS + 2 * link, esp_port(link));
    let (dir, dev) = (format!("{HOME}/{}", device(link)), outgoing(scenario, host, link));
    let mtu = scenario.link_mtu(link);
    let load = swanctl(link, &format!("--load-all --file {dir}/swanctl.conf"));
    // `kernel-libipsec` leads everything into its device by a table of its own; here routes say what goes there.
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

/// A command of the charon of a tunnel.
pub fn swanctl(link: usize, arguments: &str) -> String {
    let dir = format!("{HOME}/{}", device(link));
    format!("STRONGSWAN_CONF={dir}/strongswan.conf swanctl {arguments} --uri unix://{dir}/vici")
}

/// A command of a host's BIRD.
pub fn birdc(command: &str) -> String {
    format!("birdc -r -s {HOME}/bird.ctl {command} | grep -v '^BIRD \\|^Access restricted'")
}

/// BIRD's configuration.
fn bird(scenario: &Scenario, host: usize) -> String {
    let Some((own_as, hold)) = scenario.speaker(host) else { return String::new() };
    let router = scenario::default_address(host);
    let mut text =
        format!("log \"{HOME}/bird.log\" all;\nrouter id {router};\nprotocol device {{ scan time 1; }}\n");
    let mut customers: Vec<Option<&str>> = Vec::new();
    for link in sessions(scenario, host) {
        let customer = scenario.customer_of_link(link).filter(|_| scenario.hosts[host].customer.is_none());
        let seconds = |s: Span| (s.as_nanos() / 1_000_000_000).max(1);
        let [own, peer] = ends(scenario, host, link, scenario.is_tunnel(link));
        let other = scenario.links[link].between[usize::from(scenario.links[link].between[0] == host)];
        let (peer_as, _) = scenario.speaker(other).unwrap_or_default();
        let of = bird_table(scenario, customer);
        if !customers.contains(&customer) {
            customers.push(customer);
            text += &bird_tables(scenario, host, customer, &of);
        }
        let reflects = if peer_as == own_as { " rr client;\n" } else { "" };
        let _ = write!(
            text,
            "protocol bgp {} {{\n description \"{}\";\n local {own} as {own_as};\n neighbor {peer} as {peer_as};\n direct;\n{reflects} \
             hold time {};\n keepalive time {};\n connect delay time 1;\n connect retry time 1;\n error wait time 1, 1;\n \
             ipv4 {{\n  table {of};\n  import all;\n  export where source = RTS_STATIC || source = RTS_BGP;\n  next hop self;\n  gateway direct;\n }};\n}}\n",
            session(scenario, link),
            scenario.links[link].name,
            seconds(hold),
            seconds(hold / 3),
        );
    }
    text
}

/// The name of the session over a link.
fn session(scenario: &Scenario, link: usize) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    format!("{}_{link}", scenario.links[link].name.chars().map(plain).collect::<String>())
}

fn bird_table(scenario: &Scenario, customer: Option<&str>) -> String {
    let at = customer.and_then(|of| scenario.customers().iter().position(|c| *c == of));
    at.map_or("master4".into(), |at| format!("customer{at}"))
}

/// A customer's table, what is announced in it, and how it comes to the kernel.
fn bird_tables(scenario: &Scenario, host: usize, customer: Option<&str>, name: &str) -> String {
    let mut text = String::new();
    if customer.is_some() {
        let _ = writeln!(text, "ipv4 table {name};");
    }
    let of = customer.or(scenario.hosts[host].customer.as_deref());
    let _ = write!(text, "protocol static own_{name} {{\n ipv4 {{ table {name}; }};\n");
    for prefix in scenario.announced(host, of).iter().filter(|p| p.address.is_ipv4()) {
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

/// vsftpd takes and gives files in memory; `big` is a gigabyte of zeros that takes no room.
fn vsftpd() -> String {
    format!(
        "mkdir -p {HOME}/empty {HOME}/ftp/pub\nchown daemon {HOME}/ftp/pub\ntruncate -s 1G {HOME}/ftp/big\n\
         cat > {HOME}/vsftpd.conf <<'END'\n\
         listen=YES\nanonymous_enable=YES\nlocal_enable=NO\nwrite_enable=YES\nanon_upload_enable=YES\nno_anon_password=YES\n\
         anon_root={HOME}/ftp\nftp_username=daemon\nsecure_chroot_dir={HOME}/empty\nseccomp_sandbox=NO\nanon_umask=022\n\
         pasv_min_port=30000\npasv_max_port=30999\nxferlog_enable=NO\nEND\n\
         {VSFTPD} {HOME}/vsftpd.conf >{HOME}/vsftpd.out 2>&1 &\necho $! >{HOME}/vsftpd.pid\n\
         echo \"{DAEMON}$! vsftpd\"\n\
         await sh -c 'ss -ltn | grep -q :21'\n"
    )
}

/// Makes a tunnel, from either end.
pub fn make(link: usize) -> String {
    swanctl(link, "--initiate --child t --timeout 5")
}

/// Ends all daemons of a host at once, as a loss of power does: nobody is told. What would make a new start believe that
/// they still run goes too.
fn kill() -> String {
    format!(
        "for p in {HOME}/*.pid {HOME}/*/*.pid; do [ -e $p ] && kill -9 $(cat $p); rm -f $p; done 2>/dev/null\n\
         rm -f {HOME}/*/vici {HOME}/bird.ctl /run/charon.pid"
    )
}

/// Makes the tunnels of which a host is the first end; fails while one does not stand.
pub fn initiate(scenario: &Scenario, host: usize) -> Option<String> {
    let first = tunnels(scenario, host).filter(|&l| scenario.links[l].between[0] == host);
    let one = |link| {
        let stands = swanctl(link, "--list-sas");
        format!("{{ {stands} | grep -q INSTALLED; }} || {}", make(link))
    };
    let all: Vec<String> = first.map(one).collect();
    (!all.is_empty()).then(|| all.join(" && "))
}

/// Whether all sessions of a host are established: what it says otherwise.
pub fn sessions_stand(scenario: &Scenario, host: usize) -> Option<String> {
    let all = sessions(scenario, host).count();
    (all > 0).then(|| {
        let list = birdc("show protocols");
        format!(
            "[ \"$({list} | grep -c ' BGP .*Established')\" = {all} ] || {{ {list} | grep ' BGP '; false; }}"
        )
    })
}

/// What begins a fault at the hosts, or ends it.
pub fn switch(scenario: &Scenario, fault: &ScheduledFault, up: bool) -> Vec<(usize, String)> {
    let Some(&link) = fault.links.first() else { return Vec::new() };
    let host = scenario.links[link].between[0];
    match (fault.kind, up) {
        (FaultKind::Link, _) | (FaultKind::Host, true) => Vec::new(),
        (FaultKind::Host, false) => fault.host.map(|host| (host, kill())).into_iter().collect(),
        (FaultKind::Tunnel, false) => vec![(host, swanctl(link, "--terminate --ike t --timeout 2"))],
        (FaultKind::Tunnel, true) => vec![(host, make(link))],
        (FaultKind::Bgp, _) => {
            let verb = if up { "enable" } else { "disable" };
            // Without -r: it changes something.
            let name = session(scenario, link);
            vec![(host, format!("birdc -s {HOME}/bird.ctl {verb} {name}"))]
        }
    }
}
