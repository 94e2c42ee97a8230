//! Networks of hosts: addresses, routes, customers, services and faults, and the errors in them.

use scenario::{Experiment, LinkWay, Prefix, Scenario};

const NET: &str = r#"
duration = "20s"
[hosts.pc]
addresses = ["192.168.30.236/24"]
customer = "red"
[hosts.box]
customer = "red"
services = [{ kind = "ipsec", link = "access" }, { kind = "bgp", as = 65001, hold = "3s" }]
[hosts.gw]
services = [
    { kind = "ipsec", link = "access", rekey = "30s" },
    { kind = "bgp", as = 65000, announce = ["172.16.0.0/12"] },
]
[hosts.far]
addresses = ["192.168.31.7/24", "192.168.31.8/24"]
customer = "red"
[hosts.other]
addresses = ["192.168.30.236/24"]
customer = "blue"
[links]
lan = { between = ["pc", "box"] }
access = { between = ["box", "gw"] }
pop = { between = ["gw", "far"] }
blue = { between = ["gw", "other"] }
[flows.f]
from = "pc"
to = "far"
[faults.cut]
kind = "tunnel"
link = "access"
at = "5s"
lasts = "2s"
"#;

fn read(text: &str) -> Scenario {
    Experiment::parse("t.toml", text, &[])
        .unwrap_or_else(|e| panic!("{}", e.render()))
        .variants
        .remove(0)
        .scenario
}

fn error(text: &str) -> String {
    Experiment::parse("t.toml", text, &[]).expect_err("the parser accepts it").to_string()
}

fn route(s: &Scenario, from: &str, to: &str) -> Option<String> {
    let at = |n: &str| s.hosts.iter().position(|h| h.name == n).unwrap();
    let hops = s.route(at(from), at(to))?;
    Some(hops.iter().map(|h| s.links[h.link].name.as_str()).collect::<Vec<_>>().join(" "))
}

#[test]
fn a_network_is_read_and_written_back() {
    let s = read(NET);
    let again = read(&s.to_toml());
    assert_eq!(s, again);
    assert_eq!(route(&s, "pc", "far").unwrap(), "lan access pop");
    assert_eq!((s.customers(), s.is_tunnel(1), s.has_session(1)), (vec!["red", "blue"], true, true));
    assert_eq!(s.customer_of_link(1), Some("red"));
    // 20 IP, 8 UDP, 8 ESP, 8 IV, 16 ICV, 2 trailer, and padding to 4 bytes; strongSwan reads 1400 at most.
    assert_eq!((s.link_mtu(1), s.link_mtu(0)), (1398, 1500));
    let announced =
        |host, customer| s.announced(host, customer).iter().map(Prefix::to_string).collect::<Vec<_>>();
    assert_eq!(announced(1, Some("red")), ["10.0.0.2/32", "192.168.30.0/24"]);
    assert_eq!(announced(2, Some("red")), ["10.0.0.3/32", "172.16.0.0/12", "192.168.31.0/24"]);
    assert_eq!(announced(2, Some("blue")), ["10.0.0.3/32", "172.16.0.0/12", "192.168.30.0/24"]);
}

#[test]
fn attachments_name_a_link_its_end_and_a_target() {
    let text = "[links.wan]\nbetween = [\"web\", \"far\"]\n[links.lan]\nbetween = [\"far\", \"db\"]\n";
    let attached = |table: &str| {
        let text = format!("{text}[attach.x]\n{table}");
        let read = Experiment::parse("t.toml", &text, &[]).map_err(|e| e.to_string());
        read.map(|e| e.variants[0].scenario.attachments[0].clone())
    };
    let a =
        attached("link = \"lan\"\ntarget = \"docker:db\"\nhost = \"db\"\ndirection = \"backward\"").unwrap();
    assert_eq!((a.name.as_str(), a.link, a.target.as_str(), a.at_second_end), ("x", 1, "docker:db", true));
    assert_eq!((a.direction, a.only), (Some(LinkWay::Backward), None));
    assert!(!attached("link = \"wan\"\ntarget = \"pid:1\"").unwrap().at_second_end);
    for (table, expected) in [
        ("link = \"wam\"\ntarget = \"pid:1\"", "wam"),
        ("link = \"wan\"\ntarget = \"pid:1\"\nhost = \"db\"", "the link `wan` does not end at `db`"),
        ("link = \"wan\"", "target"),
    ] {
        let e = attached(table).unwrap_err();
        assert!(e.contains(expected), "{e}");
    }
}

