//! Commands of a policy's class: `police`, `shape`, `bandwidth`, `priority`, `queue-limit`. Each function
//! takes the words after the command's name. An error has the words that were not understood; the class is
//! then left out, because a default would be invented.

use super::model::{IosClass, IosExcess, IosPolice, IosPriority, IosShape};
use super::units::{Dialect, IosRate, IosSize, RouterUnit, number, rate, size};

/// Success, or the words that were not understood.
pub(crate) type Understood = Result<(), String>;

const BYTES: RouterUnit = RouterUnit::Bytes(1.0);
const BITS: RouterUnit = RouterUnit::Bits(1.0);
const MS: RouterUnit = RouterUnit::Seconds(1e-3);
/// `bandwidth` and `priority` count kbit/s.
const KBPS: f64 = 1e3;

/// The words in front of remarks on overhead (`account qinq dot1q …`).
fn without_account<'a>(words: &'a [&'a str]) -> &'a [&'a str] {
    let end = words.iter().position(|w| *w == "account").unwrap_or(words.len());
    &words[..end]
}

fn key(word: &str) -> String {
    word.trim_matches([',', ';', '(', ')', ':']).to_ascii_lowercase()
}

/// The colour whose action a word names: `conform-action`, NX-OS `conform`.
fn colour(word: &str) -> Option<usize> {
    ["conform", "exceed", "violate"]
        .iter()
        .position(|c| word == *c || word.strip_prefix(c).is_some_and(|rest| rest == "-action"))
}

/// Reads actions: `conform-action transmit exceed-action drop …`
pub(crate) fn actions(class: &mut IosClass, words: &[&str]) -> Understood {
    let police = class.police.as_mut().ok_or("an action without its `police`")?;
    for (i, word) in words.iter().enumerate() {
        if let Some(colour) = colour(word) {
            let action = words.get(i + 1).map(|a| a.to_ascii_lowercase());
            police.actions[colour] = Some(action.ok_or(format!("`{word}` without an action"))?);
        }
    }
    Ok(())
}

/// The rate and the two bursts of `police` and `shape`, each given by name or by position after the last
/// named one.
struct Amounts<'a> {
    words: &'a [&'a str],
    /// Bit/s per unit of a bare number.
    default: f64,
    cir: Option<IosRate>,
    bc: Option<IosSize>,
    be: Option<IosSize>,
    /// The meaning of the next number without a name: 0 is the rate, 1 and 2 are the bursts.
    next: usize,
}

impl Amounts<'_> {
    fn missing(&self, at: usize) -> String {
        format!("`{}` without a number", self.words[at])
    }

    /// The rate after the name at `at`, and the words that both take.
    fn rate_after(&self, at: usize) -> Result<(IosRate, usize), String> {
        let (value, used) = rate(self.words, at + 1, self.default)?.ok_or(self.missing(at))?;
        Ok((value, 1 + used))
    }

    /// Reads amount `which` after its name at `at`, and returns the words that both take. `burst` is the unit
    /// of a bare burst.
    fn named(&mut self, which: usize, at: usize, burst: RouterUnit) -> Result<usize, String> {
        let used = self.read(which, at + 1, burst)?.ok_or(self.missing(at))?;
        self.next = which + 1;
        Ok(1 + used)
    }

    /// Reads the amount without a name at `at`, and returns the words that it takes; `None` if there is no
    /// number.
    fn positional(&mut self, at: usize, burst: RouterUnit) -> Result<Option<usize>, String> {
        let used = self.read(self.next, at, burst)?;
        self.next += 1;
        Ok(used)
    }

    fn read(&mut self, which: usize, at: usize, burst: RouterUnit) -> Result<Option<usize>, String> {
        if which == 0 {
            let found = rate(self.words, at, self.default)?;
            self.cir = found.map(|(value, _)| value).or(self.cir);
            return Ok(found.map(|(_, used)| used));
        }
        let amount = match which {
            1 => &mut self.bc,
            2 => &mut self.be,
            _ => return Ok(None),
        };
        let found = size(self.words, at, burst)?;
        *amount = found.map(|(value, _)| value).or(*amount);
        Ok(found.map(|(_, used)| used))
    }
}

