//! Encodes a flow's packets as the columns that the page reads (`crate::page::columns`).

use super::rows::{AckRow, KeptRows};
use crate::page::columns::{Columns, MICRO, MILLI, PageSheet};
use serde::Serialize;

/// The layout of a flow's columns in its blob.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Packets {
    /// Id of the script element.
    blob: String,
    /// Size when decompressed.
    bytes: usize,
    /// Data packets: `time_s`, `sent_bytes` (cumulative), `inflight_bytes`.
    sent: EncodedTable,
    /// ACKs: `time_s`, `acked_bytes`, `edge_bytes` (right edge of the receive window), `window_bytes`,
    /// `rtt_ms`.
    acked: EncodedTable,
    /// Retransmitted or reordered packets: `time_s`, `byte`, `len`, `kind` (index into `kinds`).
    again: EncodedTable,
    /// One packet in `every` is included.
    every: u64,
    /// One retransmission in `every_again` is included.
    every_again: u64,
    /// The flow's first packets are missing.
    late: bool,
}

/// Columns of the same length.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct EncodedTable {
    /// Columns by name.
    columns: Columns,
}

/// Encodes `kept`: the columns' layout and their bytes. Times count from `start` (ns since 1970).
pub(super) fn encode(blob: &str, kept: &KeptRows, start: u64) -> (Packets, Vec<u8>) {
    let mut bytes = Vec::new();
    let micros = |time: u64| Some(((time as i64).wrapping_sub(start as i64) + 500).div_euclid(1000));
    let mut s = PageSheet::new(&mut bytes);
    let packets = kept.sent.iter();
    s.multiples("time_s", MICRO, packets.clone().map(|p| micros(p.time)));
    s.counts("sent_bytes", packets.clone().map(|p| p.end));
    s.counts("inflight_bytes", packets.map(|p| p.inflight.into()));
    let sent = EncodedTable { columns: s.columns };
    let mut s = PageSheet::new(&mut bytes);
    let acks = kept.acked.iter();
    let window = |a: &AckRow| a.window.get().map(i64::from);
    s.multiples("time_s", MICRO, acks.clone().map(|a| micros(a.time)));
    s.counts("acked_bytes", acks.clone().map(|a| a.end));
    s.multiples("edge_bytes", 1, acks.clone().map(|a| Some((a.end as i64).wrapping_add(window(a)?))));
    s.multiples("window_bytes", 1, acks.clone().map(window));
    s.multiples("rtt_ms", MILLI, acks.map(|a| Some(a.rtt.get()?.as_micros() as i64)));
    let acked = EncodedTable { columns: s.columns };
    let mut s = PageSheet::new(&mut bytes);
    let packets = kept.again.iter();
    s.multiples("time_s", MICRO, packets.clone().map(|a| micros(a.time)));
    s.counts("byte", packets.clone().map(|a| a.byte));
    s.counts("len", packets.clone().map(|a| a.len.into()));
    s.counts("kind", packets.map(|a| a.kind as u64));
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
