"""A TCP endpoint without clock and socket, driven step by step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import _native
from ._control import ControlFactory
from ._scenario import loaded

if TYPE_CHECKING:
    from ._native import Segment


class Tcp:
    """One end of a TCP connection, as in the simulator, for a network and a clock of your own.

    Times are integers in nanoseconds from an arbitrary start and must not decrease. The inputs `connect`,
    `handle_segment`, `handle_wake`, `write`, `read` and `close` return the segments to send. `next_wake` returns when
    `handle_wake` is due; early calls are harmless. Payload is counted, not carried.

    `cc`: the name of a congestion control, or a class derived from `Control`. `stack`: the host's stack, as in a scenario
    (`{"profile": "windows"}`). `mtu`: the path's MTU, bytes of IP.
    """

    def __init__(
        self,
        *,
        cc: str | ControlFactory = "cubic",
        stack: dict[str, Any] | None = None,
        mtu: int = 1500,
        seed: int = 1,
    ) -> None:
        keys = {
            "hosts": {"end": {"stack": stack or {}}},
            "links": {"wire": {"between": ["end", "peer"]}},
        }
        name, own = (cc, None) if isinstance(cc, str) else ("", cc)
        self._end = _native.TcpEnd(loaded(keys, {}, False), mtu, seed, name, own)

    def connect(self, now_ns: int) -> list[Segment]:
        """Starts the handshake."""
        return self._end.connect(now_ns)

    def handle_segment(self, now_ns: int, segment: Segment) -> list[Segment]:
        """Processes a segment from the peer."""
        return self._end.handle_segment(now_ns, segment)

    def handle_wake(self, now_ns: int) -> list[Segment]:
        """Processes the passing of time: due timers expire."""
        return self._end.handle_wake(now_ns)

    def next_wake(self) -> int | None:
        """When `handle_wake` is due, nanoseconds; None if no timer runs."""
        return self._end.next_wake()

    def write(self, now_ns: int, count: int, *, last: bool = False) -> list[Segment]:
        """The application writes `count` bytes; `last`: the final ones."""
        return self._end.write(now_ns, count, last)

    def read(self, now_ns: int, count: int) -> list[Segment]:
        """The application reads `count` bytes; only needed if `auto_read` is off."""
        return self._end.read(now_ns, count)

    def close(self, now_ns: int) -> list[Segment]:
        """Closes the application's sending side."""
        return self._end.close(now_ns)

    @property
    def auto_read(self) -> bool:
        """Whether arriving bytes are read immediately; True by default."""
        return self._end.auto_read

    @auto_read.setter
    def auto_read(self, yes: bool) -> None:
        self._end.auto_read = yes

    @property
    def is_established(self) -> bool:
        """Whether the handshake is complete."""
        return self._end.is_established

    @property
    def is_closed(self) -> bool:
        """Whether both ends have closed and everything that either sent has arrived."""
        return self._end.is_closed

    @property
    def readable(self) -> int:
        """Bytes received that the application has not read yet."""
        return self._end.readable

    @property
    def received(self) -> int:
        """Bytes that the application has read."""
        return self._end.received

    @property
    def acknowledged(self) -> int:
        """Stream offset of the first byte that the peer has not acknowledged."""
        return self._end.acknowledged

    @property
    def cwnd(self) -> int:
        """Congestion window, packets."""
        return self._end.cwnd

    @property
    def inflight(self) -> int:
        """Packets in flight."""
        return self._end.inflight

    @property
    def srtt_ms(self) -> float | None:
        """Smoothed round-trip time, ms; None before the first sample."""
        return self._end.srtt_ms

    @property
    def mss(self) -> int:
        """Payload of a full segment, bytes."""
        return self._end.mss

    @property
    def sent_packets(self) -> int:
        """Number of data packets sent, including retransmissions."""
        return self._end.sent_packets[0]

    @property
    def retransmitted_packets(self) -> int:
        """Number of retransmissions."""
        return self._end.sent_packets[1]
