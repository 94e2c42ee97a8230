//! Generates a synthetic capture's diagnosis for tests and benches of the page: `cargo run -p longfat-app
//! --example capture -- DIR [PACKETS] [FILE-NAME]` writes `report.html`, `diagnosis.json`, `flows.parquet`
//! and `packets.parquet`. The flows follow AIMD, lose packets, time out, wait for the application and fill
//! their receive window. Their reported causes are those that the generator applied.

use app::tables::{PacketRecord, PacketWriter, write_flow_diagnoses};
use report::Lang;
use report::diagnosis::{MOST_ROWS, Rows, page};
use result::diagnosis::*;
use result::{Cause, Diagnosis, FlowDiagnosis, Histogram, RttSummary};
use std::fs::{self, File};
use std::io;
use std::path::Path;
use track::{PacketKind, PacketRecorder, PacketRow};
use units::{Span, Time};

/// 2025-10-09, so that times have as many digits as real ones.
const START: u64 = 1_760_000_000_000_000_000;
const MSS: u32 = 1448;
const ACK: u8 = 0x10;
const RTT: f64 = 0.030;

/// A flow that is being generated.
struct FlowGenerator {
    connection: u32,
    cause: Cause,
    rows: Vec<PacketRow>,
    seed: u64,
    diagnosis: FlowDiagnosis,
    rtt: Histogram,
}

impl FlowGenerator {
    fn new(connection: u32, cause: Cause, start_s: f64) -> FlowGenerator {
        let diagnosis = FlowDiagnosis {
            id: FlowDiagnosis::number(connection, true),
            connection,
            from: format!("10.0.0.1:{}", 40_000 + connection),
            to: if connection % 3 == 2 { "[2001:db8::2]:443".into() } else { "10.0.0.2:5201".into() },
            start_s,
            cause,
            confidence: 0.9,
            cc: Guess { name: "cubic".into(), confidence: 0.8 },
            vantage: Vantage {
                place: CapturePlace::Sender,
                to_sender_ms: Some(0.1),
                to_receiver_ms: Some(29.9),
            },
            ..FlowDiagnosis::default()
        };
        FlowGenerator {
            connection,
            cause,
            rows: Vec::new(),
            seed: u64::from(connection) + 1,
            diagnosis,
            rtt: Histogram::default(),
        }
    }

    /// Returns a random number from 0 to 1 (xorshift).
    fn random(&mut self) -> f64 {
        self.seed ^= self.seed << 13;
        self.seed ^= self.seed >> 7;
        self.seed ^= self.seed << 17;
        (self.seed >> 11) as f64 / (1u64 << 53) as f64
    }

    fn row(&mut self, at: f64, from_opener: bool) -> PacketRow {
        let time = Time::from_nanos(START + (at * 1e9) as u64);
        PacketRow {
            connection: self.connection,
            from_opener,
            time,
            flags: ACK,
            ip_bytes: 52,
            ..PacketRow::default()
        }
    }

    /// Generates round trips of one window each, until `packets` are sent or the capture ends.
    fn generate(mut self, packets: u64, until: f64) -> FlowGenerator {
        let start = self.diagnosis.start_s;
        let (mut now, mut window, mut seq, mut sent) = (start, 10.0_f64, 0u64, 0u64);
        let mut spans: Vec<CauseSpan> = Vec::new();
        let mut add_span = |from: f64, to: f64, cause: Cause| match spans.last_mut() {
            Some(last) if last.cause == cause => last.to_s = to,
            _ => spans.push(CauseSpan { from_s: from, to_s: to, cause }),
        };
        let mut slow = true;
        while sent < packets && now < until {
            let n = (window as u64).clamp(1, 400).min(packets - sent);
            let queue = if self.cause == Cause::Shaped { 0.04 } else { 0.002 * self.random() };
            let round = RTT + queue;
            let lost = self.cause == Cause::Policed && window > 60.0 && self.random() < 0.6;
            for i in 0..n {
                let at = now + i as f64 * round / n as f64;
                let again = lost && i % 7 == 3;
                let mut data = self.row(at, true);
                (data.seq, data.len, data.ip_bytes) = (seq, MSS, MSS + 52);
                (data.inflight, data.kind) = ((n - i / 2) as u32 * MSS, PacketKind::Data);
                self.rows.push(data);
                seq += u64::from(MSS);
                if again {
                    data.time += Span::from_secs_f64(round);
                    data.kind = if i % 2 == 1 { PacketKind::Fast } else { PacketKind::Timeout };
                    self.rows.push(data);
                    self.diagnosis.measures.lost_down += 1;
                }
                if i % 2 == 1 {
                    let mut ack = self.row(at + round, false);
                    (ack.ack, ack.window) =
                        (seq, Some(if self.cause == Cause::ReceiveWindow { 90_000 } else { 3 << 20 }));
                    ack.rtt = (!again).then(|| Span::from_secs_f64(round));
                    self.rtt.record(Span::from_secs_f64(round));
                    self.rows.push(ack);
                }
            }
            sent += n;
            let idle = self.cause == Cause::Application && self.random() < 0.3;
            let held = if slow { Cause::SlowStart } else { self.cause };
            add_span(now, now + round, held);
            now += round;
            if idle {
                add_span(now, now + 0.2, Cause::Application);
                now += 0.2;
            }
            slow &= !lost && window < 60.0;
            let top = if self.cause == Cause::ReceiveWindow { 62.0 } else { 120.0 };
            window =
                if lost { window * 0.7 } else { (window * if slow { 2.0 } else { 1.01 } + 0.5).min(top) };
        }
        self.finish(spans, now - start)
    }

