"""Plays whole episodes: with a policy, or with a classic congestion control in the same world."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._episode import Episode, play_episode
from ._env import CongestionEnv, Observation

#: Maps an observation to an action.
Decide = Callable[[Observation], Any]


def play(env: CongestionEnv, policy: Decide | None = None, *, seed: int | None = None) -> Episode:
    """Plays an episode with this policy; without one, with the neutral action."""
    seen, _ = env.reset(seed=seed)
    idle = [0.0] * (env.action_space.shape or (1,))[0] if env.action_space.shape else 0
    return play_episode(env, policy or (lambda _: idle), seen)


def classic(control: str, scenario: Any, *, seed: int | None = None, **env: Any) -> Episode:
    """Plays an episode with a classic congestion control (`"cubic"`, `"bbr"`, …) in the world `CongestionEnv(scenario, **env)`,
    with the rewards of its scheme. The same seed gives the same path and the same drawn values."""
    return play(CongestionEnv(scenario, classic=control, **env), seed=seed)
