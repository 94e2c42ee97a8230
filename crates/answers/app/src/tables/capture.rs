//! The files of `longfat diagnose --out`: a row for each packet, written while the capture is read, and a row
//! for each flow, written at its end.

use crate::tables::columns::{Column, ColumnKind, File, column};
use crate::tables::sheet::{ParquetSheet, RowBlock, text};
use parquet::data_type::ByteArray;
use result::diagnosis::{CapturePlace, Cause, LimiterKind};
use result::{DIAGNOSIS_SCHEMA, Diagnosis, FlowDiagnosis};
use serde::{Deserialize, Serialize};
use std::io::{self, Write};

/// Rows per row group: a reader decodes this many at a time, and the writer buffers as many.
const GROUP_ROWS: usize = 64 * 1024;
/// Packets that are collected before they are appended to the columns.
const BATCH_PACKETS: usize = 4096;

/// A TCP packet, and the state of its flow when it passed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PacketRecord {
    /// [`FlowDiagnosis::id`] of the packet's direction.
    pub flow: u32,
    /// Time in nanoseconds since 1970.
    pub time_ns: u64,
    /// Offset of the first payload byte in its direction's stream.
    pub seq: u64,
    /// Payload bytes.
    pub len: u32,
    /// Bytes of the IP packet.
    pub ip_bytes: u32,
    /// Offset in the other direction's stream up to which the packet acknowledges.
    pub ack: u64,
    pub flags: u8,
    /// Kind of the packet: a first transmission, a retransmission, an ACK, …
    pub kind: &'static str,
    /// Bytes in flight in the packet's direction.
    pub inflight: u32,
    /// Receive window that the packet announces, in bytes; `None` where the window scale is unknown.
    pub window: Option<u32>,
    /// Round-trip time of the acknowledged segment, in µs.
    pub rtt_us: Option<u64>,
}

/// The file of all TCP packets.
pub const PACKETS: File = File {
    name: "packets.parquet",
    about: "a TCP packet of the capture, in its order",
    columns: &[
        column(
            "flow",
            ColumnKind::Int,
            "the flow of its payload, as in `flows.parquet`; the flow that it acknowledges has the number that \
             differs in the last bit",
        ),
        column("time_ns", ColumnKind::Int, "when it was captured, nanoseconds since 1970"),
        column(
            "seq",
            ColumnKind::Int,
            "offset of its first payload byte in the flow, from 0, without wrap-around",
        ),
        column("len", ColumnKind::Int, "payload bytes"),
        column("ip_bytes", ColumnKind::Int, "IP bytes on the wire"),
        column("ack", ColumnKind::Int, "offset up to which it acknowledges, in `seq` of the other flow"),
        column(
            "flags",
            ColumnKind::Int,
            "TCP flags: FIN 1, SYN 2, RST 4, PSH 8, ACK 16, URG 32, ECE 64, CWR 128",
        ),
        column(
            "kind",
            ColumnKind::Text,
            "`ack`: no payload; `data`: first transmission; retransmissions: `fast` in fast recovery, `timeout` after an RTO, \
             `probe` as tail loss probe; `reordered`: arrived late, but sent once",
        ),
        column(
            "inflight",
            ColumnKind::Int,
            "payload bytes in flight in its flow after it was sent, as the sender counts",
        ),
        column(
            "window",
            ColumnKind::IntOrNull,
            "receive window it announces, bytes, scaled; null where the window scale is unknown",
        ),
        column(
            "rtt_us",
            ColumnKind::IntOrNull,
            "round-trip time of the segment it acknowledges, µs; null where there is none",
        ),
    ],
};

/// Writes packets while a capture is read.
pub struct PacketWriter<'a> {
    sheet: ParquetSheet<'a>,
    batch: Vec<PacketRecord>,
    /// Names of packet kinds met so far, as bytes that rows share.
    kinds: Vec<(&'static str, ByteArray)>,
}

