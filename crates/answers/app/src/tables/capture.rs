//! What `longfat diagnose --out` writes: every packet while the capture is read, and a row for each flow at its end.

use crate::tables::columns::{Column, ColumnKind, File, column};
use crate::tables::sheet::{ParquetSheet, RowBlock, text};
use parquet::data_type::ByteArray;
use result::diagnosis::{CapturePlace, Cause, LimiterKind};
use result::{DIAGNOSIS_SCHEMA, Diagnosis, FlowDiagnosis};
use serde::{Deserialize, Serialize};
use std::io::{self, Write};

/// Rows of a row group: readers take these at a time, and so much memory a writer has.
const GROUP_ROWS: usize = 64 * 1024;
/// Packets gathered before they become columns.
const BATCH: usize = 4096;

/// A TCP packet with what was known when it passed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PacketRecord {
    /// [`FlowDiagnosis::id`] of the direction it travels in.
    pub flow: u32,
    /// Nanoseconds since 1970.
    pub time_ns: u64,
    /// First payload byte, the connection's first in this direction is 0.
    pub seq: u64,
    /// Payload bytes.
    pub len: u32,
    /// IP bytes.
    pub ip_bytes: u32,
    /// What it acknowledges of the other direction.
    pub ack: u64,
    /// TCP flags.
    pub flags: u8,
    /// What it is.
    pub kind: &'static str,
    /// Bytes in flight of its own direction.
    pub inflight: u32,
    /// The receive window it announces, bytes; `None` where the scale is not known.
    pub window: Option<u32>,
    /// RTT of what it acknowledges, µs.
    pub rtt_us: Option<u64>,
}

/// Every TCP packet.
pub const PACKETS: File = File {
    name: "packets.parquet",
    about: "a TCP packet of the capture, in its order",
    columns: &[
        column(
            "flow",
            ColumnKind::Int,
            "the flow its payload is of, as in `flows.parquet`; what it acknowledges is of the flow whose number \
             differs in the last bit",
        ),
        column("time_ns", ColumnKind::Int, "when it was captured, nanoseconds since 1970"),
        column(
            "seq",
            ColumnKind::Int,
            "its first payload byte; the flow's first is 0, and no wrap-around is left in it",
        ),
        column("len", ColumnKind::Int, "payload bytes"),
        column("ip_bytes", ColumnKind::Int, "IP bytes on the wire"),
        column("ack", ColumnKind::Int, "what it acknowledges, counted as `seq` of the other flow"),
        column(
            "flags",
            ColumnKind::Int,
            "TCP flags: FIN 1, SYN 2, RST 4, PSH 8, ACK 16, URG 32, ECE 64, CWR 128",
        ),
        column(
            "kind",
            ColumnKind::Text,
            "`ack` without payload, `data` sent first; sent again: `fast` in fast recovery, `timeout` after one, \
             `probe` for a lost tail; `reordered` came late, but once",
        ),
        column(
            "inflight",
            ColumnKind::Int,
            "payload bytes of its flow in flight after it, as the sender sees it",
        ),
        column(
            "window",
            ColumnKind::IntOrNull,
            "receive window it announces, bytes, scaled; null where the scale is not known",
        ),
        column("rtt_us", ColumnKind::IntOrNull, "round-trip time of what it acknowledges, µs; null for none"),
    ],
};

/// Writes packets as they come.
pub struct PacketWriter<'a> {
    sheet: ParquetSheet<'a>,
    batch: Vec<PacketRecord>,
    /// Kinds' names met so far: bytes that rows share.
    kinds: Vec<(&'static str, ByteArray)>,
}

