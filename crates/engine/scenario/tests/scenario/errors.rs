//! Every kind of error in a scenario: its position, key, message and help.

use scenario::{DocumentError, Experiment, RefusalCause};

const GOOD: &str = r#"name = "good"
duration = "20s"

[links.wan]
between = ["client", "server"]
forward = [
  { kind = "policer", name = "limiter", rate = "20Mbit/s", burst = "625kB" },
  { kind = "shaper", rate = "20Mbit/s", queue = { kind = "fifo", packets = 200 }, enabled = false },
  { kind = "delay", delay = "2.5ms" },
]
backward = [{ kind = "delay", delay = "2.5ms" }]

[links.lan]
between = ["server", "mid"]

[links.other]
between = ["x", "y"]

[hosts.client]
stack = { profile = "linux", mss = 1400 }

[relays.proxy]
host = "mid"

[flows.bulk]
from = "client"
to = "server"
cc = "cubic"
count = 4
app = { kind = "bulk", bytes = "10MB" }

[variants.one]
"flows.bulk.count" = 1
"#;

/// The error of the good file after one edit and with these `--set` overrides.
fn error(from: &str, to: &str, sets: &[&str]) -> DocumentError {
    assert!(GOOD.contains(from), "the good file has no {from}");
    let sets: Vec<String> = sets.iter().map(|s| s.to_string()).collect();
    match Experiment::parse("good.toml", &GOOD.replacen(from, to, 1), &sets) {
        Ok(_) => panic!("no error after {from} -> {to}, {sets:?}"),
        Err(e) => e,
    }
}

/// Compares the messages. An expectation that ends in `…` is a prefix, for lists that other crates define.
fn check(found: &str, expected: &str) {
    match expected.strip_suffix('…') {
        Some(start) => assert!(found.starts_with(start), "\n found {found}\n expected {expected}"),
        None => assert_eq!(found, expected),
    }
}

#[test]
fn the_unmodified_file_has_no_error() {
    let experiment = Experiment::parse("good.toml", GOOD, &[]).unwrap();
    assert_eq!(experiment.variants[0].scenario.links[0].forward.len(), 2);
}

#[test]
fn every_error_in_a_file_has_its_position_and_message() {
    for (from, to, expected) in EDITS {
        check(&error(from, to, &[]).to_string(), &format!("good.toml:{expected}"));
    }
}

#[test]
fn every_error_in_an_override_has_its_position_and_message() {
    for (set, expected) in SETS {
        check(&error("", "", &[set]).to_string(), &format!("--set {set}, column {expected}"));
    }
}

#[test]
fn an_error_shows_its_line() {
    let shown = error("burst = \"625kB\"", "burst = \"625kBit\"", &[]).render();
    let expected = r#"error: unknown unit `kBit`, expected one of B, kB, MB, GB, KiB, MiB, GiB (for example "625kB")
 --> good.toml:7:68 at links.wan.forward.limiter.burst
  |
7 |   { kind = "policer", name = "limiter", rate = "20Mbit/s", burst = "625kBit" },
  |                                                                    ^^^^^^^^^
"#;
    assert_eq!(shown, expected);
    let shown = error("", "", &["seed=2", "links.wan.forward.limitr.rate=10Mbit/s"]).render();
    let expected = r#"error: there is no stage `limitr`
 --> --set links.wan.forward.limitr.rate=10Mbit/s, column 19 at links.wan.forward.limitr.rate
  |
1 | links.wan.forward.limitr.rate=10Mbit/s
  |                   ^^^^^^
  = help: did you mean `limiter`? known: limiter, shaper, delay
"#;
    assert_eq!(shown, expected);
    let shown = error("flows.bulk.count\" = 1", "flows.bulk.count\" = 0", &[]).render();
    let expected = r#"error: 0 is out of range
  --> good.toml:33:22 at flows.bulk.count in the variant one
   |
33 | "flows.bulk.count" = 0
   |                      ^
   = help: allowed: 1 to 100000 (`enabled = false` leaves the flow out)
"#;
    assert_eq!(shown, expected);
}

