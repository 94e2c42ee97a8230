//! A flow's packets as the page reads them (`crate::page::columns`).

use super::rows::{Acked, KeptRows};
use crate::page::columns::{Columns, MICRO, MILLI, PageSheet};
use serde::Serialize;

/// Where a flow's columns are in its blob.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Packets {
    /// Id of the script element.
    blob: String,
    /// Inflated.
    bytes: usize,
    /// Data: `time_s`, `sent_bytes` (all up to here), `inflight_bytes`.
    sent: EncodedTable,
    /// ACKs: `time_s`, `acked_bytes`, `edge_bytes` (how far the window reaches), `window_bytes`, `rtt_ms`.
    acked: EncodedTable,
    /// Sent again, or late: `time_s`, `byte`, `len`, `kind` (index into `KINDS`).
    again: EncodedTable,
    /// One of so many packets is here.
    every: u64,
    /// The same of what was sent again.
    every_again: u64,
    /// The first ones are not.
    late: bool,
}

/// Columns of one length.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct EncodedTable {
    /// By name.
    columns: Columns,
}

/// Where the columns of `kept` are, times counted from `start` (ns since 1970), and their bytes.
pub(super) fn encode(blob: &str, kept: &KeptRows, start: u64) -> (Packets, Vec<u8>) {
    let mut bytes = Vec::new();
    let micros = |time: u64| Some(((time as i64).wrapping_sub(start as i64) + 500).div_euclid(1000));
    let mut s = PageSheet::new(&mut bytes);
    let all = kept.sent.all();
    s.multiples("time_s", MICRO, all.clone().map(|p| micros(p.time)));
    s.counts("sent_bytes", all.clone().map(|p| p.end));
    s.counts("inflight_bytes", all.map(|p| p.inflight.into()));
    let sent = EncodedTable { columns: s.columns };
    let mut s = PageSheet::new(&mut bytes);
    let all = kept.acked.all();
    let window = |a: &Acked| a.window.get().map(i64::from);
    s.multiples("time_s", MICRO, all.clone().map(|a| micros(a.time)));
    s.counts("acked_bytes", all.clone().map(|a| a.end));
    s.multiples("edge_bytes", 1, all.clone().map(|a| Some((a.end as i64).wrapping_add(window(a)?))));
    s.multiples("window_bytes", 1, all.clone().map(window));
    s.multiples("rtt_ms", MILLI, all.map(|a| Some(a.rtt.get()?.as_micros() as i64)));
    let acked = EncodedTable { columns: s.columns };
    let mut s = PageSheet::new(&mut bytes);
    let all = kept.again.all();
    s.multiples("time_s", MICRO, all.clone().map(|a| micros(a.time)));
    s.counts("byte", all.clone().map(|a| a.byte));
    s.counts("len", all.clone().map(|a| a.len.into()));
    s.counts("kind", all.map(|a| a.kind as u64));
    let again = EncodedTable { columns: s.columns };
    let every = kept.sent.every.max(kept.acked.every);
    let packets = Packets {
        blob: blob.into(),
        bytes: bytes.len(),
        sent,
        acked,
        again,
        every,
        every_again: kept.again.every,
        late: kept.late,
    };
    (packets, bytes)
}
