//! Filters: their matches, the classes that they select, and their policers.

use super::model::{ClassId, TcFilter, TcModel, TcPlace, TcPolice};
use super::options::{KeySpec, Options};
use crate::Reading;

/// Keys of `police`.
const POLICE: &[KeySpec] = &[
    (&["rate"], 1),
    (&["burst", "buffer", "maxburst"], 1),
    (&["mtu", "minburst"], 1),
    (&["peakrate"], 1),
    (&["mpu"], 1),
    (&["overhead"], 1),
    (&["linklayer"], 1),
    (&["action", "conform-exceed"], 1),
    (&["drop"], 0),
    (&["pass"], 0),
    (&["ok"], 0),
    (&["continue"], 0),
    (&["reclassify"], 0),
    (&["pipe"], 0),
    (&["index"], 1),
    (&["avrate"], 1),
    (&["pkts_rate"], 1),
    (&["pkts_burst"], 1),
    (&["ref"], 1),
    (&["bind"], 1),
];

/// Names of classifiers.
const CLASSIFIERS: [&str; 10] =
    ["u32", "fw", "flower", "matchall", "basic", "bpf", "route", "cgroup", "flow", "tcindex"];

/// Reads a filter from the words after `filter add` or `filter`.
pub(crate) fn read(
    line: usize,
    words: &[String],
    device: &str,
    model: &TcModel,
    reading: &mut Reading,
) -> TcFilter {
    let mut f = TcFilter {
        line,
        device: device.into(),
        place: TcPlace::Root,
        says: String::new(),
        all: true,
        dscp: None,
        to: None,
        police: None,
        redirect: None,
    };
    let mut named = false;
    let mut i = 0;
    while i < words.len() {
        let value = words.get(i + 1).map(String::as_str).unwrap_or_default();
        match words[i].as_str() {
            "dev" => {
                f.device = value.trim_matches(['$', '{', '}', '"']).into();
                named = true;
            }
            "parent" => match ClassId::parse(value) {
                Some(id) if id.major == 0xffff => f.place = TcPlace::Ingress,
                Some(id) => f.place = TcPlace::Under(id),
                None => reading.unknown(line, value, format!("`{value}` is not a parent")),
            },
            "root" | "egress" => {
                i += 1;
                continue;
            }
            "ingress" => {
                f.place = TcPlace::Ingress;
                i += 1;
                continue;
            }
            "protocol" | "prio" | "pref" | "preference" | "handle" | "chain" => {}
            word if CLASSIFIERS.contains(&word) => {
                // `fw` matches the mark, which is the handle.
                if word == "fw" {
                    f.all = false;
                    let mark = words[..i].windows(2).find(|w| w[0] == "handle").map(|w| w[1].clone());
                    f.says = format!("mark {}", mark.unwrap_or_default());
                }
                i += 1;
                break;
            }
            other => {
                reading.unknown(line, other, format!("unknown filter keyword `{other}`"));
                i += 1;
                continue;
            }
        }
        i += 2;
    }
    if !named && let TcPlace::Under(id) = f.place {
        let owner = model.qdiscs.iter().rev().find(|q| q.handle == id.major);
        if let Some(owner) = owner {
            f.device.clone_from(&owner.device);
        }
    }
    body(line, words.get(i..).unwrap_or_default(), &mut f, reading);
    f
}

/// Reads the words after the classifier: matches, actions, the class.
fn body(line: usize, words: &[String], f: &mut TcFilter, reading: &mut Reading) {
    let mut says: Vec<&str> = Vec::new();
    let mut i = 0;
    while i < words.len() {
        let value = words.get(i + 1).map(String::as_str).unwrap_or_default();
        match words[i].as_str() {
            "flowid" | "classid" => {
                f.to = ClassId::parse(value).or(f.to);
                if ClassId::parse(value).is_none() && value != "???" {
                    reading.unknown(line, value, format!("`{value}` is not a class"));
                }
                i += 2;
            }
            "police" => {
                // `tc` prints an index after `police`.
                let skip = usize::from(value.starts_with("0x"));
                let rest = words.get(i + 1 + skip..).unwrap_or_default();
                let end = rest.iter().position(|w| matches!(w.as_str(), "flowid" | "classid" | "not_in_hw"));
                let end = end.unwrap_or(rest.len());
                f.police = Some(police(line, &rest[..end], reading));
                i += 1 + skip + end;
            }
            "mirred" => {
                let rest: Vec<&str> = words[i + 1..].iter().map(String::as_str).collect();
                let at = rest.iter().position(|w| *w == "dev" || *w == "device");
                let to = at.and_then(|at| rest.get(at + 1));
                if rest.iter().take(4).any(|w| w.contains("redirect"))
                    || rest.iter().any(|w| w.contains("Redirect"))
                {
                    f.redirect = to.map(|d| d.trim_matches(['$', '{', '}', ')', '"']).to_string());
                }
                i = words.len();
            }
            "action" if value == "order" => i += 3,
            "action" | "not_in_hw" | "in_hw" | "skip_hw" | "skip_sw" | "terminal" => i += 1,
            // Details of hash tables, as `tc` prints them.
            "chain" | "fh" | "order" | "ht" | "bkt" | "link" | "divisor" => i += 2,
            "key" => i += 1,
            word => {
                says.push(word);
                i += 1;
            }
        }
    }
    matches(&says, f);
}

