"""Congestion controls written in Python, and the TCP endpoint driven by hand."""

from __future__ import annotations

import pytest

import longfat

from conftest import POLICED


class Reno(longfat.Control):
    """RFC 5681, as in the simulator."""

    name = "reno-in-python"

    def __init__(self) -> None:
        self.credit = 0

    def on_ack(self, socket, window, ack) -> None:
        if not socket.is_cwnd_limited:
            return
        acked = ack.acked
        if window.in_slow_start:
            grown = window.cwnd + acked
            if window.ssthresh is not None:
                grown = min(grown, window.ssthresh)
            acked -= grown - window.cwnd
            window.cwnd = grown
        if acked <= 0:
            return
        # Credit accumulated under a larger window counts as one packet.
        every = window.cwnd
        if self.credit >= every:
            self.credit, window.cwnd = 0, window.cwnd + 1
        self.credit += acked
        if self.credit >= every:
            window.cwnd += self.credit // every
            self.credit %= every

    def on_loss(self, socket, window) -> float:
        self.credit = 0
        return max(window.cwnd // 2, 2)

    def on_timeout(self, socket, window) -> None:
        self.credit = 0


def test_reno_in_python_equals_reno_exactly() -> None:
    ours = longfat.run(POLICED, variants="cubic", controls={"up": Reno}, set={"duration": "6s"})
    theirs = longfat.run(POLICED, variants="cubic", repeat=1, set={"flows.up.cc": "reno", "duration": "6s"})
    a, b = ours.flows[0].to_dict(), theirs.flows[0].to_dict()
    assert a.pop("cc") == "reno-in-python" and b.pop("cc") == "reno"
    assert a == b


class Steady(longfat.Control):
    """A constant, paced window of forty packets."""

    name, owns_window = "steady", True

    def init(self, socket, window) -> None:
        window.cwnd, window.pacing_mbps = 40, 8.0

    def on_ack(self, socket, window, ack) -> None:
        assert window.pacing_mbps == pytest.approx(8.0) and ack.acked >= 0


def test_a_control_can_own_the_window() -> None:
    result = longfat.run(POLICED, controls={"up": Steady}, set={"duration": "5s"})
    for flow in result.flows:
        assert flow.cc == "steady" and flow.goodput_mbps == pytest.approx(7.9, rel=0.03)
        assert flow.retransmitted_packets == 0


def test_an_exception_in_a_control_ends_the_run() -> None:
    class Broken(Steady):
        def on_ack(self, socket, window, ack) -> None:
            raise ZeroDivisionError("in on_ack")

    class Unmade(Steady):
        def __init__(self) -> None:
            raise OSError("no control today")

    with pytest.raises(ZeroDivisionError, match="in on_ack"):
        longfat.run(POLICED, controls={"up": Broken})
    with pytest.raises(OSError, match="no control today"):
        longfat.run(POLICED, controls={"up": Unmade})
    with pytest.raises(longfat.UsageError, match="the flows are: up"):
        longfat.run(POLICED, controls={"down": Steady})
    with pytest.raises(longfat.UsageError, match="kernel"):
        longfat.run(POLICED, controls={"up": Steady}, on="kernel")


def wire(client: longfat.Tcp, server: longfat.Tcp, delay_ns: int, lose: set[int]) -> int:
    """Plays both ends over a wire with this delay that loses these data segments. Returns the time when all is quiet."""
    now, number, data = 0, 0, 0
    flying: list[tuple[int, int, longfat.Tcp, object]] = []

    def send(to, segments) -> None:
        nonlocal number, data
        for s in segments:
            data += s.len > 0
            number += 1
            if s.len == 0 or data not in lose:
                flying.append((now + delay_ns, number, to, s))

    send(server, client.connect(now))
    send(server, client.write(now, 300_000, last=True))
    for _ in range(100_000):
        wakes = [(t, end) for end in (client, server) if (t := end.next_wake()) is not None]
        times = [f[0] for f in flying] + [t for t, _ in wakes]
        if not times or server.received == 300_000 and not flying:
            return now
        now = min(times)
        due = sorted(f[:2] for f in flying if f[0] == now)
        if due:
            f = next(f for f in flying if f[:2] == due[0])
            flying.remove(f)
            back = client if f[2] is server else server
            send(back, f[2].handle_segment(now, f[3]))
        for t, end in wakes:
            if t <= now:
                send(server if end is client else client, end.handle_wake(now))
    raise AssertionError("the transfer does not finish")


def test_two_endpoints_over_a_simulated_wire() -> None:
    client, server = longfat.Tcp(cc="reno"), longfat.Tcp()
    whole = wire(client, server, 10_000_000, lose=set())
    assert client.is_established and server.received == client.acknowledged == 300_000
    assert client.retransmitted_packets == 0 and client.srtt_ms == pytest.approx(20, rel=0.1)
    # 208 packets: the window of 10, 20, 40, 80 and the rest takes five round trips, the handshake one.
    assert whole == pytest.approx(6 * 20e6, rel=0.1)
    client, server = longfat.Tcp(cc=Reno), longfat.Tcp()
    lossy = wire(client, server, 10_000_000, lose={40})
    assert server.received == 300_000 and client.retransmitted_packets == 1 and lossy > whole
    with pytest.raises(longfat.UsageError, match="bbr"):
        longfat.Tcp(cc="renoo")
