//! The output of `ipfw pipe show`, `queue show` and `sched show` (`list_pipes`, `print_flowset_parms`,
//! `list_flow`).

use super::config;
use super::model::{Dummynet, Kind, Object};
use crate::Reading;
use crate::number::{self, seconds};
use units::Rate;

/// `DN_MAX_ID`: numbers above it are the internal parts of a pipe, numbers above twice of it the FIFO of a
/// pipe.
const MAX_ID: u32 = 0x1_0000;
/// The heading of the flows, and other lines without a value.
const HEADINGS: [&str; 3] = ["BKT", "mask:", "Children"];

/// The state after the lines so far.
#[derive(Default)]
pub(super) struct Shown {
    /// The owner of the counters that follow.
    owner: Option<(Kind, u32)>,
    /// The scheduler described by the next line.
    scheduler: Option<u32>,
}

/// The number at the start of `00001:  10.000 Mbit/s …`.
fn link(line: &str) -> Option<(u32, &str)> {
    let (number, rest) = line.trim_start().split_once(':')?;
    let is_rate = rest.contains("bit/s") || rest.trim_start().starts_with("unlimited");
    let number = Some(number).filter(|n| n.bytes().all(|b| b.is_ascii_digit()))?;
    Some((number.parse().ok()?, rest)).filter(|_| is_rate && rest.contains(" ms"))
}

/// The number at the start of `q10000  50 sl. …`.
fn flow_set(line: &str) -> Option<(u32, &str)> {
    let (number, rest) = line.strip_prefix('q')?.split_once(' ')?;
    Some((number.parse().ok()?, rest)).filter(|_| rest.contains("flows (") || rest.contains("queues ("))
}

/// ` sched 75536 type FIFO flags 0x0 …`.
fn sched(line: &str) -> Option<(u32, &str)> {
    let (number, rest) = line.trim_start().strip_prefix("sched ")?.split_once(" type ")?;
    Some((number.trim().parse().ok()?, rest)).filter(|(_, rest)| rest.contains("flags"))
}

/// Whether a line is part of such output.
pub(super) fn is_shown(line: &str) -> bool {
    link(line).is_some() || flow_set(line).is_some() || sched(line).is_some()
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_string).collect()
}

impl Shown {
    /// Reads a line; `false` if it is not part of such output.
    pub fn line(&mut self, line: usize, text: &str, model: &mut Dummynet, reading: &mut Reading) -> bool {
        if let Some((number, rest)) = link(text) {
            self.link(line, number, rest, model, reading);
        } else if let Some((number, rest)) = flow_set(text) {
            self.flow_set(line, number, rest, model, reading);
        } else if let Some((number, rest)) = sched(text) {
            let name = rest.split_whitespace().next().unwrap_or_default().to_ascii_lowercase();
            self.scheduler = (number < MAX_ID).then_some(number);
            if number < MAX_ID {
                config::configure(line, Kind::Sched, number, &["type".into(), name], model, reading);
            }
        } else if text.starts_with("FQ_")
            || text.starts_with("AQM ")
            || text.starts_with("RED ")
            || text.starts_with("GRED ")
        {
            self.parameters(line, text, model, reading);
        } else if !HEADINGS.iter().any(|h| text.starts_with(h)) {
            return self.counters(line, text, model, reading);
        }
        true
    }

    /// `10.000 Mbit/s   20 ms burst 0`, in old releases followed by the values of a flow set.
    fn link(&mut self, line: usize, number: u32, rest: &str, model: &mut Dummynet, reading: &mut Reading) {
        let said = words(rest);
        let number = number % MAX_ID;
        self.owner = Some((Kind::Pipe, number));
        // `sched show` repeats each pipe.
        if model.get(Kind::Pipe, number).is_some() {
            return;
        }
        let ms = said.iter().position(|w| w == "ms").unwrap_or(said.len());
        let mut list = vec!["delay".to_string(), said[..ms].last().cloned().unwrap_or_default()];
        if let Some(at) = said.iter().position(|w| w == "burst") {
            list.extend(said[at..].iter().take(2).cloned());
        }
        list.extend(size_and_loss(&said[(ms + 1).min(said.len())..]));
        config::configure(line, Kind::Pipe, number, &list, model, reading);
        let Some(pipe) = model.objects.iter_mut().find(|o| o.kind == Kind::Pipe && o.number == number) else {
            return;
        };
        let rate = said.first().map(String::as_str).unwrap_or_default();
        if rate == "unlimited" {
            return;
        }
        // Three decimals are printed, and the unit is a separate word.
        let unit = said.get(1).map(String::as_str).unwrap_or_default();
        match (rate.parse::<f64>(), config::bandwidth(&format!("1{unit}"))) {
            (Ok(value), Ok(scale)) if (0.0..1e12).contains(&value) => {
                pipe.bw = Some((value * scale as f64).round() as u64).filter(|b| *b > 0);
            }
            _ => {
                pipe.is_whole = false;
                reading.refuse(
                    line,
                    format!("{rate} {unit}"),
                    format!("`{rate} {unit}` is not a rate (Kbit/s, Mbit/s, Gbit/s)"),
                );
            }
        }
    }