#[test]
fn variants_change_hosts_and_faults() {
    let text = format!(
        "{NET}\n[variants.a]\n[variants.b]\n\"hosts.far.forward\" = false\n\"hosts.box.routes\" = [{{ to = \"default\", via = \"gw\" }}]\n\
         \"faults.cut.lasts\" = \"9s\"\n\"faults.more\" = {{ kind = \"bgp\", link = \"access\", at = \"1s\", lasts = \"1s\" }}\n"
    );
    let e = Experiment::parse("t.toml", &text, &[]).unwrap_or_else(|e| panic!("{}", e.render()));
    let b = &e.variants[1].scenario;
    assert_eq!((b.hosts[3].forward, b.hosts[1].routes.len(), b.faults.len()), (false, 1, 2));
    let again = Experiment::parse("t.toml", &e.to_toml(), &[]).unwrap_or_else(|e| panic!("{}", e.render()));
    assert_eq!(e.variants, again.variants);
    let sets = b.overrides_of(&e.variants[0].scenario);
    let set = Experiment::parse("t.toml", NET, &sets).unwrap();
    assert_eq!(set.variants[0].scenario, *b);
}

#[test]
fn only_a_host_that_just_forwards_can_fail() {
    let lost = |host: &str| {
        format!("{NET}\n[faults.power]\nkind = \"host\"\nhost = \"{host}\"\nat = \"1s\"\nlasts = \"1s\"\n")
    };
    let s = read(&lost("box"));
    let fault = s.faults.iter().find(|f| f.name == "power").unwrap();
    assert_eq!((fault.host, &fault.links[..]), (Some(1), &[0, 1][..]));
    assert_eq!(read(&s.to_toml()), s);
    assert!(error(&lost("pc")).contains("faults.power.host: a flow or a relay ends at `pc`"));
    assert!(error(&lost("unknown")).contains("unknown"));
    let both = format!(
        "{NET}\n[faults.power]\nkind = \"link\"\nlink = \"lan\"\nhost = \"box\"\nat = \"1s\"\nlasts = \"1s\"\n"
    );
    assert!(error(&both).contains("a fault of kind \"link\" needs `link` and no `host`"));
    assert!(
        error(&both.replace("\"link\"", "\"host\""))
            .contains("a fault of kind \"host\" needs `host` and no `link`")
    );
}

#[test]
fn routes_take_precedence_over_the_shortest_path_and_forwarding_can_be_off() {
    let square = r#"
        [links]
        ab = { between = ["a", "b"] }
        bd = { between = ["b", "d"] }
        ac = { between = ["a", "c"] }
        cd = { between = ["c", "d"] }
        [flows.f]
        from = "a"
        to = "d"
    "#;
    assert_eq!(route(&read(square), "a", "d").unwrap(), "ab bd");
    let with = |more: &str| read(&format!("{square}\n{more}"));
    assert_eq!(route(&with("[hosts.b]\nforward = false"), "a", "d").unwrap(), "ac cd");
    let s = with("[hosts.a]\nroutes = [{ to = \"default\", via = \"b\" }, { to = \"d\", via = \"c\" }]");
    assert_eq!(
        (route(&s, "a", "d").unwrap(), route(&s, "d", "a").unwrap()),
        ("ac cd".into(), "bd ab".into())
    );
    assert_eq!(s.route_without(0, 2, &[2]).unwrap().len(), 2, "the detour around a failed link");
    let circle = format!(
        "{square}\n[hosts.a]\nroutes = [{{ to = \"d\", via = \"b\" }}]\n[hosts.b]\nroutes = [{{ to = \"d\", via = \"a\" }}]"
    );
    let error = error(&circle);
    assert!(error.starts_with("t.toml:9:14: flows.f.to: no route from `a` to `d`"), "{error}");
}

#[test]
fn errors_name_their_key_and_cause() {
    for (from, to, wanted) in [
        (
            "\"192.168.30.236/24\"]\ncustomer = \"red\"",
            "\"192.168.30/24\"]",
            "t.toml:4:14: hosts.pc.addresses.0",
        ),
        (
            "[\"192.168.30.236/24\"]\ncustomer = \"red\"",
            "[\"100.64.0.1/24\"]",
            "100.64.0.1/24 is out of range",
        ),
        (
            "customer = \"blue\"",
            "",
            "`pc` and `other` both have 192.168.30.236; only hosts of different customers may",
        ),
        (
            "lan = { between = [\"pc\", \"box\"] }",
            "lan = { between = [\"pc\", \"box\"], customer = \"blue\" }",
            "links.lan.customer: the link would connect the customers `blue` and `red`",
        ),
        (
            "blue = { between = [\"gw\", \"other\"] }",
            "blue = { between = [\"pc\", \"other\"] }",
            "links.blue.between: the link would connect the customers `red` and `blue`",
        ),
        ("to = \"far\"", "to = \"other\"", "they belong to the customers `red` and `blue`"),
        ("link = \"access\", rekey = \"30s\"", "link = \"pop\"", "has no `ipsec` service for it"),
        (
            "link = \"access\" }, {",
            "link = \"pop\" }, {",
            "hosts.box.services.0.link: the link does not end at `box`",
        ),
        ("link = \"access\" }, {", "link = \"aces\" }, {", "there is no link `aces`"),
        ("as = 65001", "as = 0", "1 to 4294967294"),
        ("as = 65001", "asn = 65001", "unknown key `asn`"),
        ("hold = \"3s\"", "hold = \"2s\"", "hosts.box.services.1.hold: 2s is out of range"),
        ("kind = \"bgp\", as = 65001", "kind = \"ospf\", as = 65001", "unknown value `ospf`"),
        (
            "kind = \"tunnel\"\nlink = \"access\"",
            "kind = \"bgp\"\nlink = \"pop\"",
            "there is no `bgp` session over `pop`",
        ),
        ("at = \"5s\"", "at = \"25s\"", "faults.cut.at: 25s is out of range"),
        ("lasts = \"2s\"", "lasts = \"0s\"", "above 0s"),
        ("[hosts.far]", "[hosts.far]\nroutes = [{ to = \"x\", via = \"gw\" }]", "`x` is not a network"),
        (
            "[hosts.far]",
            "[hosts.far]\nroutes = [{ to = \"gw\", via = \"pc\" }]",
            "no link joins `far` and `pc`",
        ),
    ] {
        assert!(NET.contains(from), "{from}");
        let error = error(&NET.replacen(from, to, 1));
        assert!(error.contains(wanted), "{to}: {error}");
    }
}

