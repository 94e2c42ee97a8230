//! Packets, frames and transport parameters, from the fields in which each version and stack writes them.

use super::trace::{APPLICATION, FlowLimit, INITIAL, PacketNumber, QlogCredit, QlogPacket, StreamPart};
use capture::{Addr, Endpoint};
use serde_json::Value;
use std::net::IpAddr;

/// A packet of an unknown kind elicits ACKs if it is longer than this, bytes: one with only an ACK is
/// shorter.
const MAX_ACK_ONLY: u32 = 100;

/// Reads an integer, also from text: qlog 0.1 wrote 64-bit numbers as text.
pub(super) fn integer(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}

/// Reads a number that is not negative, also from text.
pub(super) fn positive(value: &Value) -> Option<f64> {
    let number = value.as_f64().or_else(|| value.as_str()?.parse().ok())?;
    (0.0..1e18).contains(&number).then_some(number)
}

/// Returns the number space of a packet type; `None` for types without numbers.
fn space(kind: &str) -> Option<u8> {
    match kind.to_ascii_lowercase().as_str() {
        "initial" => Some(INITIAL),
        "handshake" => Some(1),
        "retry" | "version_negotiation" | "stateless_reset" => None,
        // Converters that do not know the type describe packets of an established connection.
        _ => Some(APPLICATION),
    }
}

/// Reads number space and number; `None` for packets without a number (Retry, Version Negotiation).
pub(super) fn packet_number(data: &Value) -> Option<PacketNumber> {
    let kinds = [&data["header"]["packet_type"], &data["packet_type"], &data["type"]];
    let kind = kinds.iter().find_map(|v| v.as_str()).unwrap_or_default();
    let numbers = [&data["header"]["packet_number"], &data["packet_number"]];
    Some((space(kind)?, numbers.iter().find_map(|v| integer(v))?))
}

/// Reads a packet that was sent or received; `None` if it has no number.
pub(super) fn packet(data: &Value) -> Option<QlogPacket> {
    let number = packet_number(data)?;
    let lengths = [
        &data["raw"]["length"],
        &data["header"]["packet_size"],
        &data["packet_size"],
        &data["header"]["length"],
    ];
    let length = lengths.iter().find_map(|v| integer(v)).unwrap_or(0);
    let mut out = QlogPacket {
        number,
        // The maximum length of a UDP datagram.
        length: length.min(65_535) as u32,
        ..QlogPacket::default()
    };
    let frames = data["frames"].as_array().map_or(&[][..], |frames| frames);
    out.eliciting = frames.is_empty() && out.length > MAX_ACK_ONLY;
    for frame in frames {
        add_frame(&mut out, frame);
    }
    Some(out)
}

fn add_frame(packet: &mut QlogPacket, frame: &Value) {
    let kind = frame["frame_type"].as_str().unwrap_or_default().to_ascii_lowercase();
    let stream = || ["stream_id", "id"].iter().find_map(|key| integer(&frame[*key]));
    let maximum = || integer(&frame["maximum"]);
    let ack = kind.starts_with("ack") && kind != "ack_frequency";
    // RFC 9002 section 2: all frames but ACK, PADDING and CONNECTION_CLOSE elicit ACKs.
    packet.eliciting |= !ack && kind != "padding" && !kind.starts_with("connection_close");
    match kind.as_str() {
        "stream" => {
            let lengths = [&frame["length"], &frame["raw"]["payload_length"], &frame["raw"]["length"]];
            let length = lengths.iter().find_map(|v| integer(v));
            let offset = integer(&frame["offset"]).unwrap_or(0);
            if let (Some(stream), Some(length)) = (stream(), length) {
                packet.parts.push(StreamPart {
                    stream,
                    from: offset,
                    to: offset.saturating_add(length),
                    fin: frame["fin"] == true,
                });
            }
        }
        "max_data" => {
            packet.limits.extend(maximum().map(|maximum| FlowLimit { stream: None, maximum }));
        }
        "max_stream_data" => {
            if let (Some(stream), Some(maximum)) = (stream(), maximum()) {
                packet.limits.push(FlowLimit { stream: Some(stream), maximum });
            }
        }
        "data_blocked" | "stream_data_blocked" => packet.blocked = true,
        _ if ack => packet.acked.extend(acked(frame)),
        _ => {}
    }
}

/// Reads the ranges of an ACK frame: `[[5, 7], [3]]`, in any order.
fn acked(frame: &Value) -> Vec<(u64, u64)> {
    let ranges = frame["acked_ranges"].as_array().map_or(&[][..], |ranges| ranges);
    let range = |range: &Value| {
        let ends: Vec<u64> = match range {
            Value::Array(ends) => ends.iter().filter_map(integer).collect(),
            one => integer(one).into_iter().collect(),
        };
        let (from, to) = (*ends.first()?, *ends.last()?);
        Some((from.min(to), from.max(to)))
    };
    ranges.iter().filter_map(range).collect()
}

/// Reads `ack_delay` of the first ACK frame, in the trace's unit of time.
pub(super) fn ack_delay(data: &Value) -> Option<f64> {
    let frames = data["frames"].as_array()?;
    frames.iter().find(|f| f["acked_ranges"].is_array()).and_then(|f| positive(&f["ack_delay"]))
}

/// Reads the flow control credit in `parameters_set`, and whether the endpoint itself grants it.
pub(super) fn credit(data: &Value) -> Option<(bool, QlogCredit)> {
    let owner = data["owner"].as_str().or_else(|| data["initiator"].as_str())?;
    let credit = QlogCredit {
        connection: integer(&data["initial_max_data"]),
        bidi_local: integer(&data["initial_max_stream_data_bidi_local"]),
        bidi_remote: integer(&data["initial_max_stream_data_bidi_remote"]),
        uni: integer(&data["initial_max_stream_data_uni"]),
    };
    (credit != QlogCredit::default()).then_some((owner == "local", credit))
}

/// Reads the addresses of the endpoint and its peer: `src_ip` … in version 0.3, `local` and `remote` in later
/// drafts.
pub(super) fn ends(data: &Value) -> Option<[Endpoint; 2]> {
    let addr = |v: &Value| -> Option<Addr> {
        match v.as_str()?.parse().ok()? {
            IpAddr::V4(a) => Some(Addr::v4(a.octets())),
            IpAddr::V6(a) => Some(Addr::v6(a.octets())),
        }
    };
    let port = |v: &Value| integer(v).and_then(|p| u16::try_from(p).ok());
    let flat = |ip: &str, p: &str| Some(Endpoint { addr: addr(&data[ip])?, port: port(&data[p])? });
    let side = |name: &str| {
        let side = &data[name];
        let v4 = || Some(Endpoint { addr: addr(&side["ip_v4"])?, port: port(&side["port_v4"])? });
        let v6 = || Some(Endpoint { addr: addr(&side["ip_v6"])?, port: port(&side["port_v6"])? });
        v4().or_else(v6)
    };
    let local = side("local").or_else(|| flat("src_ip", "src_port"))?;
    let remote = side("remote").or_else(|| flat("dst_ip", "dst_port"))?;
    Some([local, remote])
}