impl<'a> PacketWriter<'a> {
    /// Creates the file of the packets of the capture named `capture`.
    ///
    /// # Errors
    /// Fails when `out` fails.
    pub fn create(out: Box<dyn Write + Send + 'a>, capture: &str) -> io::Result<PacketWriter<'a>> {
        let sheet = ParquetSheet::create(out, PACKETS, &meta(capture), GROUP_ROWS)?;
        Ok(PacketWriter { sheet, batch: Vec::with_capacity(BATCH_PACKETS), kinds: Vec::new() })
    }

    /// Appends a packet.
    ///
    /// # Errors
    /// Fails when `out` fails.
    pub fn push(&mut self, packet: PacketRecord) -> io::Result<()> {
        self.batch.push(packet);
        if self.batch.len() < BATCH_PACKETS { Ok(()) } else { self.flush() }
    }

    fn flush(&mut self) -> io::Result<()> {
        let PacketWriter { sheet, batch, kinds } = self;
        sheet.add(batch.len(), |b| {
            b.ints(batch.iter().map(|p| Some(p.flow.into())));
            b.ints(batch.iter().map(|p| Some(p.time_ns as i64)));
            b.ints(batch.iter().map(|p| Some(p.seq as i64)));
            b.ints(batch.iter().map(|p| Some(p.len.into())));
            b.ints(batch.iter().map(|p| Some(p.ip_bytes.into())));
            b.ints(batch.iter().map(|p| Some(p.ack as i64)));
            b.ints(batch.iter().map(|p| Some(p.flags.into())));
            b.texts(batch.iter().map(|p| Some(shared(kinds, p.kind))));
            b.ints(batch.iter().map(|p| Some(p.inflight.into())));
            b.ints(batch.iter().map(|p| p.window.map(i64::from)));
            b.ints(batch.iter().map(|p| p.rtt_us.map(|us| us as i64)));
        })?;
        batch.clear();
        Ok(())
    }

    /// Writes the remaining packets and the footer.
    ///
    /// # Errors
    /// Fails when `out` fails.
    pub fn finish(mut self) -> io::Result<()> {
        self.flush()?;
        self.sheet.close()
    }
}

fn shared(known: &mut Vec<(&'static str, ByteArray)>, name: &'static str) -> ByteArray {
    if let Some((_, bytes)) = known.iter().find(|(n, _)| *n == name) {
        return bytes.clone();
    }
    known.push((name, text(name)));
    text(name)
}

fn meta(capture: &str) -> [(&'static str, &str); 2] {
    [("longfat.schema", DIAGNOSIS_SCHEMA), ("longfat.capture", capture)]
}

/// A value in a flow's row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum FieldValue {
    Text(Option<String>),
    Int(Option<u64>),
    Real(Option<f64>),
}

/// A column of `flows.parquet` and the source of its values.
#[derive(Clone, Copy)]
struct Field {
    column: Column,
    source: FieldSource,
}

/// The source of a column's values.
#[derive(Clone, Copy)]
enum FieldSource {
    Share(Cause),
    Value(fn(&FlowDiagnosis, &Diagnosis) -> FieldValue),
}

impl FieldSource {
    fn value(self, flow: &FlowDiagnosis, diagnosis: &Diagnosis) -> FieldValue {
        match self {
            FieldSource::Share(cause) => Real(Some(flow.share(cause))),
            FieldSource::Value(source) => source(flow, diagnosis),
        }
    }
}

const fn texts(
    name: &'static str,
    about: &'static str,
    source: fn(&FlowDiagnosis, &Diagnosis) -> FieldValue,
) -> Field {
    Field { column: column(name, ColumnKind::Text, about), source: FieldSource::Value(source) }
}

const fn ints(
    name: &'static str,
    about: &'static str,
    source: fn(&FlowDiagnosis, &Diagnosis) -> FieldValue,
) -> Field {
    Field { column: column(name, ColumnKind::Int, about), source: FieldSource::Value(source) }
}

const fn reals(
    name: &'static str,
    about: &'static str,
    source: fn(&FlowDiagnosis, &Diagnosis) -> FieldValue,
) -> Field {
    Field { column: column(name, ColumnKind::Real, about), source: FieldSource::Value(source) }
}

/// Returns the same column as nullable.
const fn or_null(field: Field) -> Field {
    let kind = match field.column.kind {
        ColumnKind::Text | ColumnKind::TextOrNull => ColumnKind::TextOrNull,
        ColumnKind::Int | ColumnKind::IntOrNull => ColumnKind::IntOrNull,
        ColumnKind::Real | ColumnKind::RealOrNull => ColumnKind::RealOrNull,
    };
    Field { column: Column { kind, ..field.column }, source: field.source }
}

use FieldValue::{Int, Real, Text};

/// The columns before the shares of the causes.
const COLUMNS_BEFORE_SHARES: [Field; 8] = [
    ints("flow", "the flow's number, `id` in `diagnosis.json`", |f, _| Int(Some(f.id.into()))),
    ints("connection", "number of the connection in the capture", |f, _| Int(Some(f.connection.into()))),
    texts("from", "the sender, `address:port`", |f, _| Text(Some(f.from.clone()))),
    texts("to", "the receiver, `address:port`", |f, _| Text(Some(f.to.clone()))),
    reals("start_s", "time of its first packet, seconds since the capture began", |f, _| {
        Real(Some(f.start_s))
    }),
    reals("duration_s", "from first data to its last ACK, seconds", |f, _| Real(Some(f.duration_s))),
    texts("cause", "main cause, as in `diagnosis.json`", |f, _| Text(Some(f.cause.name().into()))),
    reals("confidence", "probability that the cause is right, 0 to 1", |f, _| Real(Some(f.confidence))),
];

/// The columns after the shares of the causes.
const COLUMNS_AFTER_SHARES: [Field; 47] = [
    or_null(ints(
        "limiter",
        "index into `limiters` of `diagnosis.json`; null where none was found",
        |f, _| Int(f.limiter.map(|n| n as u64)),
    )),
    or_null(texts(
        "limiter_kind",
        "`policer`, `shaper` or `bottleneck`; null where none was found",
        |f, d| Text(limiter(f, d).map(|l| kind(l.kind).into())),
    )),
    or_null(reals(
        "limiter_rate_mbps",
        "the limiter's rate of IP bytes, Mbit/s; null where none was found",
        |f, d| Real(limiter(f, d).map(|l| l.rate_mbps)),
    )),
    or_null(reals("limiter_burst_bytes", "the limiter's burst size, bytes; null where unknown", |f, d| {
        Real(limiter(f, d).and_then(|l| l.burst_bytes))
    })),
    texts("place", "where the capture was taken: `sender`, `receiver`, `middle` or `unknown`", |f, _| {
        Text(Some(place(f.vantage.place).into()))
    }),
    or_null(reals(
        "to_sender_ms",
        "minimum round-trip time between capture and sender, ms; null where unknown",
        |f, _| Real(f.vantage.to_sender_ms),
    )),
    or_null(reals(
        "to_receiver_ms",
        "minimum round-trip time between capture and receiver, ms; null where unknown",
        |f, _| Real(f.vantage.to_receiver_ms),
    )),
    texts("cc", "the sender's congestion control, as inferred", |f, _| Text(Some(f.cc.name.clone()))),
    reals("cc_confidence", "probability that the congestion control is right, 0 to 1", |f, _| {
        Real(Some(f.cc.confidence))
    }),
    reals("goodput_mbps", "acknowledged payload per time, Mbit/s", |f, _| {
        Real(Some(f.measures.goodput_mbps))
    }),
    reals("max_delivery_mbps", "largest delivery rate over a round trip, Mbit/s", |f, _| {
        Real(Some(f.measures.max_delivery_mbps))
    }),
    ints("bytes", "payload bytes acknowledged", |f, _| Int(Some(f.measures.bytes))),
    ints("data_packets", "data packets on the wire", |f, _| Int(Some(f.measures.data_packets))),
    ints("mss_bytes", "payload bytes of a full segment", |f, _| Int(Some(f.measures.mss_bytes.into()))),
    or_null(reals("handshake_rtt_ms", "RTT of the handshake, ms; null where it was not captured", |f, _| {
        Real(f.measures.handshake_rtt_ms)
    })),
    reals("rtt_min_ms", "minimum RTT of data, ms", |f, _| Real(Some(f.measures.rtt_ms.min))),
    reals("rtt_mean_ms", "mean RTT of data, ms", |f, _| Real(Some(f.measures.rtt_ms.mean))),
    reals("rtt_p50_ms", "median RTT of data, ms", |f, _| Real(Some(f.measures.rtt_ms.p50))),
    reals("rtt_p95_ms", "95th percentile of the RTT of data, ms", |f, _| Real(Some(f.measures.rtt_ms.p95))),
    reals("rtt_p99_ms", "99th percentile of the RTT of data, ms", |f, _| Real(Some(f.measures.rtt_ms.p99))),
    reals("rtt_max_ms", "largest RTT of data, ms", |f, _| Real(Some(f.measures.rtt_ms.max))),
    ints("bdp_bytes", "largest delivery rate times minimum RTT, bytes", |f, _| {
        Int(Some(f.measures.bdp_bytes))
    }),
    ints("max_inflight_bytes", "largest number of bytes in flight", |f, _| {
        Int(Some(f.measures.max_inflight_bytes))
    }),
    ints("mean_inflight_bytes", "mean of the largest inflight per time bin, bytes", |f, _| {
        Int(Some(f.measures.mean_inflight_bytes))
    }),
    or_null(ints(
        "max_window_bytes",
        "largest receive window, bytes; null where the window scale is unknown",
        |f, _| Int(f.measures.max_window_bytes),
    )),
    ints("retransmitted_packets", "packets retransmitted", |f, _| {
        Int(Some(f.measures.retransmitted_packets))
    }),
    ints("fast", "packets retransmitted in fast recovery", |f, _| Int(Some(f.measures.fast))),
    ints("rto", "packets retransmitted after a timeout", |f, _| Int(Some(f.measures.rto))),
    ints("tlp", "retransmissions that are tail loss probes", |f, _| Int(Some(f.measures.tlp))),
    ints("spurious", "spurious retransmissions", |f, _| Int(Some(f.measures.spurious))),
    ints("timeouts", "retransmission timeouts", |f, _| Int(Some(f.measures.timeouts))),
    ints("lost_up", "packets lost before the capture", |f, _| Int(Some(f.measures.lost_up))),
    ints("lost_down", "packets lost after the capture", |f, _| Int(Some(f.measures.lost_down))),
    ints("reordered", "packets reordered before the capture", |f, _| Int(Some(f.measures.reordered))),
    reals("reordered_by_ms", "largest delay of a reordered packet, ms", |f, _| {
        Real(Some(f.measures.reordered_by_ms))
    }),
    ints("acks", "ACKs", |f, _| Int(Some(f.measures.acks))),
    ints("dup_acks", "duplicate ACKs", |f, _| Int(Some(f.measures.dup_acks))),
    ints("zero_windows", "number of times that the receive window closed", |f, _| {
        Int(Some(f.measures.zero_windows))
    }),
    reals("idle_s", "seconds with no data in flight", |f, _| Real(Some(f.measures.idle_s))),
    reals("timeout_s", "seconds spent waiting for timeouts", |f, _| Real(Some(f.measures.timeout_s))),
    ints("largest_burst_bytes", "bytes of the largest back-to-back burst", |f, _| {
        Int(Some(f.measures.largest_burst_bytes))
    }),
    ints("mean_burst_bytes", "mean size of bursts, bytes", |f, _| Int(Some(f.measures.mean_burst_bytes))),
    ints("too_big", "full segments lost repeatedly while small ones passed", |f, _| {
        Int(Some(f.measures.too_big))
    }),
    ints("ce", "data packets marked before the capture (ECN)", |f, _| Int(Some(f.measures.ce))),
    ints("ece", "ACKs that echo a mark (ECE)", |f, _| Int(Some(f.measures.ece))),
    ints("ecn", "1: both ends agreed on ECN, 0: they did not", |f, _| Int(Some(f.measures.ecn.into()))),
    texts("notes", "limits of the measurements: codes of `diagnosis.json`, separated by blanks", |f, _| {
        Text(Some(f.notes.join(" ")))
    }),
];

/// The share of each cause, in the registry's order.
const SHARES: [Field; Cause::ALL.len()] = {
    let mut all = [COLUMNS_BEFORE_SHARES[0]; Cause::ALL.len()];
    let mut i = 0;
    while i < all.len() {
        let (name, about) = Cause::ALL[i].share_column();
        all[i] = Field {
            column: column(name, ColumnKind::Real, about),
            source: FieldSource::Share(Cause::ALL[i]),
        };
        i += 1;
    }
    all
};

const FIELDS: [Field; COLUMNS_BEFORE_SHARES.len() + SHARES.len() + COLUMNS_AFTER_SHARES.len()] = {
    let mut all =
        [COLUMNS_BEFORE_SHARES[0]; COLUMNS_BEFORE_SHARES.len() + SHARES.len() + COLUMNS_AFTER_SHARES.len()];
    let mut i = 0;
    while i < all.len() {
        let (shares, rest) = (COLUMNS_BEFORE_SHARES.len(), COLUMNS_BEFORE_SHARES.len() + SHARES.len());
        all[i] = if i < shares {
            COLUMNS_BEFORE_SHARES[i]
        } else if i < rest {
            SHARES[i - shares]
        } else {
            COLUMNS_AFTER_SHARES[i - rest]
        };
        i += 1;
    }
    all
};

const COLUMNS: [Column; FIELDS.len()] = {
    let mut all = [FIELDS[0].column; FIELDS.len()];
    let mut i = 0;
    while i < all.len() {
        all[i] = FIELDS[i].column;
        i += 1;
    }
    all
};

/// The file of flows, one row each.
pub const FLOW_DIAGNOSES: File =
    File { name: "flows.parquet", about: "a flow of the capture", columns: &COLUMNS };

/// The files of a diagnosed capture.
pub const CAPTURE_FILES: [File; 2] = [PACKETS, FLOW_DIAGNOSES];

fn limiter<'a>(f: &FlowDiagnosis, d: &'a Diagnosis) -> Option<&'a result::diagnosis::Limiter> {
    d.limiters.get(f.limiter?)
}

