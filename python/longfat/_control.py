"""Congestion controls written in Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from ._native import Ack, Socket, Window


class ControlLike(Protocol):
    """The interface of a congestion control; derive from `Control` to get the defaults.

    Methods that a class does not define are not called: a control that only defines `on_loss` has a window that only
    shrinks.
    """

    name: str
    owns_window: bool


class Control:
    """Base class of congestion controls, used by `run(…, controls={"flow": MyControl})`.

    By default (`owns_window = False`) the simulated sender handles losses as Linux does: it reduces the window by PRR
    towards the value that `on_loss` returns, and calls `on_ack` only when the window may grow. With `owns_window = True`
    the control sets window and pacing rate itself on every ACK, as BBR does.

    Optional methods:

    * `init(socket, window)`: the connection is established;
    * `on_ack(socket, window, ack)`: `ack.acked` packets were newly acknowledged;
    * `on_loss(socket, window) -> float`: returns the slow-start threshold after a loss, packets; None means half the
      window;
    * `on_timeout(socket, window)`: a retransmission timeout expired;
    * `on_recovered(socket, window)`: a reduction of the window ended.

    `socket`, `window` and `ack` are the same objects in every call.
    """

    name = "python"
    owns_window = False


#: Creates the control for one end of a connection: a class, or a function without arguments.
ControlFactory = Callable[[], ControlLike]
