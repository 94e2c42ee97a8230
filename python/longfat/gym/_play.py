"""Episodes played to their end: by a policy, or by a classic control in the same world."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._episode import Episode, played
from ._env import CongestionEnv, Observation

#: What decides: an observation in, an action out.
Decide = Callable[[Observation], Any]


def play(env: CongestionEnv, policy: Decide | None = None, *, seed: int | None = None) -> Episode:
    """An episode by this policy; without one nothing is done."""
    seen, _ = env.reset(seed=seed)
    idle = [0.0] * (env.action_space.shape or (1,))[0] if env.action_space.shape else 0
    return played(env, policy or (lambda _: idle), seen)


def classic(control: str, scenario: Any, *, seed: int | None = None, **env: Any) -> Episode:
    """An episode of a classic control (`"cubic"`, `"bbr"`, …) in the world that `CongestionEnv(scenario, **env)` is, with
    the rewards of its scheme. Same seed: the same path and the same draws."""
    return play(CongestionEnv(scenario, classic=control, **env), seed=seed)
