//! The same few packets as each stack and version logs them.

use super::*;
use units::{Span, Time};

/// A server sends packets 7 and 8 of 1200 bytes with 1150 bytes of stream 0 each. An ACK of 8 arrives 40 ms
/// later and grants 90,000 bytes on the stream. Packet 7 is lost, and the congestion window is 12,000 bytes
/// with 1,200 in flight.
const WRITTEN: [(&str, &str); 9] = [
    (
        "quic-go 0.65, JSON-SEQ, 0.3 and file_schema",
        "\u{1e}{\"file_schema\":\"urn:ietf:params:qlog:file:sequential\",\"serialization_format\":\"application/qlog+json-seq\",\"title\":\"quic-go qlog\",\"trace\":{\"vantage_point\":{\"type\":\"server\"},\"common_fields\":{\"group_id\":\"ab12\",\"reference_time\":{\"clock_type\":\"monotonic\",\"epoch\":\"unknown\",\"wall_clock_time\":\"2023-11-14T22:13:20Z\"}}},\"qlog_format\":\"JSON-SEQ\",\"qlog_version\":\"0.3\"}\n\u{1e}{\"time\":0.5,\"name\":\"transport:parameters_set\",\"data\":{\"initiator\":\"remote\",\"initial_max_data\":100000,\"initial_max_stream_data_bidi_local\":50000}}\n\u{1e}{\"time\":1,\"name\":\"transport:packet_sent\",\"data\":{\"header\":{\"packet_type\":\"1RTT\",\"packet_number\":7},\"raw\":{\"length\":1200},\"frames\":[{\"frame_type\":\"stream\",\"stream_id\":0,\"offset\":0,\"length\":1150,\"fin\":false}]}}\n\u{1e}{\"time\":1,\"name\":\"transport:packet_sent\",\"data\":{\"header\":{\"packet_type\":\"1RTT\",\"packet_number\":8},\"raw\":{\"length\":1200},\"frames\":[{\"frame_type\":\"stream\",\"stream_id\":0,\"offset\":1150,\"length\":1150,\"fin\":false}]}}\n\u{1e}{\"time\":41,\"name\":\"transport:packet_received\",\"data\":{\"header\":{\"packet_type\":\"1RTT\",\"packet_number\":3},\"raw\":{\"length\":40},\"frames\":[{\"frame_type\":\"ack\",\"ack_delay\":0.5,\"acked_ranges\":[[8]]},{\"frame_type\":\"max_stream_data\",\"stream_id\":0,\"maximum\":90000}]}}\n\u{1e}{\"time\":41,\"name\":\"recovery:packet_lost\",\"data\":{\"header\":{\"packet_type\":\"1RTT\",\"packet_number\":7},\"trigger\":\"reordering_threshold\"}}\n\u{1e}{\"time\":41,\"name\":\"recovery:metrics_updated\",\"data\":{\"smoothed_rtt\":40,\"congestion_window\":12000,\"bytes_in_flight\":1200}}\n",
    ),
    (
        "quic-go 2020, draft-02-wip: lists, absolute times, numbers as text",
        "{\"qlog_version\":\"draft-02-wip\",\"title\":\"quic-go qlog\",\"traces\":[{\"vantage_point\":{\"type\":\"server\"},\"common_fields\":{\"ODCID\":\"AB12\"},\"event_fields\":[\"time\",\"category\",\"event\",\"data\"],\"events\":[[1700000000000.5,\"transport\",\"parameters_set\",{\"owner\":\"remote\",\"initial_max_data\":\"100000\",\"initial_max_stream_data_bidi_local\":\"50000\"}],[1700000000001,\"transport\",\"packet_sent\",{\"packet_type\":\"1RTT\",\"header\":{\"packet_number\":\"7\",\"packet_size\":1200},\"frames\":[{\"frame_type\":\"stream\",\"stream_id\":\"0\",\"offset\":\"0\",\"length\":\"1150\"}]}],[1700000000001,\"transport\",\"packet_sent\",{\"packet_type\":\"1RTT\",\"header\":{\"packet_number\":\"8\",\"packet_size\":1200},\"frames\":[{\"frame_type\":\"stream\",\"stream_id\":\"0\",\"offset\":\"1150\",\"length\":\"1150\"}]}],[1700000000041,\"transport\",\"packet_received\",{\"packet_type\":\"1RTT\",\"header\":{\"packet_number\":\"3\",\"packet_size\":40},\"frames\":[{\"frame_type\":\"ack\",\"ack_delay\":\"0.5\",\"acked_ranges\":[[\"8\"]]},{\"frame_type\":\"max_stream_data\",\"stream_id\":\"0\",\"maximum\":\"90000\"}]}],[1700000000041,\"recovery\",\"packet_lost\",{\"packet_type\":\"1RTT\",\"packet_number\":\"7\",\"trigger\":\"reordering_threshold\"}],[1700000000041,\"recovery\",\"metrics_updated\",{\"smoothed_rtt\":40,\"congestion_window\":12000,\"bytes_in_flight\":1200}]]}]}",
    ),
    (
        "picoquic, draft-00: lists, µs, path_id among them",
        "{ \"qlog_version\": \"draft-00\", \"title\": \"picoquic\", \"traces\": [\n{ \"vantage_point\": { \"name\": \"backend-67\", \"type\": \"server\" },\n\"title\": \"picoquic\", \"description\": \"ab12\",\"event_fields\": [\"relative_time\", \"path_id\", \"category\", \"event\", \"data\"],\n\"configuration\": {\"time_units\": \"us\"},\n\"common_fields\": { \"protocol_type\": \"QUIC_HTTP3\", \"reference_time\": \"1700000000000000\", \"dcid\": \"ab12\"},\n\"events\": [\n[500, 0, \"transport\", \"parameters_set\", {\n    \"owner\": \"remote\",\n    \"initial_max_stream_data_bidi_local\" : 50000,\n    \"initial_max_data\" : 100000}],\n[1000, 0, \"transport\", \"packet_sent\", { \"packet_type\": \"1RTT\", \"header\": { \"packet_size\": 1200, \"packet_number\": 7 }, \"frames\": [{ \n    \"frame_type\": \"stream\", \"id\": 0, \"offset\": 0, \"length\": 1150, \"fin\": false }]}],\n[1000, 0, \"transport\", \"packet_sent\", { \"packet_type\": \"1RTT\", \"header\": { \"packet_size\": 1200, \"packet_number\": 8 }, \"frames\": [{ \n    \"frame_type\": \"stream\", \"id\": 0, \"offset\": 1150, \"length\": 1150, \"fin\": false }]}],\n[41000, 0, \"transport\", \"packet_received\", { \"packet_type\": \"1RTT\", \"header\": { \"packet_size\": 40, \"packet_number\": 3 }, \"frames\": [{ \n    \"frame_type\": \"ack\", \"ack_delay\": 500, \"acked_ranges\": [[8, 8]]}, { \n    \"frame_type\": \"max_stream_data\", \"stream_id\": 0, \"maximum\": 90000}]}],\n[41000, 0, \"recovery\", \"packet_lost\", {\n    \"packet_type\" : \"1RTT\",\n    \"packet_number\" : 7,\n    \"trigger\": \"repeat\",\n    \"header\": {\n        \"packet_type\" : \"1RTT\",\n        \"packet_number\" : 7}}],\n[41000, 0, \"recovery\", \"metrics_updated\", {\"cwnd\": 12000,\"bytes_in_flight\": 1200,\"smoothed_rtt\": 40000}]]}]}\n",
    ),
    (
        "aioquic 1.2, JSON 0.3: absolute times without a time_format, vantage point last",
        "{\"qlog_format\": \"JSON\", \"qlog_version\": \"0.3\", \"traces\": [{\"common_fields\": {\"ODCID\": \"ab12\"}, \"events\": [{\"data\": {\"owner\": \"remote\", \"initial_max_data\": 100000, \"initial_max_stream_data_bidi_local\": 50000}, \"name\": \"transport:parameters_set\", \"time\": 1700000000000.5}, {\"data\": {\"frames\": [{\"fin\": false, \"frame_type\": \"stream\", \"length\": 1150, \"offset\": 0, \"stream_id\": 0}], \"header\": {\"packet_number\": 7, \"packet_type\": \"1RTT\", \"scid\": \"\"}, \"raw\": {\"length\": 1200}}, \"name\": \"transport:packet_sent\", \"time\": 1700000000001}, {\"data\": {\"frames\": [{\"fin\": false, \"frame_type\": \"stream\", \"length\": 1150, \"offset\": 1150, \"stream_id\": 0}], \"header\": {\"packet_number\": 8, \"packet_type\": \"1RTT\"}, \"raw\": {\"length\": 1200}}, \"name\": \"transport:packet_sent\", \"time\": 1700000000001}, {\"data\": {\"frames\": [{\"ack_delay\": 0.5, \"acked_ranges\": [[8, 8]], \"frame_type\": \"ack\"}, {\"frame_type\": \"max_stream_data\", \"maximum\": 90000, \"stream_id\": 0}], \"header\": {\"packet_number\": 3, \"packet_type\": \"1RTT\"}, \"raw\": {\"length\": 40}}, \"name\": \"transport:packet_received\", \"time\": 1700000000041}, {\"data\": {\"type\": \"1RTT\", \"packet_number\": 7}, \"name\": \"recovery:packet_lost\", \"time\": 1700000000041}, {\"data\": {\"cwnd\": 12000, \"bytes_in_flight\": 1200, \"smoothed_rtt\": 40}, \"name\": \"recovery:metrics_updated\", \"time\": 1700000000041}], \"vantage_point\": {\"name\": \"aioquic\", \"type\": \"server\"}}]}",
    ),
    (
        "ngtcp2, JSON-SEQ 0.3, no wall clock",
        "\u{1e}{\"qlog_format\":\"JSON-SEQ\",\"qlog_version\":\"0.3\",\"trace\":{\"vantage_point\":{\"name\":\"ngtcp2\",\"type\":\"server\"},\"common_fields\":{\"protocol_type\":[\"QUIC\"],\"time_format\":\"relative\",\"reference_time\":0,\"group_id\":\"ab12\"}}}\n\u{1e}{\"time\":0.5,\"name\":\"transport:parameters_set\",\"data\":{\"owner\":\"remote\",\"initial_max_data\":100000,\"initial_max_stream_data_bidi_local\":50000}}\n\u{1e}{\"time\":1,\"name\":\"transport:packet_sent\",\"data\":{\"frames\":[{\"frame_type\":\"stream\",\"stream_id\":0,\"offset\":0,\"length\":1150}],\"header\":{\"packet_type\":\"1RTT\",\"packet_number\":7},\"raw\":{\"length\":1200}}}\n\u{1e}{\"time\":1,\"name\":\"transport:packet_sent\",\"data\":{\"frames\":[{\"frame_type\":\"stream\",\"stream_id\":0,\"offset\":1150,\"length\":1150}],\"header\":{\"packet_type\":\"1RTT\",\"packet_number\":8},\"raw\":{\"length\":1200}}}\n\u{1e}{\"time\":41,\"name\":\"transport:packet_received\",\"data\":{\"frames\":[{\"frame_type\":\"ack\",\"ack_delay\":0.5,\"acked_ranges\":[[8]]},{\"frame_type\":\"max_stream_data\",\"stream_id\":0,\"maximum\":90000}],\"header\":{\"packet_type\":\"1RTT\",\"packet_number\":3},\"raw\":{\"length\":40}}}\n\u{1e}{\"time\":41,\"name\":\"recovery:packet_lost\",\"data\":{\"header\":{\"packet_type\":\"1RTT\",\"packet_number\":7}}}\n\u{1e}{\"time\":41,\"name\":\"recovery:metrics_updated\",\"data\":{\"smoothed_rtt\":40,\"congestion_window\":12000,\"bytes_in_flight\":1200}}\n",
    ),
    (
        "quiche and neqo, JSON-SEQ 0.3, records that are several lines",
        "\u{1e}{\"qlog_version\":\"0.3\",\"qlog_format\":\"JSON-SEQ\",\"title\":\"quiche-server\",\"trace\":{\"vantage_point\":{\"name\":\"quiche\",\"type\":\"server\"},\"configuration\":{\"time_offset\":0.0},\"common_fields\":{\"ODCID\":\"ab12\"}}}\n\u{1e}{\"time\":0.5,\"name\":\"transport:parameters_set\",\"data\":{\"owner\":\"remote\",\"initial_max_data\":100000,\n\"initial_max_stream_data_bidi_local\":50000}}\n\u{1e}{\"time\":1.0,\"name\":\"transport:packet_sent\",\"data\":{\"header\":{\"packet_type\":\"1RTT\",\"packet_number\":7},\n\"raw\":{\"length\":1200,\"payload_length\":1180},\"frames\":[{\"frame_type\":\"stream\",\"stream_id\":0,\"offset\":0,\"length\":1150,\"fin\":false}]}}\n\u{1e}{\"time\":1.0,\"name\":\"transport:packet_sent\",\"data\":{\"header\":{\"packet_type\":\"1RTT\",\"packet_number\":8},\"raw\":{\"length\":1200},\"frames\":[{\"frame_type\":\"stream\",\"stream_id\":0,\"offset\":1150,\"length\":1150}]}}\n\u{1e}{\"time\":41.0,\"name\":\"transport:packet_received\",\"data\":{\"header\":{\"packet_type\":\"1RTT\",\"packet_number\":3},\"raw\":{\"length\":40},\"frames\":[{\"frame_type\":\"ack\",\"ack_delay\":0.5,\"acked_ranges\":[[8,8]]},{\"frame_type\":\"max_stream_data\",\"stream_id\":0,\"maximum\":90000}]}}\n\u{1e}{\"time\":41.0,\"name\":\"recovery:packet_lost\",\"data\":{\"header\":{\"packet_type\":\"1RTT\",\"packet_number\":7}}}\n\u{1e}{\"time\":41.0,\"name\":\"recovery:metrics_updated\",\"data\":{\"smoothed_rtt\":40.0,\"congestion_window\":12000,\"bytes_in_flight\":1200,\"ssthresh\":18446744073709551615}}\n",
    ),
    (
        "quiche main, 0.4: quic: names, frames with raw lengths, an object for the reference time",
        "\u{1e}{\"file_schema\":\"urn:ietf:params:qlog:file:sequential\",\"serialization_format\":\"JSON-SEQ\",\"title\":\"t\",\"trace\":{\"vantage_point\":{\"type\":\"server\"},\"common_fields\":{\"group_id\":\"ab12\",\"reference_time\":{\"clock_type\":\"monotonic\",\"epoch\":\"unknown\",\"wall_clock_time\":\"2023-11-14T22:13:20.000Z\"},\"time_format\":\"relative_to_epoch\"},\"event_schemas\":[]}}\n\u{1e}{\"time\":0.5,\"name\":\"quic:parameters_set\",\"data\":{\"initiator\":\"remote\",\"initial_max_data\":100000,\"initial_max_stream_data_bidi_local\":50000}}\n\u{1e}{\"time\":1.0,\"name\":\"quic:packet_sent\",\"data\":{\"header\":{\"packet_type\":\"1RTT\",\"packet_number\":7},\"raw\":{\"length\":1200},\"frames\":[{\"frame_type\":\"stream\",\"stream_id\":0,\"offset\":0,\"raw\":{\"payload_length\":1150}}]}}\n\u{1e}{\"time\":1.0,\"name\":\"quic:packet_sent\",\"data\":{\"header\":{\"packet_type\":\"1RTT\",\"packet_number\":8},\"raw\":{\"length\":1200},\"frames\":[{\"frame_type\":\"stream\",\"stream_id\":0,\"offset\":1150,\"raw\":{\"payload_length\":1150}}]}}\n\u{1e}{\"time\":41.0,\"name\":\"quic:packet_received\",\"data\":{\"header\":{\"packet_type\":\"1RTT\",\"packet_number\":3},\"raw\":{\"length\":40},\"frames\":[{\"frame_type\":\"ack\",\"ack_delay\":0.5,\"acked_ranges\":[[8]]},{\"frame_type\":\"max_stream_data\",\"stream_id\":0,\"maximum\":90000}]}}\n\u{1e}{\"time\":41.0,\"name\":\"quic:packet_lost\",\"data\":{\"header\":{\"packet_type\":\"1RTT\",\"packet_number\":7}}}\n\u{1e}{\"time\":41.0,\"name\":\"quic:recovery_metrics_updated\",\"data\":{\"smoothed_rtt\":40.0,\"congestion_window\":12000,\"bytes_in_flight\":1200}}\n",
    ),
    (
        "mvfst, 0.4 as one object a line: losses by their highest number, stream IDs as text",
        "{\"file_schema\":\"urn:ietf:params:qlog:file:sequential\",\"serialization_format\":\"application/qlog+json-seq\",\"title\":\"mvfst qlog\",\"trace\":{\"vantage_point\":{\"type\":\"server\",\"name\":\"server\"},\"common_fields\":{\"odcid\":\"ab12\",\"scid\":\"\",\"reference_time\":{\"clock_type\":\"monotonic\",\"epoch\":\"unknown\"},\"time_format\":\"relative_to_epoch\"}}}\n{\"time\":0.5,\"name\":\"quic:parameters_set\",\"data\":{\"owner\":\"remote\",\"initial_max_data\":100000,\"initial_max_stream_data_bidi_local\":50000}}\n{\"time\":1.0,\"name\":\"quic:packet_sent\",\"data\":{\"header\":{\"packet_type\":\"1RTT\",\"packet_number\":7},\"frames\":[{\"fin\":false,\"frame_type\":\"stream\",\"stream_id\":\"0\",\"offset\":0,\"raw\":{\"payload_length\":1150}}],\"raw\":{\"length\":1200}}}\n{\"time\":1.0,\"name\":\"quic:packet_sent\",\"data\":{\"header\":{\"packet_type\":\"1RTT\",\"packet_number\":8},\"frames\":[{\"fin\":false,\"frame_type\":\"stream\",\"stream_id\":\"0\",\"offset\":1150,\"raw\":{\"payload_length\":1150}}],\"raw\":{\"length\":1200}}}\n{\"time\":41.0,\"name\":\"quic:packet_received\",\"data\":{\"header\":{\"packet_type\":\"1RTT\",\"packet_number\":3},\"frames\":[{\"frame_type\":\"ack_receive_timestamps\",\"ack_delay\":0.5,\"acked_ranges\":[[8,8]]},{\"frame_type\":\"max_stream_data\",\"stream_id\":0,\"maximum\":90000}],\"raw\":{\"length\":40}}}\n{\"time\":41.0,\"name\":\"quic:packet_lost\",\"data\":{\"largest_lost_packet_num\":7,\"lost_bytes\":1200,\"lost_packets\":1}}\n{\"time\":41.0,\"name\":\"quic:recovery_metrics_updated\",\"data\":{\"smoothed_rtt\":40.0,\"congestion_window\":12000,\"bytes_in_flight\":1200}}\n",
    ),
    (
        "delta times",
        "\u{1e}{\"qlog_format\":\"JSON-SEQ\",\"trace\":{\"vantage_point\":{\"type\":\"server\"},\"common_fields\":{\"ODCID\":\"AB12\",\"time_format\":\"delta\",\"reference_time\":1700000000000}}}\n\u{1e}{\"time\":0.5,\"name\":\"transport:parameters_set\",\"data\":{\"owner\":\"remote\",\"initial_max_data\":100000,\"initial_max_stream_data_bidi_local\":50000}}\n\u{1e}{\"time\":0.5,\"name\":\"packet_sent\",\"data\":{\"header\":{\"packet_type\":\"1RTT\",\"packet_number\":7,\"packet_size\":1200},\"frames\":[{\"frame_type\":\"stream\",\"stream_id\":0,\"offset\":0,\"length\":1150}]}}\n\u{1e}{\"time\":0,\"name\":\"packet_sent\",\"data\":{\"header\":{\"packet_type\":\"1RTT\",\"packet_number\":8,\"packet_size\":1200},\"frames\":[{\"frame_type\":\"stream\",\"stream_id\":0,\"offset\":1150,\"length\":1150}]}}\n\u{1e}{\"time\":40,\"name\":\"packet_received\",\"data\":{\"header\":{\"packet_type\":\"1RTT\",\"packet_number\":3,\"packet_size\":40},\"frames\":[{\"frame_type\":\"ack\",\"ack_delay\":0.5,\"acked_ranges\":[[8,8]]},{\"frame_type\":\"max_stream_data\",\"stream_id\":0,\"maximum\":90000}]}}\n\u{1e}{\"time\":0,\"name\":\"packet_lost\",\"data\":{\"header\":{\"packet_type\":\"1RTT\",\"packet_number\":7}}}\n\u{1e}{\"time\":0,\"name\":\"metrics_updated\",\"data\":{\"smoothed_rtt\":40,\"congestion_window\":12000,\"bytes_in_flight\":1200}}\n",
    ),
];