impl<'a> PacketWriter<'a> {
    /// A file of the packets of `capture`, its name.
    ///
    /// # Errors
    /// As `out`'s.
    pub fn create(out: Box<dyn Write + Send + 'a>, capture: &str) -> io::Result<PacketWriter<'a>> {
        let sheet = ParquetSheet::create(out, PACKETS, &meta(capture), GROUP_ROWS)?;
        Ok(PacketWriter { sheet, batch: Vec::with_capacity(BATCH), kinds: Vec::new() })
    }

    /// Adds one.
    ///
    /// # Errors
    /// As `out`'s.
    pub fn push(&mut self, packet: PacketRecord) -> io::Result<()> {
        self.batch.push(packet);
        if self.batch.len() < BATCH { Ok(()) } else { self.flush() }
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

    /// Writes what is left and the footer.
    ///
    /// # Errors
    /// As `out`'s.
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

/// A value of a flow's row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum FieldValue {
    /// A text.
    Text(Option<String>),
    /// A whole number.
    Int(Option<u64>),
    /// A number.
    Real(Option<f64>),
}

/// A column of `flows.parquet` and where its values come from.
#[derive(Clone, Copy)]
struct Field {
    column: Column,
    of: FieldSource,
}

/// Where a flow's value comes from.
#[derive(Clone, Copy)]
enum FieldSource {
    Share(Cause),
    Value(fn(&FlowDiagnosis, &Diagnosis) -> FieldValue),
}

impl FieldSource {
    fn value(self, flow: &FlowDiagnosis, diagnosis: &Diagnosis) -> FieldValue {
        match self {
            FieldSource::Share(cause) => Real(Some(flow.share(cause))),
            FieldSource::Value(of) => of(flow, diagnosis),
        }
    }
}

const fn texts(
    name: &'static str,
    about: &'static str,
    of: fn(&FlowDiagnosis, &Diagnosis) -> FieldValue,
) -> Field {
    Field { column: column(name, ColumnKind::Text, about), of: FieldSource::Value(of) }
}

const fn ints(
    name: &'static str,
    about: &'static str,
    of: fn(&FlowDiagnosis, &Diagnosis) -> FieldValue,
) -> Field {
    Field { column: column(name, ColumnKind::Int, about), of: FieldSource::Value(of) }
}

const fn reals(
    name: &'static str,
    about: &'static str,
    of: fn(&FlowDiagnosis, &Diagnosis) -> FieldValue,
) -> Field {
    Field { column: column(name, ColumnKind::Real, about), of: FieldSource::Value(of) }
}

/// The same column, but it may be null.
const fn or_null(field: Field) -> Field {
    let kind = match field.column.kind {
        ColumnKind::Text | ColumnKind::TextOrNull => ColumnKind::TextOrNull,
        ColumnKind::Int | ColumnKind::IntOrNull => ColumnKind::IntOrNull,
        ColumnKind::Real | ColumnKind::RealOrNull => ColumnKind::RealOrNull,
    };
    Field { column: Column { kind, ..field.column }, of: field.of }
}

use FieldValue::{Int, Real, Text};

/// What goes before the causes' shares.
const HEAD: [Field; 8] = [
    ints("flow", "the flow's number, `id` in `diagnosis.json`", |f, _| Int(Some(f.id.into()))),
    ints("connection", "number of the connection in the capture", |f, _| Int(Some(f.connection.into()))),
    texts("from", "the sender, `address:port`", |f, _| Text(Some(f.from.clone()))),
    texts("to", "the receiver", |f, _| Text(Some(f.to.clone()))),
    reals("start_s", "its first packet, seconds since the capture began", |f, _| Real(Some(f.start_s))),
    reals("duration_s", "from first data to its last ACK, seconds", |f, _| Real(Some(f.duration_s))),
    texts("cause", "main cause, as in `diagnosis.json`", |f, _| Text(Some(f.cause.name().into()))),
    reals("confidence", "how sure, 0 to 1", |f, _| Real(Some(f.confidence))),
];

/// What follows the shares.
const REST: [Field; 47] = [
    or_null(ints("limiter", "index into `limiters` of `diagnosis.json`; null: none was found", |f, _| {
        Int(f.limiter.map(|n| n as u64))
    })),
    or_null(texts("limiter_kind", "`policer`, `shaper` or `bottleneck`; null as above", |f, d| {
        Text(limiter(f, d).map(|l| kind(l.kind).into()))
    })),
    or_null(reals("limiter_rate_mbps", "its rate of IP bytes, Mbit/s; null as above", |f, d| {
        Real(limiter(f, d).map(|l| l.rate_mbps))
    })),
    or_null(reals("limiter_burst_bytes", "its bucket, bytes; null where not known", |f, d| {
        Real(limiter(f, d).and_then(|l| l.burst_bytes))
    })),
    texts("place", "where the capture was taken: `sender`, `receiver`, `middle` or `unknown`", |f, _| {
        Text(Some(place(f.vantage.place).into()))
    }),
    or_null(reals("to_sender_ms", "least time to the sender and back, ms; null where not known", |f, _| {
        Real(f.vantage.to_sender_ms)
    })),
    or_null(reals(
        "to_receiver_ms",
        "least time to the receiver and back, ms; null where not known",
        |f, _| Real(f.vantage.to_receiver_ms),
    )),
    texts("cc", "the sender's congestion control, as it seems", |f, _| Text(Some(f.cc.name.clone()))),
    reals("cc_confidence", "how sure, 0 to 1", |f, _| Real(Some(f.cc.confidence))),
    reals("goodput_mbps", "payload acknowledged over its time, Mbit/s", |f, _| {
        Real(Some(f.measures.goodput_mbps))
    }),
    reals("max_delivery_mbps", "greatest delivery rate over a round trip, Mbit/s", |f, _| {
        Real(Some(f.measures.max_delivery_mbps))
    }),
    ints("bytes", "payload bytes acknowledged", |f, _| Int(Some(f.measures.bytes))),
    ints("data_packets", "data packets on the wire", |f, _| Int(Some(f.measures.data_packets))),
    ints("mss_bytes", "payload bytes of a full segment", |f, _| Int(Some(f.measures.mss_bytes.into()))),
    or_null(reals("handshake_rtt_ms", "RTT of the handshake, ms; null where it was not seen", |f, _| {
        Real(f.measures.handshake_rtt_ms)
    })),
    reals("rtt_min_ms", "RTT of data, ms: least", |f, _| Real(Some(f.measures.rtt_ms.min))),
    reals("rtt_mean_ms", "mean", |f, _| Real(Some(f.measures.rtt_ms.mean))),
    reals("rtt_p50_ms", "median", |f, _| Real(Some(f.measures.rtt_ms.p50))),
    reals("rtt_p95_ms", "95th percentile", |f, _| Real(Some(f.measures.rtt_ms.p95))),
    reals("rtt_p99_ms", "99th percentile", |f, _| Real(Some(f.measures.rtt_ms.p99))),
    reals("rtt_max_ms", "greatest", |f, _| Real(Some(f.measures.rtt_ms.max))),
    ints("bdp_bytes", "greatest delivery rate times least RTT, bytes", |f, _| {
        Int(Some(f.measures.bdp_bytes))
    }),
    ints("max_inflight_bytes", "most bytes in flight", |f, _| Int(Some(f.measures.max_inflight_bytes))),
    ints("mean_inflight_bytes", "mean of each bin's most, bytes", |f, _| {
        Int(Some(f.measures.mean_inflight_bytes))
    }),
    or_null(ints(
        "max_window_bytes",
        "greatest receive window, bytes; null where its scale is not known",
        |f, _| Int(f.measures.max_window_bytes),
    )),
    ints("retransmitted_packets", "packets sent again", |f, _| Int(Some(f.measures.retransmitted_packets))),
    ints("fast", "of them in fast recovery", |f, _| Int(Some(f.measures.fast))),
    ints("rto", "after a timeout", |f, _| Int(Some(f.measures.rto))),
    ints("tlp", "tail loss probes", |f, _| Int(Some(f.measures.tlp))),
    ints("spurious", "needless", |f, _| Int(Some(f.measures.spurious))),
    ints("timeouts", "timeouts", |f, _| Int(Some(f.measures.timeouts))),
    ints("lost_up", "packets lost before the capture", |f, _| Int(Some(f.measures.lost_up))),
    ints("lost_down", "packets lost behind it", |f, _| Int(Some(f.measures.lost_down))),
    ints("reordered", "packets reordered before the capture", |f, _| Int(Some(f.measures.reordered))),
    reals("reordered_by_ms", "the most by which one was late, ms", |f, _| {
        Real(Some(f.measures.reordered_by_ms))
    }),
    ints("acks", "ACKs", |f, _| Int(Some(f.measures.acks))),
    ints("dup_acks", "duplicate ACKs", |f, _| Int(Some(f.measures.dup_acks))),
    ints("zero_windows", "times the window closed", |f, _| Int(Some(f.measures.zero_windows))),
    reals("idle_s", "seconds with nothing outstanding", |f, _| Real(Some(f.measures.idle_s))),
    reals("timeout_s", "seconds waiting for timeouts", |f, _| Real(Some(f.measures.timeout_s))),
    ints("largest_burst_bytes", "bytes of the largest burst back to back", |f, _| {
        Int(Some(f.measures.largest_burst_bytes))
    }),
    ints("mean_burst_bytes", "mean of bursts, bytes", |f, _| Int(Some(f.measures.mean_burst_bytes))),
    ints("too_big", "full segments lost again and again while small ones passed", |f, _| {
        Int(Some(f.measures.too_big))
    }),
    ints("ce", "data packets marked before the capture (ECN)", |f, _| Int(Some(f.measures.ce))),
    ints("ece", "ACKs that echo a mark", |f, _| Int(Some(f.measures.ece))),
    ints("ecn", "1: both ends agreed on ECN, 0: they did not", |f, _| Int(Some(f.measures.ecn.into()))),
    texts(
        "notes",
        "how far the numbers can be trusted: codes of `diagnosis.json` with blanks between",
        |f, _| Text(Some(f.notes.join(" "))),
    ),
];

/// The share of each cause, by the registry.
const SHARES: [Field; Cause::ALL.len()] = {
    let mut all = [HEAD[0]; Cause::ALL.len()];
    let mut i = 0;
    while i < all.len() {
        let (name, about) = Cause::ALL[i].share_column();
        all[i] =
            Field { column: column(name, ColumnKind::Real, about), of: FieldSource::Share(Cause::ALL[i]) };
        i += 1;
    }
    all
};

const FIELDS: [Field; HEAD.len() + SHARES.len() + REST.len()] = {
    let mut all = [HEAD[0]; HEAD.len() + SHARES.len() + REST.len()];
    let mut i = 0;
    while i < all.len() {
        let (shares, rest) = (HEAD.len(), HEAD.len() + SHARES.len());
        all[i] = if i < shares {
            HEAD[i]
        } else if i < rest {
            SHARES[i - shares]
        } else {
            REST[i - rest]
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

/// One row a flow.
pub const FLOW_DIAGNOSES: File =
    File { name: "flows.parquet", about: "a flow of the capture", columns: &COLUMNS };

/// Both files.
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

/// Writes a row for each flow to `out` ([`FLOW_DIAGNOSES`]).
///
/// # Errors
/// As `out`'s.
pub fn write_flow_diagnoses(out: &mut (dyn Write + Send), diagnosis: &Diagnosis) -> io::Result<()> {
    let mut sheet = ParquetSheet::create(out, FLOW_DIAGNOSES, &meta(&diagnosis.capture.file), GROUP_ROWS)?;
    for flows in diagnosis.flows.chunks(GROUP_ROWS) {
        sheet.add(flows.len(), |b| FIELDS.iter().for_each(|field| fill(b, field, flows, diagnosis)))?;
    }
    sheet.close()
}

/// The rows of [`write_flow_diagnoses`], a value for each column of [`FLOW_DIAGNOSES`].
pub fn flow_values(diagnosis: &Diagnosis) -> Vec<Vec<FieldValue>> {
    let row = |flow| FIELDS.iter().map(|field| field.of.value(flow, diagnosis)).collect();
    diagnosis.flows.iter().map(row).collect()
}

fn fill(b: &mut RowBlock, field: &Field, flows: &[FlowDiagnosis], d: &Diagnosis) {
    let values = flows.iter().map(|f| field.of.value(f, d));
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
    fn packets_read_back_in_their_order_with_nulls_where_nothing_is_known() {
        let mut file = Vec::new();
        let mut writer = PacketWriter::create(Box::new(&mut file), "a.pcap").unwrap();
        let n = GROUP_ROWS + BATCH + 7;
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
    fn every_flow_has_a_row_and_every_column_its_own_value() {
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
        // A limiter that is not there is none.
        let lost = FlowDiagnosis { id: 6, limiter: Some(9), ..FlowDiagnosis::default() };
        let limiter = Limiter { kind: LimiterKind::Policer, rate_mbps: 20.0, ..Limiter::default() };
        let d = Diagnosis { limiters: vec![limiter], flows: vec![policed, lost], ..Diagnosis::default() };
        let mut file = Vec::new();
        write_flow_diagnoses(&mut file, &d).unwrap();
        let (_, rows) = rows(file);
        let of = |row: usize, name: &str| rows[row].iter().find(|(n, _)| n == name).unwrap().1.to_string();
        assert_eq!(rows.len(), 2);
        assert_eq!(
            (of(0, "flow"), of(0, "cause"), of(0, "notes")),
            ("4".into(), "\"policed\"".into(), "\"no-handshake one-way\"".into())
        );
        assert_eq!(
            (of(0, "share_policed"), of(0, "share_slow_start"), of(0, "share_outage")),
            ("0.75".into(), "0.25".into(), "0E0".into())
        );
        assert_eq!(
            (of(0, "goodput_mbps"), of(0, "limiter_rate_mbps"), of(0, "limiter_burst_bytes")),
            ("4.25".into(), "20.0".into(), "null".into())
        );
        assert_eq!(
            (of(1, "limiter"), of(1, "limiter_kind"), of(1, "handshake_rtt_ms")),
            ("9".into(), "null".into(), "null".into())
        );
    }

    #[test]
    fn each_cause_has_its_column() {
        for cause in Cause::ALL {
            let name = format!("share_{}", cause.name().replace('-', "_"));
            let field = FIELDS.iter().find(|f| f.column.name == name).unwrap_or_else(|| panic!("{name}"));
            let causes = vec![CauseShare { cause, share: 0.5, seconds: 1.0 }];
            let flow = FlowDiagnosis { causes, ..FlowDiagnosis::default() };
            assert!(matches!(field.of.value(&flow, &Diagnosis::default()), Real(Some(0.5))), "{name}");
        }
    }
}
