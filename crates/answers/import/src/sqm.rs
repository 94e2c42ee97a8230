//! OpenWrt's SQM: `/etc/config/sqm`, `uci show sqm` and `uci set sqm.…`.
//!
//! | option | here | departures |
//! |---|---|---|
//! | `upload` (kbit/s) | outbound limit of the interface; 0: none | |
//! | `download` (kbit/s) | inbound limit (through an `ifb`); 0: none | |
//! | `qdisc cake`, `script piece_of_cake.qos`, `layer_cake.qos` | `link` with FQ-CoDel: packets leave one by one | no tins, no host isolation |
//! | `script simple.qos`, `simplest.qos`, `simplest_tbf.qos` | `shaper` with a bucket of 1 ms and the queue of `qdisc` | one tier |
//! | `ilimit`, `elimit`, `itarget`, `etarget`, `ingress_ecn`, `egress_ecn` | the values of the queue | |
//! | `overhead`, `linklayer` | reported: the scenario counts IP bytes | |
//! | `enabled` | only 1 enables it | |
//!
//! Source: openwrt.org "SQM configuration /etc/config/sqm"; tohojo/sqm-scripts `src/run-openwrt.sh`,
//! `src/defaults.sh` (the defaults: 2302 up, 14698 down, fq_codel, a limit of 1001, ECN, a burst
//! of 1 ms), `src/functions.sh` (`get_cake_lla_string`: with `linklayer` none,
//! `overhead` is ignored), `src/piece_of_cake.qos`, `src/simple.qos`.

use crate::number::{self, Units, quantity};
use crate::{
    Assumed, BoxPort, Credit, Draft, DraftStage, Foreign, ImportError, ImportSource, PortFlow, Reading,
};
use path::queue::{CoDel, Drr, Fifo, FqCoDel, Pie};
use path::{Link, QueueConfig, Shaper, Stage};
use units::{Bytes, Rate, Span};

/// OpenWrt's SQM.
pub(crate) struct Sqm;

/// `defaults.sh`, kbit/s: up, down.
const RATES_KBIT: [u64; 2] = [2302, 14_698];
/// `defaults.sh`: packets in a queue.
const LIMIT: u64 = 1001;
/// `defaults.sh`: the bucket of the `htb` scripts.
const BURST: Span = Span::from_millis(1);
/// The most sections.
const MAX_SECTIONS: usize = 50;
/// Units of `target`.
const TIMES: &Units = &[("s", 1e9), ("ms", 1e6), ("us", 1e3)];
/// Options that do not change a limit.
const HARMLESS: [&str; 12] = [
    "debug_logging",
    "verbosity",
    "qdisc_advanced",
    "qdisc_really_really_advanced",
    "linklayer_advanced",
    "linklayer_adaptation_mechanism",
    "tcMTU",
    "tcTSIZE",
    "tcMPU",
    "squash_dscp",
    "squash_ingress",
    "use_mq",
];

/// A section: its name and its options with their lines.
#[derive(Default)]
struct Section {
    name: String,
    line: usize,
    options: Vec<(usize, String, String)>,
}

impl Section {
    /// The last value of an option, unless it is empty.
    fn get(&self, key: &str) -> Option<(usize, &str)> {
        let last = self.options.iter().rev().find(|(_, k, _)| k == key);
        last.filter(|(_, _, v)| !v.is_empty()).map(|(line, _, value)| (*line, value.as_str()))
    }

    fn text(&self, key: &str) -> Option<&str> {
        self.get(key).map(|(_, text)| text)
    }

    /// An integer; anything else is rejected.
    fn whole(&self, key: &str, reading: &mut Reading) -> Result<Option<(usize, u64)>, ()> {
        let Some((line, text)) = self.get(key) else { return Ok(None) };
        match text.parse::<u64>() {
            Ok(n) if n < 1 << 40 => Ok(Some((line, n))),
            _ => {
                let why =
                    format!("`{key}` is `{text}`: SQM takes an integer without a unit (rates in kbit/s)");
                reading.refuse(line, format!("{key} {text}"), why);
                Err(())
            }
        }
    }
}

