"""What an episode comes to, whoever's clock it has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol


class Episode(NamedTuple):
    """What an episode came to."""

    #: Sum of the rewards.
    reward: float
    #: Payload delivered by the second, Mbit/s.
    goodput_mbps: float
    #: Mean over the steps of the round-trip time, ms.
    rtt_ms: float
    #: Packets lost of those whose fate is known.
    loss: float
    steps: int


class Steps(Protocol):
    """What is played step by step."""

    def step(self, action: Any, /) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Carries an action out: what is seen, the reward, whether all is sent, whether the time is over."""
        ...

    def figures(self) -> dict[str, float]:
        """What the last step measured, by name."""
        ...


def played(env: Steps, act: Callable[[Any], Any], seen: Any) -> Episode:
    """Steps to the episode's end. `act`: what is seen in, an action out; `seen`: at the beginning."""
    reward, rtt, lost, delivered, steps = 0.0, 0.0, 0.0, 0.0, 0
    begin = env.figures()
    while True:
        seen, gained, done, over, _ = env.step(act(seen))
        now = env.figures()
        reward, rtt, steps = reward + float(gained), rtt + now["rtt_ms"], steps + 1
        lost, delivered = lost + now["lost"], delivered + now["delivered"]
        if done or over:
            break
    span = now["time_s"] - begin["time_s"]
    goodput = (now["delivered_bytes"] - begin["delivered_bytes"]) * 8e-6 / span
    return Episode(reward, goodput, rtt / steps, lost / max(1.0, lost + delivered), steps)