fn kind(kind: LimiterKind) -> &'static str {
    match kind {
        LimiterKind::Policer => "policer",
        LimiterKind::Shaper => "shaper",
        LimiterKind::Bottleneck => "bottleneck",
    }
}

fn place(place: CapturePlace) -> &'static str {
    match place {
        CapturePlace::Sender => "sender",
        CapturePlace::Receiver => "receiver",
        CapturePlace::Middle => "middle",
        CapturePlace::Unknown => "unknown",
    }
}

/// Writes [`FLOW_DIAGNOSES`] to `out`, a row for each flow.
///
/// # Errors
/// Fails when `out` fails.
pub fn write_flow_diagnoses(out: &mut (dyn Write + Send), diagnosis: &Diagnosis) -> io::Result<()> {
    let mut sheet = ParquetSheet::create(out, FLOW_DIAGNOSES, &meta(&diagnosis.capture.file), GROUP_ROWS)?;
    for flows in diagnosis.flows.chunks(GROUP_ROWS) {
        sheet.add(flows.len(), |b| FIELDS.iter().for_each(|field| fill(b, field, flows, diagnosis)))?;
    }
    sheet.close()
}

/// Returns the rows of [`write_flow_diagnoses`]: for each flow, a value for each column of
/// [`FLOW_DIAGNOSES`].
pub fn flow_values(diagnosis: &Diagnosis) -> Vec<Vec<FieldValue>> {
    let row = |flow| FIELDS.iter().map(|field| field.source.value(flow, diagnosis)).collect();
    diagnosis.flows.iter().map(row).collect()
}

