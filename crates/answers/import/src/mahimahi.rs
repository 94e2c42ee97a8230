//! mahimahi: traces of delivery opportunities, and command lines of nested shells.
//!
//! | line | imported as |
//! |---|---|
//! | a trace: the times of opportunities of 1504 bytes in ms, one per line | `rate-trace` |
//! | `mm-delay MS` | `delay` in both directions |
//! | `mm-loss uplink\|downlink RATE` | `loss` |
//! | `mm-link UP DOWN`, `--uplink-queue`, `--uplink-queue-args` | `rate-trace` with its queue |
//! | `mm-onoff` | not simulated |
//!
//! Packets of a shell's child pass the innermost shell first. Source: mahimahi's manual, `src/frontend`.

use crate::shell::{Shell, joined};
use crate::{Assumed, Draft, DraftFlow, DraftLink, DraftStage, Foreign, ImportError, ImportSource, Reading};
use path::queue::{CoDel, Fifo, Pie};
use path::{Delay, Loss, QueueConfig, RateTrace, Stage};
use units::{Bytes, Span};

/// mahimahi.
pub(crate) struct MahimahiFiles;

/// The limit of an infinite queue: 1 GB in packets.
const INFINITE: u64 = 666_666;
/// Maximum shells in a command line.
const MAX_SHELLS: usize = 50;

impl Foreign for MahimahiFiles {
    const TITLE: &'static str = "mahimahi";
    const LOOKS_FOR: &'static str =
        "mm-delay, mm-loss, mm-link with its traces, or a trace of delivery times";

    fn looks_like(text: &str) -> usize {
        if is_trace(text) {
            return text.lines().count();
        }
        text.lines()
            .filter(|l| l.contains("mm-link") || l.contains("mm-delay") || l.contains("mm-loss"))
            .count()
    }

    fn read(source: &ImportSource, _assumed: &Assumed, reading: &mut Reading) -> Result<Draft, ImportError> {
        if is_trace(source.text) {
            return trace(source, reading);
        }
        let mut draft = Draft::default();
        let mut shell = Shell::with(source.values);
        for (line, text) in joined(source.text) {
            let trimmed = text.trim();
            if trimmed.is_empty() || trimmed.starts_with('#') {
                continue;
            }
            reading.lines.insert(line);
            let (statements, only_assigned) = shell.statements(line, &text);
            let shells = |words: &[String]| words.iter().any(|w| is_shell(w));
            for statement in statements.iter().filter(|s| shells(&s.words)) {
                command(statement.line, &statement.words, source, &mut draft, reading);
            }
            if !only_assigned && !statements.iter().any(|s| shells(&s.words)) {
                reading.unknown(line, trimmed, "not a mahimahi command");
            }
        }
        if !draft.links.is_empty() {
            reading.assume("a bulk flow in each direction");
        }
        Ok(draft)
    }
}

/// Whether all lines, except empty ones and comments, are whole numbers.
fn is_trace(text: &str) -> bool {
    let lines = || text.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with('#'));
    lines().next().is_some() && lines().all(|l| l.bytes().all(|b| b.is_ascii_digit()))
}

fn is_shell(word: &str) -> bool {
    let name = word.rsplit('/').next().unwrap_or(word);
    ["mm-link", "mm-delay", "mm-loss", "mm-onoff", "mm-delay-graph", "mm-meter"].contains(&name)
}

/// Reads a trace as a stage.
///
/// # Errors
/// Fails with a message if the trace is not valid.
fn rate_trace(
    name: &str,
    text: &str,
    queue: QueueConfig,
    by_name: bool,
) -> Result<(Stage, Option<String>), String> {
    let mut stage: Stage = RateTrace { file: Some(name.into()), queue, ..RateTrace::default() }.into();
    stage.load(text).map_err(|p| p.message)?;
    stage.check().map_err(|p| p.message)?;
    Ok((stage, by_name.then(|| name.to_string())))
}

fn path_link(name: &str, forward: Vec<DraftStage>, backward: Vec<DraftStage>, assumed: bool) -> DraftLink {
    DraftLink {
        name: name.into(),
        between: [format!("{name}-inside"), format!("{name}-outside")],
        forward,
        backward,
        of_assumed_length: assumed,
        unlimited: false,
    }
}

/// Reads a file with a trace, which limits the uplink.
fn trace(source: &ImportSource, reading: &mut Reading) -> Result<Draft, ImportError> {
    reading.lines.extend((1..=source.text.lines().count()).take(1 << 20));
    let name = source.own_name.unwrap_or(source.name);
    let queue = QueueConfig::Fifo(Fifo { packets: Some(INFINITE), bytes: None });
    let (stage, file) = rate_trace(name, source.text, queue, source.own_name.is_some())
        .map_err(|why| ImportError::Syntax { line: 1, why })?;
    let mut stage = DraftStage::new("trace", 1, "trace of delivery opportunities", stage);
    stage.file = file;
    let link = path_link("link", vec![stage], Vec::new(), true);
    let flows = vec![DraftFlow::bulk("up", &link.between[0], &link.between[1], 0, "")];
    reading
        .assume("the trace is the uplink, with an infinite queue as in mm-link; the downlink is not limited");
    Ok(Draft { links: vec![link], flows, duration: None })
}

