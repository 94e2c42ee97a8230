"""The environments: one path, or several in parallel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from .. import _native
from .._scenario import ScenarioLike, loaded
from ._ranges import Draw, draw_values

#: Observations are clipped to this (`crates/faces/world/src/scheme.rs`).
_BOUND = 10.0

Observation = NDArray[np.float32]


class _Worlds:
    """Creates worlds from a scenario."""

    def __init__(
        self,
        scenario: ScenarioLike,
        scheme: str,
        step_s: float,
        flow: str | None,
        variant: str | None,
        ranges: Mapping[str, Draw] | None,
        set: Mapping[str, Any] | None,
        classic: str | None,
        host_jitter: bool,
        max_steps: int | None,
    ) -> None:
        known = {row[0]: row[2:] for row in _native.schemes()}
        if scheme not in known:
            raise ValueError(f"no scheme {scheme!r}; the schemes are: {', '.join(known)}")
        features, history, choices, length, low, high = known[scheme]
        self.scenario, self.ranges, self.set = scenario, dict(ranges or {}), dict(set or {})
        self.scheme, self.step_s, self.classic, self.host_jitter = scheme, step_s, classic, host_jitter
        self.max_steps = max_steps
        read = loaded(scenario, self.set, False)
        self.variant = read.variants.index(variant) if variant else 0
        flows = read.flows(self.variant)
        self.flow = flows.index(flow) if flow else 0
        self._fixed = None if self.ranges else read
        self.discrete = choices > 0
        self.observation_space = spaces.Box(-_BOUND, _BOUND, (features * history,), np.float32)
        self.action_space: spaces.Space[Any] = (
            spaces.Discrete(choices) if choices else spaces.Box(low, high, (length,), np.float32)
        )

    def make(self, random: np.random.Generator) -> tuple[_native.NativeWorld, dict[str, Any]]:
        values = draw_values(self.ranges, random)
        read = self._fixed or loaded(self.scenario, {**self.set, **values}, False)
        world = _native.NativeWorld(
            read,
            variant=self.variant,
            flow=self.flow,
            seed=int(random.integers(2**63)),
            step_s=self.step_s,
            scheme=self.scheme,
            classic=self.classic,
            host_jitter=self.host_jitter,
        )
        return world, values


class CongestionEnv(gymnasium.Env[Observation, Any]):
    """A scenario in which an agent sets a flow's window, pacing rate, or both.

    `scenario`: as for `longfat.run`. `scheme`: defines observation, action and reward. `step_s`: seconds between two
    actions. `flow`, `variant`: by name (default: the first). `ranges`: scenario keys that are drawn for each episode, by
    dotted path. `set`: scenario keys that are set in all episodes. `classic`: a congestion control (`"cubic"`) that sets the
    window alone; actions are then ignored. `host_jitter`: simulated hosts have the jitter of real ones. `max_steps`: maximum
    length of an episode (default: the scenario's duration).

    An episode is truncated at the end of the scenario's duration, and terminated when the flow has sent everything.
    Observations are float32 vectors of shape `observation_space.shape`. `info` of `reset` contains the drawn values;
    `figures()` returns the measurements of the last step.
    """

    metadata: dict[str, Any] = {"render_modes": []}

    def __init__(
        self,
        scenario: ScenarioLike,
        *,
        scheme: str = "orca",
        step_s: float = 0.01,
        flow: str | None = None,
        variant: str | None = None,
        ranges: Mapping[str, Draw] | None = None,
        set: Mapping[str, Any] | None = None,
        classic: str | None = None,
        host_jitter: bool = False,
        max_steps: int | None = None,
    ) -> None:
        self._worlds = _Worlds(
            scenario, scheme, step_s, flow, variant, ranges, set, classic, host_jitter, max_steps
        )
        self.observation_space = self._worlds.observation_space
        self.action_space = self._worlds.action_space
        self._world: _native.NativeWorld | None = None
        self._steps = 0

    @property
    def scheme(self) -> str:
        """Name of the scheme, which defines observation, action and reward."""
        return self._worlds.scheme

    @property
    def step_s(self) -> float:
        """Time between two actions, seconds."""
        return self._worlds.step_s

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        super().reset(seed=seed)
        self._world, values = self._worlds.make(self.np_random)
        self._steps = 0
        return np.frombuffer(self._world.observation(), np.float32), values

    def step(self, action: Any) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        if self._world is None:
            raise gymnasium.error.ResetNeeded("reset() comes before step()")
        wanted = [float(action)] if self._worlds.discrete else np.asarray(action, float).tolist()
        seen, reward, done, over = self._world.step(wanted)
        self._steps += 1
        over = over or self._steps == self._worlds.max_steps
        return np.frombuffer(seen, np.float32), reward, done, over, {}

    def figures(self) -> dict[str, float]:
        """The measurements of the last step by name: rates, round-trip times, losses."""
        if self._world is None:
            raise gymnasium.error.ResetNeeded("reset() comes before figures()")
        return self._world.figures()


class CongestionVectorEnv(VectorEnv[Observation, Any, NDArray[Any]]):
    """Several worlds, stepped together in Rust, with less Python work per step. Arguments are as for `CongestionEnv`.

    Observations have the shape `(num_envs, n)`. A world whose episode has ended is reset by the next step, which ignores
    its action (Gymnasium's `NEXT_STEP`).
    """

    metadata: dict[str, Any] = {"autoreset_mode": AutoresetMode.NEXT_STEP, "render_modes": []}

    def __init__(
        self,
        num_envs: int,
        scenario: ScenarioLike,
        *,
        scheme: str = "orca",
        step_s: float = 0.01,
        flow: str | None = None,
        variant: str | None = None,
        ranges: Mapping[str, Draw] | None = None,
        set: Mapping[str, Any] | None = None,
        classic: str | None = None,
        host_jitter: bool = False,
        max_steps: int | None = None,
    ) -> None:
        self._worlds = _Worlds(
            scenario, scheme, step_s, flow, variant, ranges, set, classic, host_jitter, max_steps
        )
        self.num_envs = num_envs
        self.single_observation_space = self._worlds.observation_space
        self.single_action_space = self._worlds.action_space
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._all: list[_native.NativeWorld] = []
        self._randoms: list[np.random.Generator] = []
        self._ended = np.zeros(num_envs, bool)
        self._steps = np.zeros(num_envs, int)

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        if isinstance(seed, int) or not self._randoms:
            seeds = np.random.SeedSequence(seed if isinstance(seed, int) else None).spawn(self.num_envs)
            self._randoms = [np.random.default_rng(s) for s in seeds]
        if isinstance(seed, list):
            self._randoms = [np.random.default_rng(s) for s in seed]
        made = [self._worlds.make(random) for random in self._randoms]
        self._all = [world for world, _ in made]
        self._ended[:] = False
        self._steps[:] = 0
        seen = b"".join(world.observation() for world in self._all)
        return self._shaped(seen), {key: np.array([v[key] for _, v in made]) for key in made[0][1]}

    def step(
        self, actions: Any
    ) -> tuple[Observation, NDArray[Any], NDArray[Any], NDArray[Any], dict[str, Any]]:
        wanted = np.asarray(actions, float).reshape(self.num_envs, -1)
        if self._ended.any():
            return self._step_some(wanted)
        seen, rewards, dones, overs = _native.step_all(self._all, wanted.ravel().tolist(), wanted.shape[1])
        return self._shaped(seen), *self._count_step(np.array(rewards), np.array(dones), np.array(overs)), {}

    def _step_some(
        self, wanted: NDArray[Any]
    ) -> tuple[Observation, NDArray[Any], NDArray[Any], NDArray[Any], dict[str, Any]]:
        """A step in which worlds whose episode has ended begin a new one."""
        seen, rewards = [], np.zeros(self.num_envs)
        dones, overs = np.zeros(self.num_envs, bool), np.zeros(self.num_envs, bool)
        for i, ended in enumerate(self._ended):
            if ended:
                self._all[i], _ = self._worlds.make(self._randoms[i])
                self._steps[i] = -1
                seen.append(self._all[i].observation())
            else:
                one, rewards[i], dones[i], overs[i] = self._all[i].step(wanted[i].tolist())
                seen.append(one)
        return self._shaped(b"".join(seen)), *self._count_step(rewards, dones, overs), {}

    def _count_step(
        self, rewards: NDArray[Any], dones: NDArray[Any], overs: NDArray[Any]
    ) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        self._steps += 1
        if self._worlds.max_steps is not None:
            overs = overs | (self._steps >= self._worlds.max_steps)
        self._ended = dones | overs
        return rewards, dones, overs

    def _shaped(self, seen: bytes) -> Observation:
        return np.frombuffer(seen, np.float32).reshape(self.num_envs, -1)