/// Milliseconds since 1970 in the traces that have a date.
const BEGIN_MS: u64 = 1_700_000_000_000;

#[test]
fn every_stack_gives_the_same_trace() {
    for (stack, text) in WRITTEN {
        let traces = read_qlog(text).unwrap_or_else(|e| panic!("{stack}: {e}"));
        let t = &traces[0];
        assert_eq!(
            (traces.len(), t.vantage, t.original_id.as_deref(), t.cut_at_line),
            (1, QlogVantage::Server, Some("ab12"), None),
            "{stack}"
        );
        let begin = Time::ZERO + Span::from_millis(if t.dated { BEGIN_MS } else { 0 });
        let ms = |time: Time| time.since(begin).as_millis_f64().round();
        let times: Vec<f64> = t.events.iter().map(|e| ms(e.time)).collect();
        assert_eq!(times, [1.0, 1.0, 41.0, 41.0], "{stack}");
        let sent = |n: u64| {
            let from = (n - 7) * 1150;
            QlogKind::Sent(QlogPacket {
                number: (2, n),
                length: 1200,
                eliciting: true,
                parts: vec![StreamPart { stream: 0, from, to: from + 1150, fin: false }],
                ..QlogPacket::default()
            })
        };
        let received = QlogKind::Received(QlogPacket {
            number: (2, 3),
            length: 40,
            eliciting: true,
            acked: vec![(8, 8)],
            limits: vec![FlowLimit { stream: Some(0), maximum: 90_000 }],
            ..QlogPacket::default()
        });
        let kinds: Vec<&QlogKind> = t.events.iter().map(|e| &e.kind).collect();
        let lost = QlogKind::Lost { number: (2, 7) };
        assert_eq!(kinds, [&sent(7), &sent(8), &received, &lost], "{stack}");
        assert_eq!(
            (t.credit[1].connection, t.credit[1].bidi_local),
            (Some(100_000), Some(50_000)),
            "{stack}"
        );
        let m = t.metrics.last().unwrap();
        assert_eq!(
            (m.cwnd, m.inflight, m.ssthresh, m.smoothed_rtt, m.after),
            (Some(12_000), Some(1_200), None, Some(Span::from_millis(40)), 4),
            "{stack}"
        );
        assert_eq!(t.ack_delays, [Span::from_micros(500)], "{stack}");
        assert!(t.has_acks() && !t.is_of_receiver(), "{stack}");
    }
}