/// Reads `police [cir|rate] R [[bc|burst] B] [[be|peak-burst] B] [pir|peak-rate R] [actions]`
pub(crate) fn police(class: &mut IosClass, line: usize, words: &[&str], dialect: Dialect) -> Understood {
    let end = words.iter().position(|w| colour(w).is_some() || *w == "action").unwrap_or(words.len());
    let (head, tail) = words.split_at(end);
    let head = without_account(head);
    let mut amounts = Amounts { words: head, default: 1.0, cir: None, bc: None, be: None, next: 0 };
    let mut pir = None;
    let mut at = 0;
    while at < head.len() {
        let of_a_share = matches!(amounts.cir, Some(IosRate::Percent(_)));
        let burst = if of_a_share && dialect == Dialect::Ios { MS } else { BYTES };
        at += match key(head[at]).as_str() {
            "cir" | "rate" => amounts.named(0, at, burst)?,
            "pir" | "peak-rate" => {
                let (value, used) = amounts.rate_after(at)?;
                pir = Some(value);
                used
            }
            "bc" | "burst" | "burst-size" | "conform-burst" => amounts.named(1, at, burst)?,
            "be" | "peak-burst" | "excess-burst" => amounts.named(2, at, burst)?,
            "dual-policer" | "child-conform-aware" => 1,
            _ => amounts.positional(at, burst)?.ok_or(format!("`{}` of police", head[at]))?,
        };
    }
    let Amounts { cir, bc, be, .. } = amounts;
    let cir = cir.ok_or("police without a rate")?;
    // Nexus 9000 QoS guide, "Configuring Policing": the default of bc is 200 ms at the configured rate.
    let bc = bc.or((dialect == Dialect::NxOs).then_some(IosSize::Time(0.2)));
    class.police = Some(IosPolice { line, cir, bc, be, pir, actions: [None, None, None] });
    actions(class, tail)
}

/// Reads `shape [average|peak|rate] R [bc] [be]`, `shape average percent P [bc ms] [be ms]`, `shape min R max
/// R`.
pub(crate) fn shape(class: &mut IosClass, line: usize, words: &[&str], dialect: Dialect) -> Understood {
    let words = without_account(words);
    // EOS: `shape rate` counts kbit/s.
    let default = if dialect == Dialect::Eos { KBPS } else { 1.0 };
    let mut amounts = Amounts { words, default, cir: None, bc: None, be: None, next: 0 };
    let mut peak = false;
    let mut at = 0;
    while at < words.len() {
        let burst = match (amounts.cir, dialect) {
            (Some(IosRate::Percent(_)), Dialect::Ios) => MS,
            (_, Dialect::Ios) => BITS,
            _ => BYTES,
        };
        at += match key(words[at]).as_str() {
            "average" | "rate" => 1,
            "peak" => {
                peak = true;
                1
            }
            "cir" | "max" => amounts.named(0, at, burst)?,
            "min" => {
                let (value, used) = amounts.rate_after(at)?;
                class.bandwidth = class.bandwidth.or(Some(value));
                used
            }
            "bc" | "burst" | "burst-size" => amounts.named(1, at, burst)?,
            "be" => amounts.named(2, at, burst)?,
            _ => amounts.positional(at, burst)?.ok_or(format!("`{}` of shape", words[at]))?,
        };
    }
    let Amounts { cir, bc, be, .. } = amounts;
    let cir = cir.ok_or("shape without a rate")?;
    class.shape = Some(IosShape { line, cir, bc, be, peak });
    Ok(())
}

/// Reads `bandwidth R`, `bandwidth percent P`, `bandwidth remaining percent P`, `bandwidth remaining ratio
/// N`, `bandwidth guaranteed R`.
pub(crate) fn bandwidth(class: &mut IosClass, words: &[&str]) -> Understood {
    let words = without_account(words);
    let first = words.first().map(|w| key(w)).unwrap_or_default();
    match first.as_str() {
        "remaining" => {
            let ratio = words.get(1).is_some_and(|w| key(w) == "ratio");
            let named = ratio || words.get(1).is_some_and(|w| key(w) == "percent");
            let at = 1 + usize::from(named);
            let n = number(words, at)?.ok_or("`bandwidth remaining` without a number")?;
            let share = n.unit.is_none() || n.unit == Some(RouterUnit::Percent);
            let range = if ratio { 1.0..1e7 } else { 0.0..100.5 };
            if !share || !range.contains(&n.value) {
                return Err(words.join(" "));
            }
            class.excess =
                Some(if ratio { IosExcess::Ratio(n.value as u64) } else { IosExcess::Percent(n.value) });
        }
        _ => {
            let at = usize::from(first == "guaranteed");
            let (value, _) = rate(words, at, KBPS)?.ok_or("`bandwidth` without a number")?;
            class.bandwidth = Some(value);
        }
    }
    Ok(())
}