    /// `50 sl.plr 0.010000 1 flows (1 buckets) sched 10000 weight 100 lmax 0 pri 0 droptail`.
    fn flow_set(
        &mut self,
        line: usize,
        number: u32,
        rest: &str,
        model: &mut Dummynet,
        reading: &mut Reading,
    ) {
        let said = words(rest);
        let list = size_and_loss(&said);
        // The pipe's own FIFO has the size configured for the pipe.
        if number >= MAX_ID {
            let pipe = number % MAX_ID;
            self.owner = Some((Kind::Pipe, pipe));
            let mut shown = Dummynet::default();
            config::configure(line, Kind::Pipe, pipe, &list, &mut shown, reading);
            let old = model.objects.iter_mut().find(|o| o.kind == Kind::Pipe && o.number == pipe);
            if let (Some(pipe), Some(new), true) = (old, shown.objects.pop(), number >= 2 * MAX_ID) {
                (pipe.size, pipe.loss) = (new.size, new.loss);
            }
            return;
        }
        let mut list = list;
        for key in ["sched", "weight"] {
            if let Some(at) = said.iter().position(|w| w == key) {
                list.extend(said[at..].iter().take(2).cloned());
            }
        }
        self.owner = Some((Kind::Queue, number));
        config::configure(line, Kind::Queue, number, &list, model, reading);
        if let Some(at) = rest.find("AQM ") {
            self.parameters(line, &rest[at..], model, reading);
        }
    }

    /// ` FQ_CODEL target 5ms interval 100ms quantum 1514 limit 10240 flows 1024 ECN`, ` AQM CoDel target 5ms
    /// …`.
    fn parameters(&mut self, line: usize, text: &str, model: &mut Dummynet, reading: &mut Reading) {
        let lower = text.to_ascii_lowercase();
        let mut list = words(&lower);
        if let Some(behind) = list.iter().position(|w| w == "aqm") {
            list.remove(behind);
            list.retain(|w| w != "type");
        } else if lower.starts_with("fq_") {
            let Some(number) = self.scheduler else { return };
            list.insert(0, "type".into());
            return config::configure(line, Kind::Sched, number, &list, model, reading);
        } else {
            // w_q 0.002 min_th 5 max_th 15 max_p 0.1
            let value = |key: &str| {
                let at = list.iter().position(|w| w == key);
                at.and_then(|at| list.get(at + 1)).cloned().unwrap_or_default()
            };
            let values = ["w_q", "min_th", "max_th", "max_p"].map(value).join("/");
            list = vec![list[0].clone(), values];
        }
        let Some((kind, number)) = self.owner else { return };
        let mut shown = Dummynet::default();
        config::configure(line, kind, number, &list, &mut shown, reading);
        let old = model.objects.iter_mut().find(|o| (o.kind, o.number) == (kind, number));
        if let (Some(old), Some(new)) = (old, shown.objects.pop()) {
            old.aqm = new.aqm;
            old.is_whole &= new.is_whole;
        }
    }

    /// `  0 ip  0.0.0.0/0  0.0.0.0/0  688  1030595  3 4500  12`: packets and bytes so far, queued packets
    /// and bytes, drops.
    fn counters(&mut self, line: usize, text: &str, model: &Dummynet, reading: &mut Reading) -> bool {
        let said = words(text);
        let is_address = |w: &String| w.rsplit_once('/').is_some_and(|(_, port)| port.parse::<u32>().is_ok());
        let [.., from, to, packets, _, _, waiting, drops] = said.as_slice() else { return false };
        let numbers = [packets, waiting, drops].map(|w| w.parse::<u64>().ok());
        let ([Some(packets), Some(waiting), Some(drops)], true) =
            (numbers, is_address(from) && is_address(to))
        else {
            return false;
        };
        let Some(owner) = self.owner.and_then(|(kind, number)| model.get(kind, number)) else { return true };
        if drops > 0 {
            let share = drops as f64 * 100.0 / packets.max(drops) as f64;
            reading
                .fact(line, format!("{}: {drops} of {packets} packets dropped ({share:.2} %)", owner.says()));
        }
        if waiting > 0 {
            let wait = rate_of(owner, model).map_or(String::new(), |bps| {
                format!(", {} at its rate", number::time(seconds(waiting, Rate::from_bps(bps))))
            });
            reading.fact(line, format!("{}: {} queued{wait}", owner.says(), number::size(waiting)));
        }
        true
    }
}

/// The rate of a pipe, or of the pipe that a queue belongs to.
fn rate_of(object: &Object, model: &Dummynet) -> Option<u64> {
    object.bw.or_else(|| model.get(Kind::Pipe, object.pipe?)?.bw)
}

/// `50 sl.`, `50 sl.plr 0.01`, `10 KB`, `3000 B` as configuration words.
fn size_and_loss(said: &[String]) -> Vec<String> {
    let mut list = Vec::new();
    let unit = said
        .iter()
        .position(|w| ["sl.", "KB", "B"].iter().any(|u| w == u || w.strip_prefix(u) == Some("plr")));
    if let Some((unit, size)) = unit.filter(|n| *n > 0).map(|n| (&said[n], &said[n - 1])) {
        let letters = unit.trim_end_matches("plr");
        list.extend(["queue".to_string(), format!("{size}{}", letters.replace('B', "b").replace("Kb", "K"))]);
    }
    if let Some(at) = said.iter().position(|w| w.ends_with("plr")) {
        list.extend(["plr".to_string(), said.get(at + 1).cloned().unwrap_or_default()]);
    }
    list
}