/// quinn writes all connections of a server into one file, without frames.
#[test]
fn connections_in_one_file_are_separated() {
    let head = "\u{1e}{\"qlog_version\":\"0.3\",\"qlog_format\":\"JSON-SEQ\",\"trace\":{\"vantage_point\":{\"type\":\"server\"},\"configuration\":{\"time_offset\":0.0}}}\n";
    let sent = |group: &str, n: u64| {
        format!(
            "\u{1e}{{\"time\":{n}.0,\"name\":\"transport:packet_sent\",\"data\":{{\"header\":{{\"packet_type\":\"1RTT\",\"packet_number\":{n},\"length\":1200}}}},\"group_id\":\"{group}\"}}\n"
        )
    };
    let text = format!("{head}{}{}{}", sent("aa", 0), sent("bb", 0), sent("aa", 1));
    let traces = read_qlog(&text).unwrap();
    let connections: Vec<(Option<&str>, usize)> =
        traces.iter().map(|t| (t.original_id.as_deref(), t.events.len())).collect();
    assert_eq!(connections, [(Some("aa"), 2), (Some("bb"), 1)]);
    assert!(!traces[0].has_acks());
}

/// quinn's client calls a connection by another ID once the server has answered. The metrics before that show
/// that its RTTs are seconds.
#[test]
fn a_connection_that_its_client_renames_is_one() {
    let event = |group: &str, name: &str, data: &str| {
        format!("\u{1e}{{\"time\":1,\"name\":\"{name}\",\"data\":{{{data}}},\"group_id\":\"{group}\"}}\n")
    };
    let packet = |group: &str, name: &str, kind: &str| {
        event(
            group,
            name,
            &format!("\"header\":{{\"packet_type\":\"{kind}\",\"packet_number\":0,\"length\":1200}}"),
        )
    };
    let text = [
        "{\"trace\":{}}\n".into(),
        packet("aa", "transport:packet_sent", "initial"),
        event("aa", "recovery:metrics_updated", "\"smoothed_rtt\":0.333,\"rtt_variance\":0.1665"),
        packet("aa", "transport:packet_received", "initial"),
        packet("bb", "transport:packet_received", "handshake"),
        event("bb", "recovery:metrics_updated", "\"smoothed_rtt\":0.044,\"rtt_variance\":0.01"),
        // Another connection of the same client.
        packet("cc", "transport:packet_sent", "initial"),
    ];
    let traces = read_qlog(&text.concat()).unwrap();
    let connections: Vec<(Option<&str>, usize)> =
        traces.iter().map(|t| (t.original_id.as_deref(), t.events.len())).collect();
    assert_eq!(connections, [(Some("aa"), 3), (Some("cc"), 1)]);
    assert_eq!(traces[0].metrics.last().unwrap().smoothed_rtt, Some(Span::from_millis(44)));
}