/// Reads `priority [level N] [R [burst]]`, `priority percent P [burst]`, and the output of `show`.
pub(crate) fn priority(class: &mut IosClass, line: usize, words: &[&str]) -> Understood {
    let mut found = IosPriority { line, level: 1, rate: None, burst: None };
    let mut at = 0;
    while at < words.len() {
        at += match key(words[at]).as_str() {
            "strict" => 1,
            "level" => {
                let level =
                    words.get(at + 1).and_then(|w| key(w).parse().ok()).filter(|l| (1..=8).contains(l));
                found.level = level.ok_or("`priority level` without a level")?;
                2
            }
            "burst" => {
                let bytes = usize::from(words.get(at + 1).is_some_and(|w| key(w) == "bytes"));
                let (value, used) = size(words, at + 1 + bytes, BYTES)?.ok_or("`burst` without a number")?;
                found.burst = Some(value);
                1 + bytes + used
            }
            // `b/w exceed drops: 12`
            "b/w" => break,
            _ if found.rate.is_none() => {
                let (value, used) = rate(words, at, KBPS)?.ok_or(format!("`{}` of priority", words[at]))?;
                found.rate = Some(value);
                used
            }
            // `10% (5000 kbps)`: the same rate in bit/s.
            _ if words[at].starts_with('(') => {
                let (value, used) = rate(words, at, KBPS)?.ok_or(format!("`{}` of priority", words[at]))?;
                found.rate = Some(value);
                used
            }
            _ => {
                let (value, used) = size(words, at, BYTES)?.ok_or(format!("`{}` of priority", words[at]))?;
                found.burst = Some(value);
                used
            }
        };
    }
    // `show` prints the level in a separate line.
    if let Some(before) = class.priority.filter(|_| found.rate.is_none()) {
        found.rate = before.rate;
        found.burst = before.burst;
    }
    class.priority = Some(found);
    Ok(())
}