/// Reads the words of a match.
fn matches(says: &[&str], f: &mut TcFilter) {
    if says.is_empty() {
        return;
    }
    let text = says.join(" ");
    let any = [
        "match u32 0 0",
        "match u32 0x0 0x0",
        "match ip src 0.0.0.0/0",
        "match ip dst 0.0.0.0/0",
        "match 00000000/00000000",
    ];
    if !any.iter().any(|a| text == *a || text.starts_with(&format!("{a} at"))) {
        f.all = false;
    }
    for (i, word) in says.iter().enumerate() {
        let number = |text: Option<&&str>| {
            let text = text?;
            match text.strip_prefix("0x") {
                Some(hex) => u32::from_str_radix(hex, 16).ok(),
                None => text.parse().ok(),
            }
        };
        match *word {
            "tos" | "dsfield" | "ip_tos" => {
                let first = says.get(i + 1).and_then(|w| w.split('/').next());
                if let Some(tos) = number(first.as_ref()).filter(|t| *t <= 255) {
                    f.dscp = Some((tos >> 2) as u8);
                }
            }
            // The second byte of the IP header, as `tc` prints it.
            "match" if says.get(i + 2) == Some(&"at") && says.get(i + 3) == Some(&"0") => {
                let halves = says.get(i + 1).and_then(|w| w.split_once('/'));
                let hex = |t: &str| u32::from_str_radix(t, 16).ok();
                if let Some((Some(value), Some(mask))) = halves.map(|(v, m)| (hex(v), hex(m)))
                    && mask & 0xff00_ffff == 0
                    && mask & 0x00fc_0000 == 0x00fc_0000
                {
                    f.dscp = Some((value >> 18 & 0x3f) as u8);
                }
            }
            _ => {}
        }
    }
    f.says = if f.says.is_empty() { text } else { format!("{} {text}", f.says) };
    f.says = f.says.chars().take(120).collect();
}

fn police(line: usize, words: &[String], reading: &mut Reading) -> TcPolice {
    let o = Options::read(line, words, POLICE, reading);
    let exceed = o.text("action").map(|t| t.split('/').next().unwrap_or(t).to_string());
    let flag = ["drop", "pass", "ok", "continue", "reclassify", "pipe"].into_iter().find(|k| o.has(k));
    for key in ["avrate", "pkts_rate"] {
        if o.has(key) {
            reading.unknown(line, key, format!("`{key}` of police is not simulated"));
        }
    }
    TcPolice {
        line,
        rate: o.rate("rate", reading),
        burst: o.size("burst", reading),
        peak_rate: o.rate("peakrate", reading),
        mtu: o.size("mtu", reading),
        exceed: exceed.or(flag.map(str::to_string)),
    }
}

/// Reads a line below a filter, as `tc filter show` prints matches and actions; returns whether it is such a
/// line.
pub(crate) fn more(line: usize, words: &[&str], model: &mut TcModel, reading: &mut Reading) -> bool {
    let Some(f) = model.filters.last_mut() else { return false };
    let owned: Vec<String> = words.iter().map(|w| w.to_string()).collect();
    match words[0] {
        "match" | "police" | "action" | "mark" | "key" => body(line, &owned, f, reading),
        "ref" | "index" | "Sent" | "backlog" | "used_hardware" | "not_in_hw" | "installed" | "Action"
        | "used" | "random" => {}
        // flower prints one key per line.
        key if words.len() == 2
            && (key.ends_with("_ip")
                || key.ends_with("_port")
                || key.ends_with("_proto")
                || key == "ip_tos"
                || key == "eth_type") =>
        {
            body(line, &owned, f, reading);
        }
        _ => return false,
    }
    true
}
