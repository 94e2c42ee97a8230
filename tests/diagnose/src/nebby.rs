//! The labelled traces of NUS-SNL/Nebby (`sensitivity/`: each of 17 congestion controls of Linux over 20
//! paths; `nebby.py` fetches them), as captures.
//!
//! A trace has tshark's columns: times, lengths, sequence and acknowledgement numbers of both directions,
//! captured at the sender. It lacks receive windows, SACK blocks, timestamps and flags: the window is assumed
//! never to limit, the rest to be absent.
//!
//! The traces are split in halves by their names: `build` may be looked at one by one, `judge` in classes
//! only.

use crate::controls::Row;
use capture::{Addr, CaptureReader, Endpoint, Frame, PcapWriter, TcpFlags, TcpPacket};
use result::Diagnosis;
use std::collections::BTreeMap;
use std::io::Cursor;
use std::path::{Path, PathBuf};
use units::{Span, Stream, Time};

/// Returns the half that a trace belongs to; `name` is `PATH/CONTROL`.
pub fn half(name: &str) -> &'static str {
    if Stream::new(0, name).below(2) == 0 { "build" } else { "judge" }
}

/// The largest shift of a window (RFC 7323 section 2.3).
const LARGEST_SHIFT: u8 = 14;

/// Reads a trace's TCP packets, in the order of time.
///
/// # Errors
/// Names the line, by number, where a column is missing or cannot be read.
pub fn packets(text: &str) -> Result<Vec<TcpPacket>, String> {
    let mut lines = text.lines().enumerate();
    let heads: Vec<&str> = lines.next().map_or(Vec::new(), |(_, l)| l.split(',').collect());
    let column = |name: &str| heads.iter().position(|h| *h == name).ok_or(format!("1: no column {name}"));
    let [time, len, seq, dst, dport, payload, ack, sport] = [
        column("frame.time_relative")?,
        column("frame.len")?,
        column("tcp.seq")?,
        column("ip.dst")?,
        column("tcp.dstport")?,
        column("tcp.len")?,
        column("tcp.ack")?,
        column("tcp.srcport")?,
    ];
    // There is no column for the source: packets to its port show its address.
    let mut addresses = BTreeMap::<u16, Addr>::new();
    let mut packets = Vec::new();
    for (at, line) in lines {
        let fields: Vec<&str> = line.split(',').map(|f| f.trim_matches('"')).collect();
        let number = |column: usize| -> Result<u32, String> {
            let field = fields.get(column).and_then(|f| f.parse().ok());
            field.ok_or(format!("{}: no {}", at + 1, heads[column]))
        };
        // Packets other than TCP have no ports.
        if fields.get(sport).is_none_or(|f| f.is_empty()) {
            continue;
        }
        let port = |column: usize| {
            number(column).and_then(|p| u16::try_from(p).map_err(|e| format!("{}: {e}", at + 1)))
        };
        let octets: Vec<u8> = fields[dst].split('.').filter_map(|o| o.parse().ok()).collect();
        let to = Addr::v4(octets.try_into().map_err(|_| format!("{}: no address", at + 1))?);
        addresses.insert(port(dport)?, to);
        let seconds: f64 = fields[time].parse().map_err(|e| format!("{}: {e}", at + 1))?;
        let payload = number(payload)?;
        packets.push(TcpPacket {
            time: Time::ZERO + Span::from_secs_f64(seconds),
            src: Endpoint { addr: Addr::default(), port: port(sport)? },
            dst: Endpoint { addr: to, port: port(dport)? },
            seq: number(seq)?,
            ack: number(ack)?,
            flags: TcpFlags::ACK,
            window: u16::MAX,
            len: payload,
            header: u16::try_from(number(len)?.saturating_sub(payload)).unwrap_or(u16::MAX),
            ttl: 64,
            ..TcpPacket::default()
        });
    }
    let largest = packets.iter().map(|p| p.len).max().unwrap_or(0);
    for (at, p) in packets.iter_mut().enumerate() {
        p.src.addr = addresses.get(&p.src.port).copied().unwrap_or_default();
        // Numbers are relative, so only SYNs have the number 0.
        if p.seq == 0 && p.len == 0 {
            p.flags = if p.ack == 0 { TcpFlags::SYN } else { TcpFlags::SYN | TcpFlags::ACK };
            p.options.mss = u16::try_from(largest).ok();
            p.options.wscale = Some(LARGEST_SHIFT);
        }
        p.id = at as u16;
    }
    Ok(packets)
}

/// Converts a trace to a capture file.
///
/// # Errors
/// Fails as [`packets`] does, or if a packet cannot be written.
pub fn capture(text: &str) -> Result<Vec<u8>, String> {
    let mut out = PcapWriter::new(Vec::new()).map_err(|e| e.to_string())?;
    for p in packets(text)? {
        out.write(&Frame::of(&p)).map_err(|e| e.to_string())?;
    }
    out.finish().map_err(|e| e.to_string())
}