    fn finish(mut self, timeline: Vec<CauseSpan>, duration: f64) -> FlowGenerator {
        let rtt = RttSummary::of(&self.rtt);
        let d = &mut self.diagnosis;
        d.duration_s = duration;
        for cause in Cause::ALL {
            let seconds: f64 = timeline.iter().filter(|s| s.cause == cause).map(|s| s.to_s - s.from_s).sum();
            if seconds > 0.0 {
                d.causes.push(CauseShare { cause, share: seconds / duration, seconds });
            }
        }
        d.causes.sort_by(|a, b| b.share.total_cmp(&a.share));
        d.cause = d.causes.first().map_or(self.cause, |c| c.cause);
        d.timeline = timeline;
        d.timeline.truncate(300);
        let kinds = |k: PacketKind| self.rows.iter().filter(|r| r.kind == k && r.len > 0).count() as u64;
        let m = &mut d.measures;
        (m.fast, m.rto) = (kinds(PacketKind::Fast), kinds(PacketKind::Timeout));
        m.retransmitted_packets = m.fast + m.rto;
        m.data_packets = kinds(PacketKind::Data) + m.retransmitted_packets;
        m.bytes = kinds(PacketKind::Data) * u64::from(MSS);
        m.acks = self.rows.iter().filter(|r| !r.from_opener).count() as u64;
        m.goodput_mbps = m.bytes as f64 * 8e-6 / duration;
        m.max_delivery_mbps = 1.8 * m.goodput_mbps;
        m.mss_bytes = MSS;
        m.rtt_ms = rtt;
        m.bdp_bytes = (m.max_delivery_mbps * RTT * 125_000.0) as u64;
        m.max_inflight_bytes = self.rows.iter().map(|r| u64::from(r.inflight)).max().unwrap_or(0);
        m.mean_inflight_bytes = m.max_inflight_bytes / 2;
        m.max_window_bytes = Some(if self.cause == Cause::ReceiveWindow { 90_000 } else { 3 << 20 });
        self
    }
}

fn diagnosis(generators: &[FlowGenerator], file: &str) -> Diagnosis {
    let mut flows: Vec<FlowDiagnosis> = generators.iter().map(|m| m.diagnosis.clone()).collect();
    flows.sort_by_key(|f| std::cmp::Reverse(f.measures.bytes));
    let policer = Limiter {
        kind: LimiterKind::Policer,
        rate_mbps: 20.0,
        burst_bytes: Some(625_000.0),
        lost_share: 0.031,
        confidence: 0.9,
        ..Limiter::default()
    };
    let shaper = Limiter { kind: LimiterKind::Shaper, queue_ms: Some(40.0), ..policer.clone() };
    for f in &mut flows {
        f.limiter = match f.cause {
            Cause::Policed => Some(0),
            Cause::Shaped => Some(1),
            _ => None,
        };
    }
    let packets = generators.iter().map(|m| m.rows.len() as u64).sum();
    let capture = CaptureInfo {
        file: file.into(),
        format: "pcap".into(),
        links: vec!["ethernet".into()],
        start_s: START as f64 / 1e9,
        duration_s: flows.iter().map(|f| f.start_s + f.duration_s).fold(0.0, f64::max),
        packets,
        tcp_packets: packets,
        connections: generators.len() as u64,
        dropped: Some(12),
        ..CaptureInfo::default()
    };
    Diagnosis {
        schema: result::DIAGNOSIS_SCHEMA.into(),
        capture,
        limiters: vec![policer, shaper],
        flows,
        udp_flows: Vec::new(),
    }
}

fn packet(row: &PacketRow) -> PacketRecord {
    PacketRecord {
        flow: FlowDiagnosis::number(row.connection, row.from_opener),
        time_ns: row.time.as_nanos(),
        seq: row.seq,
        len: row.len,
        ip_bytes: row.ip_bytes,
        ack: row.ack,
        flags: row.flags,
        kind: row.kind.name(),
        inflight: row.inflight,
        window: row.window,
        rtt_us: row.rtt.map(|rtt| rtt.as_micros()),
    }
}

fn main() -> io::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let folder = Path::new(args.first().expect("a folder"));
    let packets: u64 = args.get(1).map_or(20_000, |n| n.parse().expect("how many packets"));
    let name = args.get(2).map_or("made-up.pcap", String::as_str);
    let causes = [Cause::Policed, Cause::Shaped, Cause::ReceiveWindow, Cause::Application];
    let mut generators = vec![FlowGenerator::new(0, Cause::Policed, 0.0).generate(packets, 1e6)];
    generators.extend((1..24).map(|i| {
        let cause = causes[i as usize % 4];
        FlowGenerator::new(i, cause, 1.5 + f64::from(i) / 4.0).generate(packets / (4 + 3 * u64::from(i)), 1e6)
    }));
    fs::create_dir_all(folder)?;
    let d = diagnosis(&generators, name);
    let mut rows: Vec<PacketRow> = generators.into_iter().flat_map(|m| m.rows).collect();
    rows.sort_by_key(|r| r.time);
    let mut kept = Rows::new(8, &[], MOST_ROWS);
    let mut file = PacketWriter::create(Box::new(File::create(folder.join("packets.parquet"))?), name)?;
    for row in &rows {
        kept.row(row);
        file.push(packet(row))?;
    }
    file.finish()?;
    write_flow_diagnoses(&mut File::create(folder.join("flows.parquet"))?, &d)?;
    fs::write(folder.join("diagnosis.json"), result::to_json(&d))?;
    fs::write(folder.join("report.html"), page(&d, &kept, Lang::En))
}