/// Reads `queue-limit N [packets|bytes|kbytes|mbytes|ms|us]`
pub(crate) fn queue_limit(class: &mut IosClass, words: &[&str]) -> Understood {
    let (value, _) = size(words, 0, RouterUnit::Packets)?.ok_or("`queue-limit` without a number")?;
    if value.bytes(8_000_000_000, 1500) == 0 {
        return Err(words.join(" "));
    }
    class.queue = Some(value);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use IosRate::{Bits, Percent};
    use IosSize::{Bytes, Packets, Time};

    fn words(text: &str) -> Vec<&str> {
        text.split(' ').collect()
    }

    fn policed(text: &str, dialect: Dialect) -> Result<IosPolice, String> {
        let mut class = IosClass::default();
        police(&mut class, 1, &words(text), dialect)?;
        Ok(class.police.expect("a police"))
    }

    #[test]
    fn police_of_every_platform() {
        let p = policed("8000000 1500000 3000000 conform-action transmit exceed-action drop", Dialect::Ios)
            .unwrap();
        assert_eq!((p.cir, p.bc, p.be), (Bits(8_000_000), Some(Bytes(1_500_000)), Some(Bytes(3_000_000))));
        assert_eq!(p.actions[1].as_deref(), Some("drop"));
        let p = policed("cir percent 20 bc 300 ms be 400 ms pir percent 40", Dialect::Ios).unwrap();
        assert_eq!((p.cir, p.pir), (Percent(20.0), Some(Percent(40.0))));
        assert_eq!((p.bc, p.be), (Some(Time(0.3)), Some(Time(0.4))));
        // In the form with a percentage a burst counts milliseconds.
        assert_eq!(policed("cir percent 20 300", Dialect::Ios).unwrap().bc, Some(Time(0.3)));
        let p = policed("rate 100 mbps burst 125 kbytes peak-rate 200 mbps peak-burst 1 mbytes", Dialect::Xr)
            .unwrap();
        assert_eq!((p.cir, p.bc), (Bits(100_000_000), Some(Bytes(125_000))));
        assert_eq!((p.pir, p.be), (Some(Bits(200_000_000)), Some(Bytes(1_000_000))));
        assert_eq!(policed("rate percent 10", Dialect::Xr).unwrap().cir, Percent(10.0));
        let p = policed("cir 1 mbps conform transmit violate drop", Dialect::NxOs).unwrap();
        assert_eq!((p.cir, p.bc), (Bits(1_000_000), Some(Time(0.2))));
        assert_eq!(p.actions, [Some("transmit".into()), None, Some("drop".into())]);
        let p = policed("rate 1 gbps burst-size 2 mbytes", Dialect::Eos).unwrap();
        assert_eq!((p.cir, p.bc), (Bits(1_000_000_000), Some(Bytes(2_000_000))));
        for text in
            ["rate 100 mbps burst 125 barrels", "rate 1000 pps", "cir 8000 bc lots", "100 mbps aggregate", ""]
        {
            assert!(policed(text, Dialect::Xr).is_err(), "{text}");
        }
    }

    fn shaped(text: &str, dialect: Dialect) -> Result<IosShape, String> {
        let mut class = IosClass::default();
        shape(&mut class, 1, &words(text), dialect)?;
        Ok(class.shape.expect("a shape"))
    }

    #[test]
    fn shape_of_every_platform() {
        let s = shaped("average 20000000 80000 0", Dialect::Ios).unwrap();
        // Bits.
        assert_eq!((s.cir, s.bc, s.be), (Bits(20_000_000), Some(Bytes(10_000)), Some(Bytes(0))));
        let s = shaped("average percent 50 200 ms 300 ms", Dialect::Ios).unwrap();
        assert_eq!((s.cir, s.bc, s.be), (Percent(50.0), Some(Time(0.2)), Some(Time(0.3))));
        let s = shaped("(average) cir 5000000, bc 20000, be 20000", Dialect::Ios).unwrap();
        assert_eq!((s.cir, s.bc), (Bits(5_000_000), Some(Bytes(2500))));
        assert_eq!(shaped("average 10 mbps", Dialect::Xr).unwrap().cir, Bits(10_000_000));
        assert_eq!(shaped("average 20m", Dialect::Ios).unwrap().cir, Bits(20_000_000));
        assert_eq!(shaped("gbps 1", Dialect::NxOs).unwrap().cir, Bits(1_000_000_000));
        assert_eq!(shaped("rate 100 mbps", Dialect::Eos).unwrap().cir, Bits(100_000_000));
        assert_eq!(shaped("rate 5000", Dialect::Eos).unwrap().cir, Bits(5_000_000));
        assert_eq!(shaped("min 10 mbps max 20 mbps", Dialect::NxOs).unwrap().cir, Bits(20_000_000));
        assert!(shaped("peak 1000000", Dialect::Ios).unwrap().peak);
        for text in ["average 10 furlongs", "average", "adaptive", "average 1000 pps"] {
            assert!(shaped(text, Dialect::Ios).is_err(), "{text}");
        }
    }

    #[test]
    fn shares_priorities_and_queues() {
        let mut class = IosClass::default();
        bandwidth(&mut class, &words("20 mbps")).unwrap();
        bandwidth(&mut class, &words("remaining ratio 10")).unwrap();
        assert_eq!((class.bandwidth, class.excess), (Some(Bits(20_000_000)), Some(IosExcess::Ratio(10))));
        bandwidth(&mut class, &words("256")).unwrap();
        assert_eq!(class.bandwidth, Some(Bits(256_000)));
        bandwidth(&mut class, &words("remaining percent 40")).unwrap();
        assert_eq!(class.excess, Some(IosExcess::Percent(40.0)));
        assert!(bandwidth(&mut class, &words("20 parsecs")).is_err());
        let found = |text: &str| {
            let mut class = IosClass::default();
            priority(&mut class, 1, &words(text)).map(|()| class.priority.unwrap())
        };
        let p = found("6000 1000").unwrap();
        assert_eq!((p.rate, p.burst), (Some(Bits(6_000_000)), Some(Bytes(1000))));
        let p = found("level 2 percent 10").unwrap();
        assert_eq!((p.level, p.rate), (2, Some(Percent(10.0))));
        assert_eq!(found("Strict, b/w exceed drops: 0").unwrap().rate, None);
        let p = found("10% (5000 kbps), burst bytes 125000, b/w exceed drops: 7").unwrap();
        assert_eq!((p.rate, p.burst), (Some(Bits(5_000_000)), Some(Bytes(125_000))));
        assert!(found("512 furlongs").is_err());
        let queue = |text: &str| {
            let mut class = IosClass::default();
            queue_limit(&mut class, &words(text)).map(|()| class.queue.unwrap())
        };
        assert_eq!(queue("8192 packets"), Ok(Packets(8192)));
        assert_eq!(queue("64"), Ok(Packets(64)));
        assert_eq!(queue("50 ms"), Ok(Time(0.05)));
        assert_eq!(queue("50 ms/ 312500 bytes"), Ok(Time(0.05)));
        assert_eq!(queue("500 us"), Ok(Time(500.0 * 1e-6)));
        assert_eq!(queue("2 mbytes"), Ok(Bytes(2_000_000)));
        assert!(queue("100 cells").is_err() && queue("0").is_err());
    }
}