#[test]
fn a_long_line_is_cut_around_the_error() {
    let long = format!("description = \"{}\"; seed = 1", "ä".repeat(5000));
    let e = Experiment::parse("long.toml", &long, &[]).unwrap_err();
    assert_eq!((e.line(), e.column()), (1, 5017));
    assert!(e.render().lines().all(|l| l.chars().count() < 130), "{}", e.render());
}

#[test]
fn inputs_above_the_size_limits_are_refused() {
    let big = "#".repeat(scenario::MAX_BYTES + 1);
    let e = Experiment::parse("big.toml", &big, &[]).unwrap_err();
    assert!(matches!(e.cause(), RefusalCause::FileTooLarge { .. }));
    let link = "[links.l]\nbetween = [\"a\", \"b\"]\n";
    let variants: String = (0..1001).map(|i| format!("[variants.v{i}]\n")).collect();
    let e = Experiment::parse("many.toml", &format!("{link}{variants}"), &[]).unwrap_err();
    assert!(matches!(e.cause(), RefusalCause::OutOfRange { .. }), "{e}");
    let stages = "{ kind = \"delay\", delay = \"1ms\" }, ".repeat(101);
    let e = Experiment::parse("deep.toml", &format!("{link}forward = [{stages}]"), &[]).unwrap_err();
    assert!(matches!(e.cause(), RefusalCause::OutOfRange { .. }), "{e}");
    let deep = format!("x = {}{}", "[".repeat(10_000), "]".repeat(10_000));
    let e = Experiment::parse("deep.toml", &deep, &[]).unwrap_err();
    assert!(matches!(e.cause(), RefusalCause::Syntax { .. }), "{e}");
    let e = Experiment::parse("set.toml", link, &[format!("{}=1", vec!["hosts"; 500].join("."))]);
    assert!(matches!(e.unwrap_err().cause(), RefusalCause::BadPath { .. }));
}

