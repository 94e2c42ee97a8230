"""The result of an episode, in virtual or in real time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol


class Episode(NamedTuple):
    """The result of an episode."""

    #: Sum of the rewards.
    reward: float
    #: Payload delivered per second, Mbit/s.
    goodput_mbps: float
    #: Round-trip time, ms: mean over the steps.
    rtt_ms: float
    #: Share of the packets with a known fate that were lost.
    loss: float
    steps: int


class Steps(Protocol):
    """An environment that is played step by step."""

    def step(self, action: Any, /) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Executes an action. Returns the observation, the reward, whether the flow is done, whether the time is over, and info."""
        ...

    def figures(self) -> dict[str, float]:
        """The measurements of the last step, by name."""
        ...


def play_episode(env: Steps, act: Callable[[Any], Any], seen: Any) -> Episode:
    """Plays to the end of the episode. `act` maps an observation to an action; `seen` is the first observation."""
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