/// Reads a command line: shells from the outermost to the innermost, then the program.
fn command(line: usize, words: &[String], source: &ImportSource, draft: &mut Draft, reading: &mut Reading) {
    let (mut up, mut down) = (Vec::new(), Vec::new());
    let mut i = 0;
    let mut shells = 0;
    while i < words.len() && shells < MAX_SHELLS {
        if !is_shell(&words[i]) {
            i += 1;
            continue;
        }
        shells += 1;
        let name = words[i].rsplit('/').next().unwrap_or_default();
        let end = words[i + 1..].iter().position(|w| is_shell(w)).map_or(words.len(), |n| i + 1 + n);
        let rest = &words[i + 1..end];
        match name {
            "mm-delay" => match rest.first().and_then(|w| w.parse::<u64>().ok()).filter(|ms| *ms < 1 << 32) {
                Some(ms) => {
                    let stage = DraftStage::new("delay", line, "mm-delay", Delay::new(Span::from_millis(ms)));
                    up.push(stage.clone());
                    down.push(stage);
                }
                None => reading.unknown(line, rest.join(" "), "mm-delay needs a number of ms"),
            },
            "mm-loss" => loss(line, rest, &mut up, &mut down, reading),
            "mm-link" => link(line, rest, source, &mut up, &mut down, reading),
            other => reading.unknown(line, other, format!("{other} is not simulated")),
        }
        i = end;
    }
    if up.is_empty() && down.is_empty() {
        return;
    }
    // The innermost shell is the first one in the uplink.
    up.reverse();
    let name =
        if draft.links.is_empty() { "path".to_string() } else { format!("path-{}", draft.links.len() + 1) };
    let link = path_link(&name, up, down, false);
    draft.flows.push(DraftFlow::bulk(format!("{name}-up"), &link.between[0], &link.between[1], 0, ""));
    draft.flows.push(DraftFlow::bulk(format!("{name}-down"), &link.between[1], &link.between[0], 0, ""));
    draft.links.push(link);
}

fn loss(
    line: usize,
    words: &[String],
    up: &mut Vec<DraftStage>,
    down: &mut Vec<DraftStage>,
    reading: &mut Reading,
) {
    let rate = words.get(1).and_then(|w| w.parse::<f64>().ok()).filter(|p| (0.0..=1.0).contains(p));
    let Some(probability) = rate else {
        return reading.unknown(
            line,
            words.join(" "),
            "mm-loss needs uplink or downlink and a share from 0 to 1",
        );
    };
    let loss = Loss { probability: Some(probability), ..Loss::default() };
    let stage = DraftStage::new("loss", line, "mm-loss", loss);
    match words.first().map(String::as_str) {
        Some("uplink") => up.push(stage),
        Some("downlink") => down.push(stage),
        other => {
            let other = other.unwrap_or_default();
            reading.unknown(line, other, "mm-loss needs uplink or downlink");
        }
    }
}

fn link(
    line: usize,
    words: &[String],
    source: &ImportSource,
    up: &mut Vec<DraftStage>,
    down: &mut Vec<DraftStage>,
    reading: &mut Reading,
) {
    let option = |key: &str| {
        let with = format!("--{key}=");
        words.iter().find_map(|w| w.strip_prefix(&with))
    };
    for word in words.iter().take_while(|w| *w != "--").filter(|w| w.starts_with("--")) {
        let key = word.split('=').next().unwrap_or_default();
        let known =
            ["-queue", "-queue-args", "-log"].iter().any(|k| key.ends_with(k)) || key.starts_with("--meter");
        if !known {
            reading.unknown(line, word.clone(), format!("`{key}` of mm-link is not simulated"));
        }
    }
    let files: Vec<&String> = words.iter().filter(|w| !w.starts_with('-')).take(2).collect();
    for (file, side) in files.iter().zip(["uplink", "downlink"]) {
        let kind = option(&format!("{side}-queue")).unwrap_or("infinite");
        let queue = queue(line, kind, option(&format!("{side}-queue-args")).unwrap_or_default(), reading);
        let text = (source.read_file)(file);
        match text.and_then(|text| rate_trace(file, &text, queue, true)) {
            Ok((stage, file)) => {
                let mut stage = DraftStage::new(side, line, format!("mm-link, {side}"), stage);
                stage.file = file;
                if side == "uplink" { up.push(stage) } else { down.push(stage) }
            }
            Err(why) => reading.unknown(line, file.as_str(), format!("trace `{file}`: {why}")),
        }
    }
    if files.len() < 2 {
        reading.unknown(line, "mm-link", "mm-link needs two traces");
    }
}