impl Foreign for Sqm {
    const TITLE: &'static str = "OpenWrt SQM";
    const LOOKS_FOR: &'static str =
        "`config queue` sections of /etc/config/sqm that are enabled, with `upload` or `download`";

    fn looks_like(text: &str) -> usize {
        let own = |line: &&str| {
            let line = line.trim_start();
            let option = |key: &str| line.strip_prefix(key).is_some_and(|rest| rest.starts_with([' ', '\t']));
            option("config") && line.contains("queue")
                || line.starts_with("option")
                    && ["download", "upload", "qdisc", "linklayer"].iter().any(|k| line.contains(k))
                || line.trim_start_matches("uci set ").starts_with("sqm.")
        };
        text.lines().filter(own).count()
    }

    fn read(source: &ImportSource, _assumed: &Assumed, reading: &mut Reading) -> Result<Draft, ImportError> {
        let sections = sections(source.text, reading);
        let mut ports = Vec::new();
        for section in sections.iter().take(MAX_SECTIONS) {
            ports.extend(port(section, reading));
        }
        if !ports.is_empty() {
            reading.assume("full packets of 1500 bytes (IP); link-layer overhead is not counted");
        }
        Ok(Draft::of_box("router", ports, reading))
    }
}

/// A value without its quotes.
fn unquoted(text: &str) -> String {
    let text = text.trim();
    let inner = ['\'', '"'].iter().find_map(|q| text.strip_prefix(*q)?.strip_suffix(*q));
    inner.unwrap_or(text).to_string()
}

/// The sections of a UCI file, or of `uci` output or commands.
fn sections(text: &str, reading: &mut Reading) -> Vec<Section> {
    let mut all: Vec<Section> = Vec::new();
    let mut inside = false;
    for (i, raw) in text.lines().enumerate() {
        let (line, said) = (i + 1, raw.trim());
        if said.is_empty() || said.starts_with('#') {
            continue;
        }
        reading.lines.insert(line);
        let mut words = said.splitn(3, char::is_whitespace).map(str::trim).filter(|w| !w.is_empty());
        match words.next() {
            Some("config") => {
                let kind = words.next().map(unquoted).unwrap_or_default();
                inside = kind == "queue";
                if inside {
                    all.push(Section {
                        name: words.next().map(unquoted).unwrap_or_default(),
                        line,
                        options: vec![],
                    });
                } else {
                    reading.unknown(line, said, "only SQM sections (`config queue`) are read");
                }
            }
            Some("option") => {
                let key = words.next().map(unquoted).unwrap_or_default();
                // A comment may follow the value.
                let value =
                    words.next().map(|v| unquoted(v.split(" #").next().unwrap_or(v))).unwrap_or_default();
                match all.last_mut().filter(|_| inside) {
                    Some(section) => section.options.push((line, key, value)),
                    None => reading.unknown(line, said, "it is not in an SQM section (`config queue`)"),
                }
            }
            _ => {
                if !uci(line, said, &mut all) {
                    reading.unknown(line, said, "not a line of /etc/config/sqm or uci");
                }
            }
        }
    }
    all
}

/// `sqm.eth1=queue`, `sqm.@queue[0].upload='700000'`, with or without `uci set`.
fn uci(line: usize, said: &str, all: &mut Vec<Section>) -> bool {
    let said =
        said.strip_prefix("uci").map(|rest| rest.trim_start().trim_start_matches("set")).unwrap_or(said);
    let Some((path, value)) = said.trim().strip_prefix("sqm.").and_then(|s| s.split_once('=')) else {
        return said.trim_start().starts_with("commit");
    };
    let (name, key) = path.rsplit_once('.').unwrap_or((path, ""));
    if !all.iter().any(|s| s.name == name) {
        all.push(Section { name: name.into(), line, options: vec![] });
    }
    if let Some(section) = all.iter_mut().find(|s| s.name == name).filter(|_| !key.is_empty()) {
        section.options.push((line, key.into(), unquoted(value)));
    }
    true
}