fn fill(b: &mut RowBlock, field: &Field, flows: &[FlowDiagnosis], d: &Diagnosis) {
    let values = flows.iter().map(|f| field.source.value(f, d));
    match field.column.kind {
        ColumnKind::Text | ColumnKind::TextOrNull => b.texts(values.map(|v| match v {
            Text(v) => v.as_deref().map(text),
            _ => None,
        })),
        ColumnKind::Int | ColumnKind::IntOrNull => b.ints(values.map(|v| match v {
            Int(v) => v.map(|n| n as i64),
            _ => None,
        })),
        ColumnKind::Real | ColumnKind::RealOrNull => {
            let real = |v| match v {
                Real(v) => v.unwrap_or(f64::NAN),
                _ => f64::NAN,
            };
            b.reals(&values.map(real).collect::<Vec<_>>());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::Field as Read;
    use result::diagnosis::{CauseShare, Limiter};

    fn rows(bytes: Vec<u8>) -> (usize, Vec<Vec<(String, Read)>>) {
        let reader = SerializedFileReader::new(bytes::Bytes::from(bytes)).unwrap();
        let rows = reader.get_row_iter(None).unwrap().map(|row| row.unwrap().into_columns()).collect();
        (reader.num_row_groups(), rows)
    }

    fn words(row: &[(String, Read)]) -> String {
        row.iter().map(|(_, field)| field.to_string()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn packets_read_back_in_order_with_nulls_for_unknown_values() {
        let mut file = Vec::new();
        let mut writer = PacketWriter::create(Box::new(&mut file), "a.pcap").unwrap();
        let n = GROUP_ROWS + BATCH_PACKETS + 7;
        for i in 0..n as u64 {
            let known = i % 2 == 0;
            let packet = PacketRecord {
                flow: (i % 2) as u32,
                time_ns: 1_700_000_000_000_000_000 + i,
                seq: i << 33,
                len: 1448,
                kind: if known { "data" } else { "fast" },
                window: known.then_some(65_535),
                rtt_us: known.then_some(31_000),
                ..PacketRecord::default()
            };
            writer.push(packet).unwrap();
        }
        writer.finish().unwrap();
        let (groups, rows) = rows(file);
        assert_eq!((groups, rows.len()), (2, n));
        assert_eq!(words(&rows[0]), r#"0 1700000000000000000 0 1448 0 0 0 "data" 0 65535 31000"#);
        assert_eq!(words(&rows[1]), r#"1 1700000000000000001 8589934592 1448 0 0 0 "fast" 0 null null"#);
    }

    #[test]
    fn every_flow_has_a_row_with_its_own_values() {
        let share = |cause, share| CauseShare { cause, share, seconds: 10.0 * share };
        let mut policed = FlowDiagnosis {
            id: 4,
            connection: 2,
            cause: Cause::Policed,
            causes: vec![share(Cause::Policed, 0.75), share(Cause::SlowStart, 0.25)],
            limiter: Some(0),
            notes: vec!["no-handshake".into(), "one-way".into()],
            ..FlowDiagnosis::default()
        };
        policed.measures.goodput_mbps = 4.25;
        // An index without a limiter means no limiter.
        let lost = FlowDiagnosis { id: 6, limiter: Some(9), ..FlowDiagnosis::default() };
        let limiter = Limiter { kind: LimiterKind::Policer, rate_mbps: 20.0, ..Limiter::default() };
        let d = Diagnosis { limiters: vec![limiter], flows: vec![policed, lost], ..Diagnosis::default() };
        let mut file = Vec::new();
        write_flow_diagnoses(&mut file, &d).unwrap();
        let (_, rows) = rows(file);
        let value = |row: usize, name: &str| rows[row].iter().find(|(n, _)| n == name).unwrap().1.to_string();
        assert_eq!(rows.len(), 2);
        assert_eq!(
            (value(0, "flow"), value(0, "cause"), value(0, "notes")),
            ("4".into(), "\"policed\"".into(), "\"no-handshake one-way\"".into())
        );
        assert_eq!(
            (value(0, "share_policed"), value(0, "share_slow_start"), value(0, "share_outage")),
            ("0.75".into(), "0.25".into(), "0E0".into())
        );
        assert_eq!(
            (value(0, "goodput_mbps"), value(0, "limiter_rate_mbps"), value(0, "limiter_burst_bytes")),
            ("4.25".into(), "20.0".into(), "null".into())
        );
        assert_eq!(
            (value(1, "limiter"), value(1, "limiter_kind"), value(1, "handshake_rtt_ms")),
            ("9".into(), "null".into(), "null".into())
        );
    }

    #[test]
    fn each_cause_has_a_share_column() {
        for cause in Cause::ALL {
            let name = format!("share_{}", cause.name().replace('-', "_"));
            let field = FIELDS.iter().find(|f| f.column.name == name).unwrap_or_else(|| panic!("{name}"));
            let causes = vec![CauseShare { cause, share: 0.5, seconds: 1.0 }];
            let flow = FlowDiagnosis { causes, ..FlowDiagnosis::default() };
            assert!(matches!(field.source.value(&flow, &Diagnosis::default()), Real(Some(0.5))), "{name}");
        }
    }
}