/// The text to replace, its replacement, and the error after `good.toml:`.
#[rustfmt::skip]
const EDITS: &[(&str, &str, &str)] = &[
    (r#"burst = "625kB""#, r#"burst = "625kBit""#,
        r#"7:68: links.wan.forward.limiter.burst: unknown unit `kBit`, expected one of B, kB, MB, GB, KiB, MiB, GiB (for example "625kB")"#),
    (r#"rate = "20Mbit/s", burst"#, "rate = 20, burst",
        r#"7:48: links.wan.forward.limiter.rate: expected a text with a unit, for example "20Mbit/s", found the number 20"#),
    (r#""20Mbit/s", burst"#, "20Mbit/s, burst",
        r#"7:48: not valid TOML: string values must be quoted, expected literal string (a value with a unit needs quotes: "20Mbit/s")"#),
    ("duration", "durtion",
        "2:1: durtion: unknown key `durtion` (did you mean `duration`? …"),
    (r#"duration = "20s""#, r#"duration = "0s""#,
        "2:12: duration: 0s is out of range (allowed: above 0s, up to 24h)"),
    (r#"duration = "20s""#, r#"duration = "25h""#,
        "2:12: duration: 25h is out of range (allowed: above 0s, up to 24h)"),
    (r#"duration = "20s""#, "duration = 2026-01-01",
        r#"2:12: duration: expected a text with a unit, for example "30ms", found the date 2026-01-01"#),
    (r#"duration = "20s""#, "seed = -1",
        "2:8: seed: -1 is out of range (allowed: a whole number from 0)"),
    (r#"duration = "20s""#, "seed = 1.5",
        "2:8: seed: expected a whole number, found the number 1.5"),
    (r#"duration = "20s""#, r#"sample = "1ns""#,
        r#"2:10: sample: 1ns is out of range (allowed: "0s" for no time series, or from 1us for this duration)"#),
    (r#"name = "good""#, r#"name = "not/good""#,
        "1:8: name: `not/good` cannot be a name (a name has 1 to 64 letters, digits, `-`, `_` or `.`, and begins with a letter, a digit or `_`)"),
    (r#""client", "server"]"#, r#""client"]"#,
        "5:11: links.wan.between: expected a list of 2, found a list of 1"),
    (r#""client", "server"]"#, r#""client", "server", "mid"]"#,
        "5:11: links.wan.between: expected a list of 2, found a list of 3"),
    (r#""client", "server"]"#, r#""client", "client"]"#,
        "5:11: links.wan.between: both ends are the host `client`"),
    (r#""client", "server"]"#, r#""client", 3]"#,
        "5:22: links.wan.between.1: expected a text in quotes, found the number 3"),
    (r#"kind = "policer""#, r#"kind = "polcier""#,
        "7:12: links.wan.forward.limiter.kind: unknown kind of stage `polcier` (did you mean `policer`? …"),
    (r#"kind = "policer", "#, "",
        "7:3: links.wan.forward.limiter: the key `kind` is missing"),
    (
        r#"{ kind = "delay", delay = "2.5ms" },
]"#,
        r#""delay"]"#,
        r#"9:3: links.wan.forward.stage: expected a stage, for example { kind = "delay", delay = "10ms" }, found a text"#,
    ),
    (r#"name = "limiter""#, r#"name = "7""#,
        "7:30: links.wan.forward.7.name: the name `7` would be read as a stage's index; add a letter"),
    (r#"name = "limiter""#, r#"nam = "limiter""#,
        "7:23: links.wan.forward.policer.nam: unknown key `nam` (did you mean `name`? …"),
    (r#""625kB""#, r#""0B""#,
        r#"7:68: links.wan.forward.limiter.burst: must be above zero (for example "625kB")"#),
    ("packets = 200", r#"packets = "200""#,
        r#"8:76: links.wan.forward.shaper.queue.packets: expected a whole number, found the text "200""#),
    ("packets = 200", "packets = -1",
        "8:76: links.wan.forward.shaper.queue.packets: -1 is out of range (allowed: a whole number from 0)"),
    ("packets = 200", "pakets = 200",
        "8:66: links.wan.forward.shaper.queue.pakets: unknown key `pakets` (did you mean `packets`? …"),
    ("packets = 200", "packets = 0",
        "8:76: links.wan.forward.shaper.queue.packets: must be at least 1"),
    (r#""fifo""#, r#""fif""#,
        "8:58: links.wan.forward.shaper.queue.kind: unknown value `fif` (did you mean `fifo`? …"),
    (r#"delay = "2.5ms""#, r#"dellay = "2.5ms""#,
        "9:21: links.wan.forward.delay.dellay: unknown key `dellay` (did you mean `delay`? …"),
    (r#"delay = "2.5ms" },"#, "},",
        "9:3: links.wan.forward.delay: the key `delay` is missing"),
    ("enabled = false", r#"enabled = "no""#,
        r#"8:93: links.wan.forward.shaper.enabled: expected true or false, found the text "no""#),
    ("[hosts.client]", "[hosts.clinet]",
        "19:8: hosts.clinet: no link names the host `clinet` (did you mean `client`? links name: client, server, mid, x, y)"),
    (r#"profile = "linux""#, r#"profile = "solaris""#,
        "20:21: hosts.client.stack.profile: unknown value `solaris` (known: linux, rfc, windows)"),
    ("mss = 1400", "mss = 14",
        "20:36: hosts.client.stack.mss: 14 is out of range (allowed: 48 to 65495 bytes)"),
    ("mss = 1400", "mms = 1400",
        "20:30: hosts.client.stack.mms: unknown key `mms` (did you mean `mss`? …"),
    (r#"host = "mid""#, r#"host = "middle""#,
        "23:8: relays.proxy.host: there is no host `middle` (known: client, server, mid, x, y)"),
    (r#"host = "mid""#, "host = \"mid\"\ntool = \"squid\"",
        "24:8: relays.proxy.tool: unknown value `squid` (known: longfat, nginx, haproxy)"),
    (r#"from = "client""#, r#"from = "cleint""#,
        "26:8: flows.bulk.from: there is no host `cleint` (did you mean `client`? known: client, server, mid, x, y)"),
    (
        r#"from = "client"
"#,
        "",
        "25:1: flows.bulk: the key `from` is missing",
    ),
    (r#"to = "server""#, r#"to = "client""#,
        "27:6: flows.bulk.to: both ends are the host `client`"),
    (r#"to = "server""#, r#"to = "x""#,
        "27:6: flows.bulk.to: no links connect `client` and `x` (links from `client` reach server, mid)"),
    (r#"cc = "cubic""#, r#"cc = "bbrr""#,
        "28:6: flows.bulk.cc: unknown congestion control `bbrr` (did you mean `bbr`? …"),
    (r#"cc = "cubic""#, r#"cc = { name = "bbrr" }"#,
        "28:15: flows.bulk.cc.name: unknown congestion control `bbrr` (did you mean `bbr`? …"),
    (r#"cc = "cubic""#, r#"cc = { name = "cubic", beta = 0.7 }"#,
        "28:24: flows.bulk.cc.beta: unknown key `beta` (valid keys: name)"),
    (r#"cc = "cubic""#, r#"cc = { name = "bbr-hsr", t = "1s" }"#,
        "28:26: flows.bulk.cc.t: unknown key `t` (valid keys: alpha, T, T1, T2, bw_rec, name)"),
    (r#"cc = "cubic""#, r#"cc = { name = "bbr-hsr", T = "soon" }"#,
        "28:30: flows.bulk.cc.T: `soon` does not begin with a number (write for example \"30ms\"), or \"none\""),
    (r#"cc = "cubic""#, r#"cc = { name = "bbr-hsr", alpha = 2 }"#,
        "28:34: flows.bulk.cc.alpha: is 2, but a weight is from 1/1024 to 1, for example 0.125"),
    (r#"cc = "cubic""#, r#"cc = { name = "bbr-hsr", T1 = "50ms" }"#,
        "28:6: flows.bulk.cc: `T2` is 80ms, but must not be above T1 (50ms), which begins a handover"),
    (r#"cc = "cubic""#, r#"cc = {}"#,
        "28:6: flows.bulk.cc: the key `name` is missing"),
    (r#"cc = "cubic""#, r#"cc = 7"#,
        "28:6: flows.bulk.cc: expected a text in quotes, found the number 7"),
    (r#""flows.bulk.count" = 1"#, r#""flows.bulk.count" = 0"#,
        "33:22: flows.bulk.count: in the variant one: 0 is out of range (allowed: 1 to 100000 (`enabled = false` leaves the flow out))"),
    (r#""flows.bulk.count" = 1"#, r#""flows.bulk.count" = 100_001"#,
        "33:22: flows.bulk.count: in the variant one: 100001 is out of range (allowed: 1 to 100000)"),
    (
        "count = 4",
        "count = 4
count = 5",
        "30:1: not valid TOML: duplicate key",
    ),
    ("count = 4", r#"start = "20s""#,
        "29:9: flows.bulk.start: 20s is out of range (allowed: before the end of the run at 20s)"),
    (r#""flows.bulk.count" = 1"#, r#""flows.bulk.stagger" = "7s""#,
        "33:24: flows.bulk.stagger: in the variant one: 7s is out of range (allowed: the last of 4 connections must start before the end of the run at 20s)"),
    ("count = 4", "dscp = 64",
        "29:8: flows.bulk.dscp: 64 is out of range (allowed: 0 to 63)"),
    ("count = 4", r#"via = ["proxi"]"#,
        "29:8: flows.bulk.via.0: there is no relay `proxi` (did you mean `proxy`? known: proxy)"),
    ("count = 4", r#"via = "proxy""#,
        r#"29:7: flows.bulk.via: expected a list in [ ], found the text "proxy""#),
    ("count = 4", r#"via = ["proxy", "proxy"]"#,
        "29:17: flows.bulk.via.1: both ends are the host `mid`"),
    (r#"app = { kind = "bulk", bytes = "10MB" }"#, r#"app = { kind = "bulk", bytes = "10Mbit/s" }"#,
        r#"30:32: flows.bulk.app.bytes: unknown unit `Mbit/s`, expected one of B, kB, MB, GB, KiB, MiB, GiB (for example "625kB")"#),
    (r#"app = { kind = "bulk", bytes = "10MB" }"#, r#"app = { kind = "bulk", byte = "10MB" }"#,
        "30:24: flows.bulk.app.byte: unknown key `byte` (did you mean `bytes`? …"),
    (r#"app = { kind = "bulk", bytes = "10MB" }"#, r#"app = { kind = "bluk" }"#,
        "30:16: flows.bulk.app.kind: unknown value `bluk` (did you mean `bulk`? known: bulk, request, page, onoff, udp, voice, probe)"),
    (r#"app = { kind = "bulk", bytes = "10MB" }"#, "app = {}",
        "30:7: flows.bulk.app: the key `kind` is missing"),
    (r#"app = { kind = "bulk", bytes = "10MB" }"#, r#"app = { kind = "udp" }"#,
        "30:16: flows.bulk.app.kind: the key `rate` is missing"),
    (r#"app = { kind = "bulk", bytes = "10MB" }"#, r#"app = { kind = "udp", rate = 20 }"#,
        r#"30:30: flows.bulk.app.rate: expected a text with a unit, for example "20Mbit/s", found the number 20"#),
    (r#"app = { kind = "bulk", bytes = "10MB" }"#, r#"app = { kind = "udp", rate = "1Mbit/s", size = 20 }"#,
        "30:48: flows.bulk.app.size: 20 is out of range (allowed: 29 to 65535 bytes of IP packet)"),
    (
        r#"app = { kind = "bulk", bytes = "10MB" }"#,
        r#"app = { kind = "udp", rate = "1Mbit/s" }
via = ["proxy"]"#,
        "31:7: flows.bulk.via: a relay ends TCP connections; an app of kind `udp`, `voice` or `probe` cannot pass one",
    ),
    (r#"app = { kind = "bulk", bytes = "10MB" }"#, r#"app = { kind = "voice" }"#,
        "30:7: flows.bulk.app: the key `codec` is missing"),
    (r#"app = { kind = "bulk", bytes = "10MB" }"#, r#"app = { kind = "voice", codec = "g722" }"#,
        "30:33: flows.bulk.app.codec: unknown value `g722` (did you mean `g729`? known: g711, g729, opus)"),
    (r#"app = { kind = "bulk", bytes = "10MB" }"#, r#"app = { kind = "voice", codec = "g711", jitter_buffer = "2min" }"#,
        "30:57: flows.bulk.app.jitter_buffer: 2min is out of range (allowed: 0s to 60s)"),
    (r#"app = { kind = "bulk", bytes = "10MB" }"#, r#"app = { kind = "probe", interval = "1us" }"#,
        "30:36: flows.bulk.app.interval: 1us is out of range (allowed: from 1ms)"),
    (r#"app = { kind = "bulk", bytes = "10MB" }"#, r#"app = { kind = "probe", size = 32 }"#,
        "30:32: flows.bulk.app.size: 32 is out of range (allowed: 44 to 65535 bytes of IP packet)"),
    (r#"app = { kind = "bulk", bytes = "10MB" }"#, r#"app = { kind = "voice", codec = "g711" }
tool = "iperf3""#,
        "30:16: flows.bulk.app.kind: iperf3 supports only `bulk` and `udp`"),
    ("count = 4", r#"server = "nc -l {port}""#,
        "29:10: flows.bulk.server: `server` needs a `tool` that connects to it"),
    ("count = 4", r#"tool = "iperf3"
server = "iperf3 -s""#,
        "30:10: flows.bulk.server: iperf3 has its own server; leave `server` out"),
    ("count = 4", r#"tool = """#,
        r#"29:8: flows.bulk.tool: the command is empty (for example "iperf3")"#),
    ("count = 4", r#"tool = "curl 'http://{to}""#,
        "29:8: flows.bulk.tool: unclosed quote, or a backslash at the end"),
    ("count = 4", r#"tool = "curl http://{too}:{port}/""#,
        "29:8: flows.bulk.tool: unknown placeholder `too` (did you mean `to`? known: from, to, port, cc, duration, count)"),
    ("count = 4", r#"tool = "curl }{to}""#,
        "29:8: flows.bulk.tool: unmatched `}` (write `}}` for a literal brace)"),
    ("count = 4", r#"tool = "curl {to}"
server = "serve {port""#,
        "30:10: flows.bulk.server: unmatched `{` (write `{{` for a literal brace)"),
    ("count = 4", r#"tool = "iperf3"
via = ["proxy"]"#,
        "30:7: flows.bulk.via: a program's connections cannot pass relays; leave out `via` or `tool`"),
    ("count = 4", r#"tool = "iperf3"
stagger = "1ms""#,
        "30:11: flows.bulk.stagger: a program opens its connections itself; leave out `stagger` or `tool`"),
    (r#""flows.bulk.count" = 1"#, r#""flows.bulk.tool" = "iperf3"
"flows.bulk.count" = 129"#,
        "34:22: flows.bulk.count: in the variant one: 129 is out of range (allowed: 1 to 128 with iperf3)"),
    (r#"app = { kind = "bulk", bytes = "10MB" }"#, r#"app = { kind = "udp", rate = "1Mbit/s" }
tool = "nc -u {to} 5001""#,
        "30:16: flows.bulk.app.kind: longfat recognises a command's datagrams by their port: the command must use {port}"),
    (r#"app = { kind = "bulk", bytes = "10MB" }"#, r#"app = { kind = "probe" }
tool = "nc -u {to} {port}""#,
        "30:16: flows.bulk.app.kind: a program cannot generate `voice` or `probe`; leave `tool` out"),
    (r#"app = { kind = "bulk", bytes = "10MB" }"#, r#"app = { kind = "udp", rate = "1Mbit/s", size = 43 }
tool = "iperf3""#,
        "30:48: flows.bulk.app.size: iperf3 sends no datagrams below 44 bytes of IP packet"),
    (r#"app = { kind = "bulk", bytes = "10MB" }"#, r#"app = { kind = "udp", rate = "1Mbit/s", arrival = "poisson" }
tool = "iperf3""#,
        "30:51: flows.bulk.app.arrival: iperf3 sends datagrams evenly; leave `arrival` out"),
    (r#"bytes = "10MB" }"#, r#"bytes = "10MB", duration = "3s" }
tool = "iperf3""#,
        "30:32: flows.bulk.app.bytes: iperf3 ends after a time or a number of bytes; leave out `duration` or `bytes`"),
    (r#"app = { kind = "bulk", bytes = "10MB" }"#, r#"app = { kind = "onoff", on = "1s", off = "1s" }
tool = "iperf3""#,
        "30:16: flows.bulk.app.kind: iperf3 supports only `bulk` and `udp`"),
    (r#"app = { kind = "bulk", bytes = "10MB" }"#, r#"app = "bulk""#,
        r#"30:7: flows.bulk.app: expected a table, found the text "bulk""#),
    ("[flows.bulk]", r#"[flows."a b"]"#,
        "33:1: flows.bulk.count: in the variant one: there is no flow `bulk` (known: a b)"),
    (r#""flows.bulk.count" = 1"#, r#""flows.bluk.count" = 1"#,
        "33:1: flows.bluk.count: in the variant one: there is no flow `bluk` (did you mean `bulk`? known: bulk)"),
    (r#""flows.bulk.count" = 1"#, r#""flow.bulk.count" = 1"#,
        "33:1: flow.bulk.count: in the variant one: unknown key `flow` (did you mean `flows`? …"),
    (r#""flows.bulk.count" = 1"#, r#""flows.bulk.count" = "1""#,
        r#"33:22: flows.bulk.count: in the variant one: expected a whole number, found the text "1""#),
    (r#""flows.bulk.count" = 1"#, "flows.bulk.cuont = 1",
        "33:12: flows.bulk.cuont: in the variant one: unknown key `cuont` (did you mean `count`? …"),
    (r#""flows.bulk.count" = 1"#, r#""links.wan.forward.limter.rate" = "1Mbit/s""#,
        "33:1: links.wan.forward.limter.rate: in the variant one: there is no stage `limter` (did you mean `limiter`? known: limiter, shaper, delay)"),
    (r#""flows.bulk.count" = 1"#, r#""links.wan.forward.3.rate" = "1Mbit/s""#,
        "33:1: links.wan.forward.3.rate: in the variant one: there is no stage `3` (known: limiter, shaper, delay)"),
    (r#""flows.bulk.count" = 1"#, r#""links.wan.forward.0.rate" = "1Mbyte""#,
        r#"33:30: links.wan.forward.limiter.rate: in the variant one: unknown unit `Mbyte`, expected one of bit/s, kbit/s, Mbit/s, Gbit/s (for example "20Mbit/s")"#),
    (r#""flows.bulk.count" = 1"#, r#""links.lan.forward.0.rate" = "1Mbyte""#,
        "33:1: links.lan.forward.0.rate: in the variant one: `links.lan.forward` has no stages"),
    (r#""flows.bulk.count" = 1"#, r#""links.wan.between.2" = "1Mbyte""#,
        "33:1: links.wan.between.2: in the variant one: `links.wan.between` has 2 entries: use an index below that instead of `2`"),
    (r#""flows.bulk.count" = 1"#, r#""links.wan.between.1" = "servr""#,
        "27:6: flows.bulk.to: in the variant one: no links connect `client` and `server` (links from `client` reach servr)"),
    (r#""flows.bulk.count" = 1"#, r#""flows.bulk.count.x" = "servr""#,
        "33:1: flows.bulk.count.x: in the variant one: `flows.bulk.count` is a whole number and has no keys"),
    (r#""flows.bulk.count" = 1"#, r#""flows..count" = "servr""#,
        "33:1: in the variant one: empty step in the path (example of a path: links.wan.forward.limiter.rate)"),
    (r#"name = "good""#, "variants = 3",
        "32:2: not valid TOML: cannot extend value of type integer with a dotted key"),
    (
        r#"[variants.one]
"flows.bulk.count" = 1"#,
        "[variants]
one = 3",
        "33:7: expected a table of overrides by variant, for example [variants.slow], found a whole number",
    ),
    ("[variants.one]", r#"[variants."../up"]"#,
        "32:11: `../up` cannot be a name (a name has 1 to 64 letters, digits, `-`, `_` or `.`, and begins with a letter, a digit or `_`)"),
    ("[relays.proxy]", "[relays.proxy",
        "22:14: not valid TOML: unclosed table, expected `]`"),
    (r#"rate = "20Mbit/s", queue"#, r#"name = "limiter", rate = "20Mbit/s", queue"#,
        "8:29: links.wan.forward.limiter.name: duplicate stage `limiter` (give each stage a unique `name`)"),
    ("[links.lan]", "[links.wan]",
        "13:8: not valid TOML: duplicate key"),
    (r#""flows.bulk.count" = 1"#, r#""links.wan.between.1" = """#,
        "33:25: links.wan.between.1: in the variant one: `` cannot be a name (a name has 1 to 64 letters, digits, `-`, `_` or `.`, and begins with a letter, a digit or `_`)"),
    (r#""flows.bulk.count" = 1"#, r#""flows.bulk" = 1"#,
        "33:16: flows.bulk: in the variant one: expected a table, found the number 1"),
    (r#""flows.bulk.count" = 1"#, r#""seed" = 99999999999999999999999"#,
        "33:10: seed: in the variant one: 99999999999999999999999 is out of range (allowed: whole numbers of 64 bits)"),
    (r#""flows.bulk.count" = 1"#, r#""flows.bulk.count" = 99999999999"#,
        "33:22: flows.bulk.count: in the variant one: 99999999999 is out of range (allowed: a whole number from 0 to 4294967295)"),
    (r#""flows.bulk.count" = 1"#, "links = {}",
        "33:1: links: in the variant one: the key `links` is missing"),
    (
        r#""flows.bulk.count" = 1"#,
        r#"[variants.one.flows.new]
from = "client""#,
        "33:21: flows.new.from: in the variant one: there is no flow `new` (known: bulk)",
    ),
];

/// A `--set` override and its error after `--set KEY=VALUE, column `.
#[rustfmt::skip]
const SETS: &[(&str, &str)] = &[
    ("links.wan.forward.limiter.rate=10Mb",
        r#"32: links.wan.forward.limiter.rate: unknown unit `Mb`, expected one of bit/s, kbit/s, Mbit/s, Gbit/s (for example "20Mbit/s")"#),
    ("links.wan.forward.limitr.rate=10Mbit/s",
        "19: links.wan.forward.limitr.rate: there is no stage `limitr` (did you mean `limiter`? known: limiter, shaper, delay)"),
    ("flows.bulk.count=many",
        r#"18: flows.bulk.count: expected a whole number, found the text "many""#),
    ("flows.bulk.count",
        "1: `=` is missing (write KEY=VALUE)"),
    ("=1",
        "1: empty step in the path (example of a path: links.wan.forward.limiter.rate)"),
    (r#"flows.bulk.app={ kind = "bulk""#,
        "31: flows.bulk.app: not valid TOML: unclosed inline table, expected `}`"),
    ("variants.one.x=1",
        "14: variants.one.x: unknown key `x`…"),
    ("variants.two.seed=1",
        "10: variants.two.seed: there is no variant `two` (known: one)"),
    ("variants.one=1",
        "1: variants.one: `variants.NAME.KEY` sets a key of the variant NAME only"),
    ("variant.one.baseline=one",
        "1: variant.one.baseline: applies to all variants: set it at the top of the file"),
    ("durations=1s",
        "1: durations: unknown key `durations` (did you mean `duration`? …"),
    ("hosts.mid.stack.mss=1",
        "21: hosts.mid.stack.mss: 1 is out of range (allowed: 48 to 65495 bytes)"),
    ("hosts.mld.stack.mss=1",
        "7: hosts.mld.stack.mss: there is no host `mld` (did you mean `mid`? known: client, mid, server, x, y)"),
    (r#"flows.new={ from = "client" }"#,
        "11: flows.new: the key `to` is missing"),
    (r#"links.wan.forward.limiter={ kind = "delay" }"#,
        "27: links.wan.forward.limiter: the key `delay` is missing"),
    ("links.wan.forward.limiter=5",
        r#"27: links.wan.forward.stage: expected a stage, for example { kind = "delay", delay = "10ms" }, found a whole number"#),
];