/// A section's limits.
fn port(section: &Section, reading: &mut Reading) -> Option<BoxPort> {
    let interface = match section.text("interface") {
        Some(interface) => interface.to_string(),
        None if section.name.is_empty() => "eth0".into(),
        None => section.name.clone(),
    };
    if section.text("enabled") != Some("1") {
        let line = section.get("enabled").map_or(section.line, |(line, _)| line);
        reading.fact(line, format!("SQM of {interface} is not enabled: this section has no effect"));
        return None;
    }
    options(section, reading);
    let mut port = BoxPort { name: interface.clone(), ..BoxPort::default() };
    let directions = [("upload", "egress", RATES_KBIT[0]), ("download", "ingress", RATES_KBIT[1])];
    for (key, side, default_kbit) in directions {
        let Ok(written) = section.whole(key, reading) else { continue };
        let (line, kbit) = written.unwrap_or_else(|| {
            reading.assume(format!("{key} {default_kbit} kbit/s, the default of SQM"));
            (section.line, default_kbit)
        });
        let Some(stage) = (kbit > 0).then(|| limit(section, line, key, side, kbit, reading)).flatten() else {
            continue;
        };
        let flow = PortFlow { name: key.into(), dscp: 0, says: stage.says.clone() };
        let (stages, flows) = if key == "upload" {
            (&mut port.out, &mut port.out_flows)
        } else {
            (&mut port.into, &mut port.into_flows)
        };
        stages.push(stage);
        flows.push(flow);
    }
    if interface.contains("lan") && !interface.contains("wlan") {
        let text = format!(
            "SQM of {interface}: `upload` limits what leaves the interface; on a LAN interface that is the users' \
             download"
        );
        reading.fault(section.line, "sqm-direction", text);
    }
    Some(port)
}

/// The shaper of a direction, with its queue by `script` and `qdisc`.
fn limit(
    section: &Section,
    line: usize,
    key: &str,
    side: &str,
    kbit: u64,
    reading: &mut Reading,
) -> Option<DraftStage> {
    let rate = Rate::from_bps(kbit * 1000);
    let script = section.text("script").unwrap_or("simple.qos");
    let of_cake = ["piece_of_cake", "layer_cake", "cake_mq"].iter().any(|s| script.contains(s));
    let qdisc = if of_cake { "cake" } else { section.text("qdisc").unwrap_or("fq_codel") };
    let says = |what: &str| format!("{key}, {what} at {}", number::rate(rate.as_bps()));
    if of_cake || qdisc.starts_with("cake") {
        let queue = QueueConfig::FqCoDel(FqCoDel { ecn: true, ..FqCoDel::default() });
        let link = Link { rate: Some(rate), queue, ..Link::default() };
        reading.assume("cake as a link with FQ-CoDel: packets leave one by one; no tins, no host isolation");
        return Some(DraftStage::new("cake", line, says("cake"), link).with_credit(Credit::NoBucket));
    }
    if !["simple.qos", "simplest.qos", "simplest_tbf.qos"].contains(&script) {
        let why = format!("unknown script `{script}`: read as simplest.qos, one shaper with `{qdisc}`");
        reading.unknown(section.get("script").map_or(line, |(line, _)| line), script, why);
    } else if script == "simple.qos" {
        reading.assume("simple.qos as one tier: all traffic is best effort");
    }
    let queue = queue(section, line, side, qdisc, reading)?;
    let burst = rate.bytes_in(BURST).get().max(1600);
    let shaper = Shaper { burst: Some(Bytes::new(burst)), queue: Some(queue), ..Shaper::new(rate) };
    Some(DraftStage::new("sqm", line, says(qdisc), Stage::from(shaper)))
}