#[test]
fn ipv6_is_accepted_and_paths_that_cannot_carry_it_are_refused() {
    let net = |a: &str, b: &str, more: &str| {
        format!(
            "hosts.a.addresses = [\"{a}\"]\nhosts.b.addresses = [\"{b}\"]\n[links.l]\nbetween = [\"a\", \"b\"]\n{more}\n[flows.f]\nfrom = \"a\"\nto = \"b\"\n"
        )
    };
    let s = read(&net("2001:db8::1/64", "2001:db8:1::1/64", ""));
    assert_eq!(
        (s.address(0).to_string(), s.extra_ip_header(1), s.has_ipv6()),
        ("2001:db8::1".into(), 20, true)
    );
    assert_eq!(read(&s.to_toml()), s);
    for (text, wanted) in [
        (net("2001:db8::1/64", "10.1.0.1/24", ""), "both must have the same IP version"),
        (net("fe80::1/64", "2001:db8::1/64", ""), "a unicast address"),
        (net("2001:db8::1/64", "2001:db8::1/64", ""), "`a` and `b` both have 2001:db8::1"),
        (
            net("2001:db8::1/64", "2001:db8::2/64", "forward = [{ kind = \"link\", mtu = 1000 }]"),
            "`l`, which does not carry packets of 1280 bytes",
        ),
        (
            net(
                "2001:db8::1/64",
                "2001:db8::2/64",
                "backward = [{ kind = \"tunnel\", overhead = 24, mtu = 1303 }]",
            ),
            "`l`, which does not carry packets of 1280 bytes",
        ),
        (
            format!(
                "{}app = {{ kind = \"udp\", rate = \"1Mbit/s\", size = 48 }}\n",
                net("2001:db8::1/64", "2001:db8::2/64", "")
            ),
            "49 to 65535 bytes of IPv6 packet",
        ),
        (
            format!(
                "hosts.a.services = [{{ kind = \"bgp\", as = 1 }}]\nhosts.b.services = [{{ kind = \"bgp\", as = 2 }}]\n{}",
                net("2001:db8::1/64", "2001:db8::2/64", "")
            ),
            "`ipsec` and `bgp` are IPv4 only",
        ),
    ] {
        let error = error(&text);
        assert!(error.contains(wanted), "{error}");
    }
    // The outer packets may be fragmented; or the MTU is one byte larger.
    for tunnel in ["mtu = 1000, fragment = true", "mtu = 1304"] {
        let more = format!("backward = [{{ kind = \"tunnel\", overhead = 24, {tunnel} }}]");
        read(&net("2001:db8::1/64", "2001:db8::2/64", &more));
    }
}

/// When a fault takes down its shortest path, the IPv6 flow would cross a tunnel, which is IPv4 only.
#[test]
fn an_ipv6_flow_that_a_fault_would_reroute_into_ipsec_is_refused() {
    let text = |fault: &str| {
        format!(
            "hosts.a.addresses = [\"2001:db8::1/64\"]\nhosts.b.addresses = [\"2001:db8::2/64\"]\n\
             hosts.x.services = [{{ kind = \"ipsec\", link = \"vpn\" }}]\nhosts.y.services = [{{ kind = \"ipsec\", link = \"vpn\" }}]\n\
             [links]\nax = {{ between = [\"a\", \"x\"] }}\nplain = {{ between = [\"x\", \"z\"] }}\nzb = {{ between = [\"z\", \"b\"] }}\n\
             vpn = {{ between = [\"x\", \"y\"] }}\nyw = {{ between = [\"y\", \"w\"] }}\nwb = {{ between = [\"w\", \"b\"] }}\n{fault}\n\
             [flows.f]\nfrom = \"a\"\nto = \"b\"\n"
        )
    };
    read(&text(""));
    let error =
        error(&text("[faults]\ncut = { kind = \"link\", link = \"plain\", at = \"1s\", lasts = \"1s\" }"));
    assert!(error.contains("would cross `vpn`: `ipsec` and `bgp` are IPv4 only"), "{error}");
}
