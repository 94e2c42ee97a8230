//! Options of `tc`, keys with values: `rate 20Mbit burst 15Kb`, flags, values that end with `p` or `b`.

use crate::Reading;
use crate::number::{is_bytes_per_second, percent, tc_rate, tc_size, tc_time};
use units::{Bytes, Rate, Span};

/// The options of a discipline, class or action, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Options {
    pub line: usize,
    all: Vec<(&'static str, Vec<String>)>,
    /// Keys as spelt: among flags that exclude each other, the spelling is the value.
    words: Vec<String>,
}

/// A key with its other spellings, and its maximum number of values.
pub(crate) type KeySpec = (&'static [&'static str], usize);

/// Additional keys in the output of `tc -d show`.
const SHOWN: &[KeySpec] = &[
    (&["refcnt"], 1),
    (&["direct_packets_stat"], 1),
    (&["ver"], 1),
    (&["direct_qlen"], 1),
    (&["leaf"], 1),
    (&["level"], 1),
    (&["offload"], 0),
    (&["offloaded"], 0),
    (&["est", "estimator"], 2),
];

/// The keys of a kind of discipline; `None` for an unknown kind.
pub(crate) fn spec(kind: &str) -> Option<&'static [KeySpec]> {
    Some(match kind {
        "htb" => &[
            (&["default"], 1),
            (&["r2q"], 1),
            (&["rate"], 1),
            (&["ceil"], 1),
            (&["burst", "buffer", "maxburst"], 1),
            (&["cburst", "cbuffer"], 1),
            (&["prio"], 1),
            (&["quantum"], 1),
            (&["mtu"], 1),
            (&["mpu"], 1),
            (&["overhead"], 1),
            (&["linklayer"], 1),
            (&["debug"], 1),
        ],
        "tbf" => &[
            (&["rate"], 1),
            (&["burst", "buffer", "maxburst"], 1),
            (&["limit"], 1),
            (&["latency", "lat"], 1),
            (&["peakrate"], 1),
            (&["mtu", "minburst"], 1),
            (&["mpu"], 1),
            (&["overhead"], 1),
            (&["linklayer"], 1),
        ],
        "hfsc" => super::hfsc::KEYS,
        "pfifo" | "bfifo" => &[(&["limit"], 1)],
        "pfifo_fast" | "prio" => &[(&["bands"], 1), (&["priomap"], 16), (&["multiqueue:"], 1)],
        "mq" | "noqueue" | "ingress" | "clsact" => &[],
        "fq_codel" | "codel" => &[
            (&["limit"], 1),
            (&["flows"], 1),
            (&["quantum"], 1),
            (&["target"], 1),
            (&["interval"], 1),
            (&["memory_limit"], 1),
            (&["drop_batch"], 1),
            (&["ce_threshold"], 1),
            (&["ecn"], 0),
            (&["noecn"], 0),
        ],
        "sfq" => &[
            (&["limit"], 1),
            (&["perturb"], 1),
            (&["quantum"], 1),
            (&["depth"], 1),
            (&["divisor"], 1),
            (&["flows"], 1),
            (&["headdrop"], 0),
            (&["direct"], 1),
        ],
        "fq" => &[
            (&["limit"], 1),
            (&["flow_limit"], 1),
            (&["quantum"], 1),
            (&["initial_quantum"], 1),
            (&["buckets"], 1),
            (&["orphan_mask"], 1),
            (&["low_rate_threshold"], 1),
            (&["refill_delay"], 1),
            (&["timer_slack"], 1),
            (&["horizon"], 1),
            (&["maxrate"], 1),
            (&["horizon_drop"], 0),
            (&["horizon_cap"], 0),
            (&["pacing"], 0),
            (&["nopacing"], 0),
            (&["ce_threshold"], 1),
        ],
        "red" => &[
            (&["limit"], 1),
            (&["min"], 1),
            (&["max"], 1),
            (&["avpkt"], 1),
            (&["burst"], 1),
            (&["probability"], 1),
            (&["bandwidth"], 1),
            (&["ewma"], 1),
            (&["Scell_log"], 1),
            (&["ecn"], 0),
            (&["harddrop"], 0),
            (&["adaptive"], 0),
        ],
        "pie" => &[
            (&["limit"], 1),
            (&["target"], 1),
            (&["tupdate"], 1),
            (&["alpha"], 1),
            (&["beta"], 1),
            (&["ecn"], 0),
            (&["noecn"], 0),
            (&["bytemode"], 0),
        ],
        "cake" => &[
            (&["bandwidth"], 1),
            (&["rtt"], 1),
            (&["overhead"], 1),
            (&["mpu"], 1),
            (&["memlimit"], 1),
            (&["fwmark"], 1),
            (&["unlimited"], 0),
            (&["autorate-ingress"], 0),
            (&["besteffort", "diffserv3", "diffserv4", "diffserv8", "precedence"], 0),
            (
                &[
                    "flowblind",
                    "srchost",
                    "dsthost",
                    "hosts",
                    "flows",
                    "dual-srchost",
                    "dual-dsthost",
                    "triple-isolate",
                ],
                0,
            ),
            (&["nat", "nonat", "wash", "nowash", "ingress", "egress", "split-gso", "no-split-gso"], 0),
            (&["ack-filter", "no-ack-filter", "ack-filter-aggressive", "no-autorate-ingress"], 0),
            (&["raw", "atm", "noatm", "ptm", "conservative", "ethernet", "ether-vlan", "docsis"], 0),
        ],
        _ => return None,
    })
}