/// The queue of a `qdisc` with the options of its direction; `None` if one of them was rejected.
fn queue(
    section: &Section,
    line: usize,
    side: &str,
    qdisc: &str,
    reading: &mut Reading,
) -> Option<QueueConfig> {
    let letter = &side[..1];
    let packets = section.whole(&format!("{letter}limit"), reading).ok()?.map_or(LIMIT, |(_, n)| n.max(1));
    let ecn = !section.text(&format!("{side}_ecn")).is_some_and(|e| e.eq_ignore_ascii_case("noecn"));
    let key = format!("{letter}target");
    let target = match section.get(&key).filter(|(_, text)| !["auto", "default"].contains(text)) {
        None => None,
        Some((target_line, text)) => match quantity(text, None, TIMES) {
            Ok((nanos, _)) => Some(Span::from_nanos(nanos as u64)),
            Err(unread) => {
                reading.refuse(target_line, format!("{key} {text}"), unread.why(text, TIMES));
                return None;
            }
        },
    };
    let (fq, codel, pie) = (FqCoDel::default(), CoDel::default(), Pie::default());
    Some(match qdisc {
        "fq_codel" => {
            QueueConfig::FqCoDel(FqCoDel { packets, ecn, target: target.unwrap_or(fq.target), ..fq })
        }
        "codel" => {
            QueueConfig::CoDel(CoDel { packets, ecn, target: target.unwrap_or(codel.target), ..codel })
        }
        "pie" => QueueConfig::Pie(Pie { packets, ecn, target: target.unwrap_or(pie.target), ..pie }),
        "sfq" => QueueConfig::Drr(Drr { packets, ..Drr::default() }),
        "pfifo" | "pfifo_fast" => QueueConfig::Fifo(Fifo { packets: Some(packets), bytes: None }),
        other => {
            reading.refuse(line, format!("qdisc {other}"), format!("unknown queue discipline `{other}`"));
            return None;
        }
    })
}

/// Options that are not simulated: reported if they may have an effect.
fn options(section: &Section, reading: &mut Reading) {
    overhead(section, reading);
    const READ: [&str; 14] = [
        "enabled",
        "interface",
        "upload",
        "download",
        "qdisc",
        "script",
        "linklayer",
        "overhead",
        "ilimit",
        "elimit",
        "itarget",
        "etarget",
        "ingress_ecn",
        "egress_ecn",
    ];
    for (line, key, value) in &section.options {
        if !READ.contains(&key.as_str()) && !HARMLESS.contains(&key.as_str()) && !value.is_empty() {
            reading.unknown(*line, format!("{key} {value}"), format!("`{key}` is not simulated"));
        }
    }
}

/// The link-layer overhead of each packet, which the rates include and the scenario does not.
fn overhead(section: &Section, reading: &mut Reading) {
    let Ok(Some((line, bytes))) = section.whole("overhead", reading) else { return };
    let layer = section.text("linklayer").unwrap_or("none");
    if layer == "none" {
        if bytes > 0 {
            let text = format!("overhead {bytes} has no effect: SQM ignores it with `linklayer` none");
            reading.fault(line, "sqm-overhead", text);
        }
        return;
    }
    let on_wire = number::on_wire(bytes.min(10_000) as i64, layer == "atm");
    let how = if layer == "atm" { "in ATM cells" } else { "on the line" };
    let share = 1500.0 / on_wire as f64 * 100.0;
    reading.assume(format!(
        "linklayer {layer}, overhead {bytes}: a packet of 1500 bytes counts as {on_wire} {how}, so IP gets {share:.1} % of the \
         rates; the scenario counts IP bytes"
    ));
}

#[cfg(test)]
mod tests {
    use crate::{ImportError, ImportFormat, Imported, sample};
    use path::{QueueConfig, Stage};
    use scenario::NamedStage;

