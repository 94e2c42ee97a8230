#!/usr/bin/env python3
"""Generates docs/http3.sqlog, the log in the HTTP/3 example of docs/diagnose.md.

    tests/http3_qlog.py > docs/http3.sqlog

A server sends a response of 200 kB over a path of 60 ms. The client grants 24 KiB of flow control credit beyond what it has
read, and reads immediately. The congestion window starts at 12 kB and nothing stops its growth (RFC 9002 section 7.3.1). No
packet is lost.
"""

import json
from heapq import heappop, heappush

RTT, SIZE, DATA = 60, 1200, 1150  # ms, bytes
CREDIT, ANSWER = 24 << 10, 200_000  # bytes
GAP = 0.05  # ms between two packets
ACK_DELAY = 25  # ms (RFC 9000 section 18.2)


def log_event(time, name, data):
    print("\x1e" + json.dumps({"time": round(time, 2), "name": name, "data": data}, separators=(",", ":")))


def packet(kind, number, length, frames):
    header = {"packet_type": kind, "packet_number": number}
    return {"header": header, "raw": {"length": length}, "frames": frames}


def main():
    common = {"ODCID": "5f1c0a7742d1b3e9", "time_format": "relative", "reference_time": 1767225600000}
    trace = {"vantage_point": {"type": "server"}, "common_fields": common}
    head = {"qlog_version": "0.3", "qlog_format": "JSON-SEQ", "title": "http3", "trace": trace}
    print("\x1e" + json.dumps(head, separators=(",", ":")))
    log_event(0, "transport:packet_received", packet("initial", 0, 1200, [{"frame_type": "crypto"}]))
    log_event(0, "transport:parameters_set", {"owner": "remote", "initial_max_data": 1 << 20,
                                        "initial_max_stream_data_bidi_local": CREDIT})
    acked = {"frame_type": "ack", "acked_ranges": [[0]]}
    log_event(0.5, "transport:packet_sent", packet("initial", 0, 1200, [acked, {"frame_type": "crypto"}]))
    log_event(RTT + 0.5, "transport:packet_received", packet("initial", 1, 1200, [acked]))
    cwnd, flying, sent, limit, number, acks, now = 10 * SIZE, 0, 0, CREDIT, 0, [], RTT + 1
    promised = acknowledged = 0  # packets
    while sent < ANSWER or acks:
        if sent < ANSWER and flying + SIZE <= cwnd and sent + DATA <= limit:
            length = min(DATA, ANSWER - sent)
            stream = {"frame_type": "stream", "stream_id": 0, "offset": sent, "length": length}
            log_event(now, "transport:packet_sent", packet("1RTT", number, length + SIZE - DATA, [stream]))
            sent, flying = sent + length, flying + SIZE
            # The client acknowledges every fourth packet and the last one.
            if number % 4 == 3 or sent == ANSWER:
                heappush(acks, (now + RTT, number, sent))
                promised = number + 1
            number, now = number + 1, now + GAP
            continue
        # The client waits no longer than this for more packets.
        if promised < number:
            heappush(acks, (now + RTT + ACK_DELAY, number - 1, sent))
            promised = number
        at, last, read = heappop(acks)
        if last < acknowledged:
            continue
        now = max(now, at)
        limit = read + CREDIT
        frames = [{"frame_type": "ack", "ack_delay": 0, "acked_ranges": [[0, last]]},
                  {"frame_type": "max_stream_data", "stream_id": 0, "maximum": limit}]
        log_event(now, "transport:packet_received", packet("1RTT", last, 40, frames))
        # Slow start grows the window only while it is the limit (RFC 9002 section 7.8).
        cwnd += (last + 1 - acknowledged) * SIZE if flying + SIZE > cwnd else 0
        flying -= (last + 1 - acknowledged) * SIZE
        acknowledged = last + 1
        log_event(now, "recovery:metrics_updated", {"congestion_window": cwnd, "bytes_in_flight": flying,
                                              "smoothed_rtt": RTT})


main()
