"""Episodes played to their end: by a policy, or by a classic control in the same world."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ._env import CongestionEnv, Observation

#: What decides: an observation in, an action out.
Policy = Callable[[Observation], Any]


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


def play(env: CongestionEnv, policy: Policy | None = None, *, seed: int | None = None) -> Episode:
    """An episode by this policy; without one nothing is done."""
    seen, _ = env.reset(seed=seed)
    idle = [0.0] * (env.action_space.shape or (1,))[0] if env.action_space.shape else 0
    reward, rtt, lost, delivered, steps = 0.0, 0.0, 0.0, 0.0, 0
    begin = env.figures()
    while True:
        seen, gained, done, over, _ = env.step(idle if policy is None else policy(seen))
        now = env.figures()
        reward, rtt, steps = reward + float(gained), rtt + now["rtt_ms"], steps + 1
        lost, delivered = lost + now["lost"], delivered + now["delivered"]
        if done or over:
            break
    span = now["time_s"] - begin["time_s"]
    goodput = (now["delivered_bytes"] - begin["delivered_bytes"]) * 8e-6 / span
    return Episode(reward, goodput, rtt / steps, lost / max(1.0, lost + delivered), steps)


def classic(control: str, scenario: Any, *, seed: int | None = None, **env: Any) -> Episode:
    """An episode of a classic control (`"cubic"`, `"bbr"`, …) in the world that `CongestionEnv(scenario, **env)` is, with
    the rewards of its scheme. Same seed: the same path and the same draws."""
    return play(CongestionEnv(scenario, classic=control, **env), seed=seed)