    fn read(text: &str) -> Result<Imported, ImportError> {
        sample::read("sqm", text, ImportFormat::Sqm)
    }

    fn rates(imported: &Imported) -> Vec<[Option<u64>; 2]> {
        let rate = |stages: &[NamedStage]| {
            stages.iter().find_map(|s| match &s.stage {
                Stage::Link(l) => l.rate.map(|r| r.as_bps()),
                Stage::Shaper(s) => Some(s.rate.as_bps()),
                _ => None,
            })
        };
        let links = &imported.experiment.variants[0].scenario.links;
        links.iter().map(|l| [rate(&l.forward), rate(&l.backward)]).collect()
    }

    const CAKE: &str = include_str!("../tests/inputs/22-sqm.conf");

    #[test]
    fn cake_in_both_directions_is_one_path_without_a_burst() {
        let imported = read(CAKE).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(rates(&imported), [[Some(700_000_000), Some(900_000_000)]]);
        assert!(imported.lint.is_empty(), "{:?}", imported.lint);
        assert_eq!((imported.lines, imported.understood), (9, 9));
        let named = imported.assumed.iter().any(|a| a.contains("overhead 44") && a.contains("97.2 %"));
        assert!(named, "{:?}", imported.assumed);
    }

    #[test]
    fn uci_lines_and_htb_scripts_are_read() {
        let text = "sqm.@queue[0]=queue\nsqm.@queue[0].enabled='1'\nuci set sqm.@queue[0].interface='pppoe-wan'\n\
                    sqm.@queue[0].upload='0'\nsqm.@queue[0].download='85000'\nsqm.@queue[0].qdisc='fq_codel'\n\
                    sqm.@queue[0].script='simple.qos'\nsqm.@queue[0].ilimit='300'\nsqm.@queue[0].itarget='15ms'\n\
                    sqm.@queue[0].ingress_ecn='NOECN'\nsqm.@queue[0].linklayer='atm'\nsqm.@queue[0].overhead='44'\n";
        let imported = read(text).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(rates(&imported), [[None, Some(85_000_000)]]);
        let scenario = &imported.experiment.variants[0].scenario;
        let Stage::Shaper(s) = &scenario.links[0].backward[0].stage else { panic!() };
        let Some(QueueConfig::FqCoDel(q)) = &s.queue else { panic!() };
        assert_eq!(
            (s.burst().get(), q.packets, q.target.as_nanos(), q.ecn),
            (10_625, 300, 15_000_000, false)
        );
        // 1544 bytes are 33 cells.
        assert!(imported.assumed.iter().any(|a| a.contains("1749 in ATM cells")), "{:?}", imported.assumed);
    }

    #[test]
    fn a_rate_with_a_unit_is_rejected_and_a_disabled_section_has_no_effect() {
        let imported = read(&CAKE.replace("'900000'", "'900mbit'")).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(rates(&imported), [[Some(700_000_000), None]]);
        assert_eq!((imported.refused[0].line, imported.refused.len()), (4, 1));
        let error = read(&CAKE.replace("enabled '1'", "enabled '0'")).unwrap_err().to_string();
        assert!(error.contains("enabled"), "{error}");
        let unused = read(&CAKE.replace("'ethernet'", "'none'")).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(unused.lint.iter().map(|l| (l.line, l.rule)).collect::<Vec<_>>(), [(9, "sqm-overhead")]);
    }

    #[test]
    fn missing_options_have_the_defaults_of_the_scripts() {
        let text = "config queue\n\toption enabled '1'\n\toption interface 'br-lan'\n\toption upload '10000'\n\toption mood 'x'\n";
        let imported = read(text).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(rates(&imported), [[Some(10_000_000), Some(14_698_000)]]);
        assert!(imported.lint.iter().any(|l| l.rule == "sqm-direction"));
        assert_eq!(imported.not_understood[0].line, 5);
    }
}