/// quinn states no length of received packets. The end that received more packets is the receiver, and its
/// log does not show how much data they carried.
#[test]
fn a_receivers_log_without_lengths_is_refused() {
    let event = |time: u64, name: &str, n: u64, length: &str| {
        format!(
            "\u{1e}{{\"time\":{time}.0,\"name\":\"transport:{name}\",\"data\":{{\"header\":{{\"packet_type\":\"1RTT\",\"packet_number\":{n}{length}}}}}}}\n"
        )
    };
    let log = |many: &str, few: &str| {
        let length = |name: &str, bytes: u32| match name {
            "packet_sent" => format!(",\"length\":{bytes}"),
            _ => String::new(),
        };
        let packets = (0..6).map(|i| {
            let data = event(10 * i, many, i, &length(many, 1452));
            let ack =
                if i % 3 == 2 { event(10 * i + 1, few, i / 3, &length(few, 37)) } else { String::new() };
            data + &ack
        });
        let head = "\u{1e}{\"qlog_version\":\"0.3\",\"trace\":{\"vantage_point\":{\"type\":\"unknown\"}}}\n";
        format!("{head}{}", packets.collect::<String>())
    };
    let traces = read_qlog(&log("packet_sent", "packet_received")).unwrap();
    assert!(!traces[0].is_of_receiver() && traces[0].lacks_received_lengths());
    let refused = read_qlog(&log("packet_received", "packet_sent"));
    assert_eq!(refused.unwrap_err(), QlogError::NoLengths);
}