/// Reads a queue's arguments: `packets=100`, `bytes=150000`, `target=5,interval=100`.
fn queue(line: usize, kind: &str, args: &str, reading: &mut Reading) -> QueueConfig {
    let arg = |key: &str| {
        let mut pairs = args.split(',').filter_map(|a| a.split_once('='));
        pairs
            .find(|(k, _)| k.trim() == key)?
            .1
            .trim()
            .parse::<u64>()
            .ok()
            .filter(|n| (1..1 << 40).contains(n))
    };
    let packets = arg("packets").or_else(|| arg("bytes").map(|b| (b / 1504).max(1)));
    let fifo = || match (arg("packets"), arg("bytes")) {
        (None, None) => Fifo { packets: Some(INFINITE), bytes: None },
        (packets, bytes) => Fifo { packets, bytes: bytes.map(Bytes::new) },
    };
    let ms = |key: &str, default: Span| arg(key).filter(|n| *n < 1 << 32).map_or(default, Span::from_millis);
    match kind {
        "infinite" => QueueConfig::Fifo(Fifo { packets: Some(INFINITE), bytes: None }),
        "droptail" => QueueConfig::Fifo(fifo()),
        "codel" => {
            let d = CoDel::default();
            let (target, interval) = (ms("target", d.target), ms("interval", d.interval));
            QueueConfig::CoDel(CoDel { packets: packets.unwrap_or(INFINITE), target, interval, ..d })
        }
        "pie" => {
            let d = Pie::default();
            let target = ms("qdelay_ref", d.target);
            QueueConfig::Pie(Pie { packets: packets.unwrap_or(INFINITE), target, ..d })
        }
        other => {
            reading.unknown(line, other, format!("the queue `{other}` is not simulated: droptail is used"));
            QueueConfig::Fifo(fifo())
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Assumed, ImportFormat, ImportSource, Imported, import};
    use congestion::Control;
    use path::{QueueConfig, Stage};

    fn mahimahi(text: &str, own_name: Option<&str>) -> Imported {
        let read_file = |name: &str| match name {
            "up.trace" => Ok("0\n1\n2\n4\n".to_string()),
            _ => Err("no such file".to_string()),
        };
        let source = ImportSource { name: "x.sh", text, own_name, values: &[], read_file: &read_file };
        let assumed = Assumed { rtt: None, line: None, duration: None, cc: Control::default() };
        assert_eq!(ImportFormat::of(text), Some(ImportFormat::MahimahiFiles));
        import(&source, None, &assumed).unwrap_or_else(|e| panic!("{e}"))
    }

    #[test]
    fn packets_pass_shells_from_the_inside() {
        let imported = mahimahi(
            "mm-delay 20 mm-loss uplink 0.01 mm-link up.trace up.trace --uplink-queue=droptail --uplink-queue-args=\"packets=100\" --once -- iperf\n",
            None,
        );
        let link = &imported.experiment.variants[0].scenario.links[0];
        let kinds = |stages: &[scenario::NamedStage]| -> Vec<&str> {
            stages.iter().map(|s| s.stage.kind()).collect()
        };
        assert_eq!(kinds(&link.forward), ["rate-trace", "loss", "delay"]);
        assert_eq!(kinds(&link.backward), ["delay", "rate-trace"]);
        let Stage::RateTrace(up) = &link.forward[0].stage else { panic!() };
        assert!(matches!(&up.queue, QueueConfig::Fifo(f) if f.packets == Some(100)));
        assert_eq!(link.forward[0].file.as_deref(), Some("up.trace"));
        assert!(imported.toml.contains("file = \"up.trace\""), "{}", imported.toml);
        assert_eq!(imported.not_understood.len(), 1);
        assert!(imported.not_understood[0].why.contains("--once"));
    }

    #[test]
    fn a_trace_is_referenced_by_name_or_copied() {
        let named = mahimahi("0\n5\n10\n", Some("cell.trace"));
        assert!(named.toml.contains("file = \"cell.trace\""), "{}", named.toml);
        let copied = mahimahi("0\n5\n10\n", None);
        assert!(copied.toml.contains("opportunities = [0, 5, 10]"), "{}", copied.toml);
    }

    #[test]
    fn a_missing_trace_is_reported() {
        let imported = mahimahi("mm-delay 5 mm-link none.trace up.trace\n", None);
        assert!(imported.not_understood[0].why.contains("no such file"), "{:?}", imported.not_understood);
    }
}