/// Returns the traces of a half below `folder`, in the order of their names, with their files.
///
/// # Errors
/// Fails if the folder has none.
pub fn traces(folder: &Path, wanted: &str) -> Result<Vec<(String, PathBuf)>, String> {
    let list = |folder: &Path| -> Result<Vec<String>, String> {
        let list = std::fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        Ok(list.filter_map(|e| e.ok()?.file_name().into_string().ok()).collect())
    };
    let folder = folder.join("sensitivity");
    let mut names = Vec::new();
    for path in list(&folder)? {
        let traces = list(&folder.join(&path))?;
        names.extend(traces.iter().filter_map(|t| Some(format!("{path}/{}", t.strip_suffix(".csv")?))));
    }
    names.retain(|n| half(n) == wanted);
    names.sort();
    let file = |name: String| {
        let file = folder.join(format!("{name}.csv"));
        (name, file)
    };
    Ok(names.into_iter().map(file).collect())
}

/// Diagnoses the traces of a half below `folder`, in the order of their names.
///
/// # Errors
/// Fails if the folder has none, or one cannot be read or diagnosed.
pub fn read(folder: &Path, wanted: &str) -> Result<Vec<Row>, String> {
    let traces = traces(folder, wanted)?;
    crate::each(0..traces.len() as u64, |i| {
        let (name, file) = &traces[i as usize];
        row(name, &crate::judge::read(open(name, file)?))
    })
}

/// Opens a trace's file as a capture.
///
/// # Errors
/// Fails if it cannot be read.
pub fn open(name: &str, file: &Path) -> Result<CaptureReader, String> {
    let why = |e: String| format!("{}: {e}", file.display());
    let text = std::fs::read_to_string(file).map_err(|e| why(e.to_string()))?;
    let capture = capture(&text).map_err(why)?;
    CaptureReader::from_reader(Box::new(Cursor::new(capture)), name).map_err(|e| why(e.to_string()))
}

/// Compares the guess at a trace's control with the control in its name.
///
/// # Errors
/// Fails if the diagnosis has no flow.
pub fn row(name: &str, diagnosis: &Diagnosis) -> Result<Row, String> {
    // The flow with most bytes.
    let guess = diagnosis.flows.first().ok_or(format!("{name}: no flow"))?.cc.clone();
    let truth = name.rsplit('/').next().unwrap_or(name).to_string();
    Ok(Row { name: name.into(), truth, guess })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "frame.number,_ws.col.Time,frame.len,tcp.seq,ip.dst,tcp.dstport,tcp.time_relative,tcp.len,tcp.ack,tcp.srcport,frame.time_relative";

    #[test]
    fn a_trace_becomes_a_capture() {
        let text = format!(
            "{HEAD}\n\"1\",\"15:58:40.8\",\"76\",,,,,,,,\"0.0\"\n\
             \"2\",\"\",\"60\",\"0\",\"10.0.0.2\",\"5000\",\"\",\"0\",\"0\",\"36060\",\"0.025\"\n\
             \"3\",\"\",\"60\",\"0\",\"10.0.0.1\",\"36060\",\"\",\"0\",\"1\",\"5000\",\"0.125\"\n\
             \"4\",\"\",\"100\",\"1\",\"10.0.0.2\",\"5000\",\"\",\"48\",\"1\",\"36060\",\"0.126\"\n"
        );
        let packets = packets(&text).unwrap();
        assert_eq!(packets.len(), 3, "frames without TCP are skipped");
        let flags: Vec<TcpFlags> = packets.iter().map(|p| p.flags).collect();
        assert_eq!(flags, [TcpFlags::SYN, TcpFlags::SYN | TcpFlags::ACK, TcpFlags::ACK]);
        assert_eq!((packets[2].len, packets[2].header, packets[0].options.mss), (48, 52, Some(48)));
        assert_eq!(packets[2].src, packets[1].dst);
        assert_eq!(packets[1].time.as_nanos(), 125_000_000);
        let file = capture(&text).unwrap();
        let mut reader = capture::CaptureReader::from_reader(Box::new(Cursor::new(file)), "-").unwrap();
        let mut read = Vec::new();
        crate::judge::packets(&mut reader, |p| read.push((p.src, p.seq, p.len)));
        assert_eq!(read, packets.iter().map(|p| (p.src, p.seq, p.len)).collect::<Vec<_>>());
    }

    #[test]
    fn errors_name_line_and_column() {
        assert_eq!(packets("a,b").unwrap_err(), "1: no column frame.time_relative");
        let line = "1,,60,x,10.0.0.2,5000,,0,0,36060,0.025";
        assert_eq!(packets(&format!("{HEAD}\n{line}")).unwrap_err(), "2: no tcp.seq");
    }
}