/// RFC 9002 section 6.2.2: an initial RTT of 333 ms is assumed before one is measured.
#[test]
fn rtts_in_seconds_are_recognised_by_the_first() {
    let metrics = |rtt: &str, var: &str| {
        format!(
            "{{\"time\":1,\"name\":\"recovery:metrics_updated\",\"data\":{{\"smoothed_rtt\":{rtt},\"rtt_variance\":{var}}}}}\n"
        )
    };
    let packet = "{\"trace\":{}}\n{\"time\":1,\"name\":\"packet_sent\",\"data\":{\"header\":{\"packet_type\":\"1RTT\",\"packet_number\":7}}}\n";
    let last = |text: String| read_qlog(&text).unwrap()[0].metrics.last().unwrap().smoothed_rtt;
    let seconds = format!("{packet}{}{}", metrics("0.333", "0.1665"), metrics("0.044", "0.01"));
    assert_eq!(last(seconds), Some(Span::from_millis(44)));
    let millis = format!("{packet}{}{}", metrics("0.333", "0.02"), metrics("0.5", "0.01"));
    assert_eq!(last(millis), Some(Span::from_micros(500)));
}

#[test]
fn metrics_carry_on_what_an_event_does_not_state() {
    let metrics =
        |data: &str| format!("{{\"time\":1,\"name\":\"recovery:metrics_updated\",\"data\":{{{data}}}}}\n");
    let text = [
        "{\"trace\":{}}\n{\"time\":1,\"name\":\"packet_sent\",\"data\":{\"header\":{\"packet_type\":\"1RTT\",\"packet_number\":7}}}\n".into(),
        metrics("\"congestion_window\":12000,\"bytes_in_flight\":1200,\"ssthresh\":18446744073709551615,\"pto_count\":2"),
        metrics("\"bytes_in_flight\":2400,\"smoothed_rtt\":40.5,\"pto_count\":0"),
        metrics("\"congestion_window\":-3,\"ssthresh\":6000,\"pto_count\":1"),
        "{\"time\":1,\"name\":\"quic:congestion_state_updated\",\"data\":{\"old\":\"slow_start\",\"new\":\"recovery\"}}".into(),
    ];
    let mut trace = read_qlog(&text.concat()).unwrap().remove(0);
    let stated: Vec<_> = trace.metrics.iter().map(|m| (m.cwnd, m.inflight, m.ssthresh)).collect();
    assert_eq!(
        stated,
        [
            (Some(12_000), Some(1_200), None),
            (Some(12_000), Some(2_400), None),
            (Some(12_000), Some(2_400), Some(6_000))
        ]
    );
    assert_eq!(trace.metrics[2].smoothed_rtt, Some(Span::from_micros(40_500)));
    assert_eq!((trace.states[0].name.as_str(), trace.probe_timeouts), ("recovery", 3));
    trace.begin_at(Time::from_nanos(7));
    assert_eq!((trace.events[0].time, trace.states[0].time), (Time::from_nanos(7), Time::from_nanos(7)));
}

