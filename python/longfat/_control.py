"""A congestion control written in Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from ._native import Ack, Socket, Window


class ControlLike(Protocol):
    """What a control has to be; `Control` is one to derive from.

    What a class does not define is not called: a control that only defines `on_loss` has a window that only shrinks.
    """

    name: str
    owns_window: bool


class Control:
    """A congestion control to derive from, used by `run(…, controls={"flow": MyControl})`.

    By default (`owns_window = False`) the simulated sender treats losses as Linux' does: it halves by PRR towards what
    `on_loss` gives, and calls `on_ack` only where the window may grow. With `owns_window = True` the control sets window
    and pacing itself, on every ACK, as BBR does.

    Methods that may be defined:

    * `init(socket, window)`: the connection is established;
    * `on_ack(socket, window, ack)`: `ack.acked` packets were newly acknowledged;
    * `on_loss(socket, window) -> float`: the slow-start threshold after a loss, packets; half the window if None;
    * `on_timeout(socket, window)`: a retransmission timeout;
    * `on_recovered(socket, window)`: a reduction of the window ended.

    `socket`, `window` and `ack` are the same objects from call to call.
    """

    name = "python"
    owns_window = False


#: Makes a control for one end of a connection: a class, or any function without arguments.
ControlFactory = Callable[[], ControlLike]