impl Options {
    /// No options.
    pub fn none(line: usize) -> Options {
        Options { line, ..Options::default() }
    }

    /// Reads `words`, and reports words that are not keys of `spec`.
    pub fn read(line: usize, words: &[String], spec: &[KeySpec], reading: &mut Reading) -> Options {
        let mut options = Options::none(line);
        let find = |word: &str| {
            let mut all = spec.iter().chain(SHOWN);
            all.find_map(|(names, n)| names.contains(&word).then_some((names[0], *n)))
        };
        let mut i = 0;
        while i < words.len() {
            let Some((key, most)) = find(&words[i]) else {
                reading.unknown(line, words[i].clone(), format!("unknown keyword `{}`", words[i]));
                i += 1;
                continue;
            };
            options.words.push(words[i].clone());
            i += 1;
            // A list of values ends at the next key; a key with one value takes any word.
            let mut values = Vec::new();
            while values.len() < most && i < words.len() {
                if most > 1 && find(&words[i]).is_some() {
                    break;
                }
                values.push(words[i].clone());
                i += 1;
            }
            options.all.push((key, values));
        }
        options
    }

    /// Whether a key is given.
    pub fn has(&self, key: &str) -> bool {
        self.all.iter().any(|(k, _)| *k == key)
    }

    /// Whether a key is given in this spelling.
    pub fn has_word(&self, word: &str) -> bool {
        self.words.iter().any(|w| w == word)
    }

    /// The first value of a key as written; the last one if the key is given twice.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.all.iter().rev().find(|(k, _)| *k == key)?.1.first().map(String::as_str)
    }

    /// Parses the value of a key; refuses a value that cannot be read.
    fn value<T>(
        &self,
        key: &str,
        what: &str,
        reading: &mut Reading,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Option<T> {
        let text = self.text(key)?;
        let value = parse(text);
        if value.is_none() {
            let why = match text.strip_prefix('$').map(|name| name.trim_matches(['{', '}'])) {
                Some(name) if !name.is_empty() => {
                    format!("the value of `{key}` is unknown: `{text}` (--define {name}=VALUE)")
                }
                _ if text.contains(['$', '`']) => format!("the value of `{key}` is unknown: `{text}`"),
                _ => format!("`{text}` is not a {what} (`{key}`)"),
            };
            reading.refuse(self.line, text, why);
        }
        value
    }

    /// A rate. A rate in bytes per second is reported as a mistake, because it is rarely intended.
    pub fn rate(&self, key: &str, reading: &mut Reading) -> Option<Rate> {
        let rate = self.value(key, "rate", reading, tc_rate).filter(|r| r.as_bps() > 0)?;
        let text = self.text(key).unwrap_or_default();
        if is_bytes_per_second(text) {
            let real = crate::number::rate(rate.as_bps());
            let text = format!(
                "`{key} {text}` is in bytes per second: {real}; for bits per second write `bit`, as in `20mbit`"
            );
            reading.fault(self.line, "bytes-per-second", text);
        }
        Some(rate)
    }

    /// A size in bytes.
    pub fn size(&self, key: &str, reading: &mut Reading) -> Option<Bytes> {
        self.value(key, "size", reading, tc_size)
    }

    /// A time.
    pub fn time(&self, key: &str, reading: &mut Reading) -> Option<Span> {
        self.value(key, "time", reading, tc_time)
    }

    /// A share in percent, as 0 to 1.
    pub fn share(&self, key: &str, reading: &mut Reading) -> Option<f64> {
        self.value(key, "share", reading, percent)
    }

    /// A count: `1000p`, `1000`, `1514b` (iproute2 parses it with `get_unsigned` or `get_u32`, and prints the
    /// letters).
    pub fn count(&self, key: &str, reading: &mut Reading) -> Option<u64> {
        self.value(key, "number", reading, |text| {
            let digits = text.trim_end_matches(['p', 'b']);
            digits.parse().ok().filter(|n| *n < 1 << 40)
        })
    }

    /// A count of packets that iproute2 parses as a size (`limit` of pfifo and netem: `get_size`), so that
    /// `1k` is 1024 packets.
    pub fn packets(&self, key: &str, reading: &mut Reading) -> Option<u64> {
        self.value(key, "number of packets", reading, |text| {
            tc_size(text.trim_end_matches('p')).map(Bytes::get).filter(|n| *n < 1 << 40)
        })
    }
}