#[test]
fn an_error_names_the_line_and_the_event() {
    let seq = |event: &str| format!("{{\"trace\":{{}}}}\n{event}\n{{\"time\":1}}\n");
    for (text, error) in [
        ("{}".to_string(), "not a qlog: line 1 has neither `traces` nor, in a JSON text sequence, `trace`"),
        (String::new(), "not a qlog: line 1 has neither"),
        ("\u{1e}nonsense\n".into(), "line 1 is not JSON: expected ident"),
        ("hello\n".into(), "line 1 is not JSON: expected value"),
        (seq("{\"time\" 1}"), "line 2 is not JSON: expected `:`"),
        (
            seq("{\"time\":\"now\",\"name\":\"transport:packet_sent\"}"),
            "line 2, event `transport:packet_sent`: its time is \"now\", not a number",
        ),
        (
            seq("[1,\"transport\",\"packet_sent\",{}]"),
            "line 2, event 1: it is a list, but the trace's `event_fields` do not name",
        ),
        (seq("7"), "line 2, event 1: it must be an object or a list"),
        (
            seq("{\"time\":1,\"name\":\"http:frame_created\"}"),
            "no `packet_sent` or `packet_received` event with a packet number; its events: ",
        ),
        ("{\"traces\":[{\"events\":[]}]}".into(), "with a packet number, and no other event"),
        (
            "{\"traces\":[{\"events\":[\n{\"time\":1},\n{\"time\":1,\"name\"}]}]}".into(),
            "line 3 is not JSON: expected `:`",
        ),
    ] {
        let message = read_qlog(&text).unwrap_err().to_string();
        assert!(message.contains(error), "{text}: {message}");
    }
}

/// A log of a program that was killed is read up to where it ends.
#[test]
fn a_truncated_log_is_read_up_to_its_end_or_refused() {
    for (stack, text) in WRITTEN {
        let whole = read_qlog(text).unwrap()[0].events.len();
        let mut before = 0;
        for cut in (0..text.len()).filter(|i| text.is_char_boundary(*i)) {
            match read_qlog(&text[..cut]) {
                Ok(traces) => {
                    let events = traces[0].events.len();
                    assert!(events >= before && events <= whole, "{stack} at {cut}");
                    before = events;
                    // Tracking it gives a track or none, but no panic.
                    track_qlog(&traces[0]);
                }
                Err(e) => assert!(before == 0 && !e.to_string().is_empty(), "{stack} at {cut}: {e}"),
            }
        }
        assert!(before >= whole - 1, "{stack}");
    }
}
