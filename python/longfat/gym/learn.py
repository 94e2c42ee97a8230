"""A linear policy by random search: the smallest learner that gets somewhere, to show that the environment teaches.

Augmented random search (Mania, Guy, Recht, "Simple random search provides a competitive approach to reinforcement
learning", NeurIPS 2018, algorithm 2, V1-t): a policy is a matrix; in each round directions are drawn, both signs are played in the
same worlds, and the matrix moves along the best of them, by what they gained over the other sign.

    python -m longfat.gym.learn --seconds 240

learns behind a policer whose rate, bucket and round trip are drawn anew for each episode, and holds what it learned against CUBIC
in worlds that it has not seen.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import Scenario, delay, policer
from ._env import CongestionEnv, Observation
from ._play import Episode, play
from ._ranges import Range

#: Directions a round, and how many of the best move the policy.
_DIRECTIONS, _BEST = 8, 4
_STEP, _NOISE = 0.3, 0.3
#: The largest action: with `aurora` 7 % of the rate a step of 20 ms.
_GAIN = 0.3


class LinearPolicy:
    """An action is the weights times what is seen and a constant, squashed into the middle of the space: steps are short."""

    def __init__(self, weights: NDArray[np.float64]) -> None:
        self.weights = weights

    def __call__(self, seen: Observation) -> NDArray[np.float32]:
        return (_GAIN * np.tanh(self.weights[:, :-1] @ seen + self.weights[:, -1])).astype(np.float32)


def worlds(scheme: str, classic: str | None = None, seconds: float = 10.0) -> CongestionEnv:
    """A path with a policer: 5 to 50 Mbit/s, a bucket of 10 to 100 kB, a round trip of 20 to 80 ms."""
    path = Scenario(name="policed", duration=f"{seconds:g}s")
    path.link("wan", "a", "b", forward=[policer("20Mbit/s", burst="50kB"), delay("20ms")], backward=[delay("20ms")])
    path.flow("up", "a", "b")
    ranges = {
        "links.wan.forward.policer.rate": Range("5Mbit/s", "50Mbit/s", log=True),
        "links.wan.forward.policer.burst": Range("10kB", "100kB", log=True),
        "links.wan.forward.delay.delay": Range("10ms", "40ms"),
        "links.wan.backward.delay.delay": Range("10ms", "40ms"),
    }
    return CongestionEnv(path, scheme=scheme, step_s=0.02, ranges=ranges, classic=classic)


def learn(
    env: CongestionEnv,
    *,
    seconds: float,
    seed: int = 0,
    told: Callable[[int, float], object] | None = None,
) -> LinearPolicy:
    """Searches for so many seconds of this thread; `told` hears of each round and the mean reward of its best."""
    random = np.random.default_rng(seed)
    seen = (env.observation_space.shape or (1,))[0]
    weights = np.zeros(((env.action_space.shape or (1,))[0], seen + 1))
    end, rounds = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        rounds += 1
        directions = random.standard_normal((_DIRECTIONS, *weights.shape))
        # Other worlds each round, the same for both signs.
        starts = random.integers(2**31, size=_DIRECTIONS)
        gained = np.array(
            [
                [_reward(env, weights + sign * _NOISE * d, int(start)) for sign in (1, -1)]
                for d, start in zip(directions, starts, strict=True)
            ]
        )
        best = np.argsort(-gained.max(axis=1))[:_BEST]
        spread = float(gained[best].std()) or 1.0
        moves = (gained[best, 0] - gained[best, 1])[:, None, None] * directions[best]
        weights = weights + _STEP / (_BEST * spread) * moves.sum(axis=0)
        if told is not None:
            told(rounds, float(gained[best].max(axis=1).mean()))
    return LinearPolicy(weights)


def _reward(env: CongestionEnv, weights: NDArray[np.float64], seed: int) -> float:
    policy = LinearPolicy(weights)
    seen, _ = env.reset(seed=seed)
    total, steps = 0.0, 0
    while True:
        seen, reward, done, over, _ = env.step(policy(seen))
        total, steps = total + reward, steps + 1
        if done or over:
            return total / steps


def compared(
    policy: Callable[[Observation], Any], scheme: str, seeds: Sequence[int]
) -> tuple[list[Episode], list[Episode]]:
    """Episodes of the policy, and of CUBIC in the same worlds."""
    ours, theirs = worlds(scheme), worlds(scheme, classic="cubic")
    return [play(ours, policy, seed=s) for s in seeds], [play(theirs, seed=s) for s in seeds]


def _mean(episodes: Sequence[Episode]) -> float:
    return sum(e.goodput_mbps for e in episodes) / len(episodes)


def main() -> None:
    """Learns, compares, prints."""
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--seconds", type=float, default=240.0)
    options.add_argument("--scheme", default="aurora")
    options.add_argument("--seed", type=int, default=0)
    args = options.parse_args()
    begun = time.monotonic()
    policy = learn(worlds(args.scheme), seconds=args.seconds, seed=args.seed)
    took = time.monotonic() - begun
    seeds = range(1_000_000, 1_000_040)
    ours, cubic = compared(policy, args.scheme, seeds)
    wins = sum(a.goodput_mbps > b.goodput_mbps for a, b in zip(ours, cubic, strict=True))
    print(f"learned for {took:.0f} s; {len(seeds)} worlds not seen before, goodput in Mbit/s, RTT in ms, loss:")
    for name, episodes in (("learned", ours), ("CUBIC", cubic)):
        rtt = sum(e.rtt_ms for e in episodes) / len(episodes)
        loss = sum(e.loss for e in episodes) / len(episodes)
        print(f"  {name:8}{_mean(episodes):8.2f}{rtt:8.1f}{loss:9.2%}")
    print(f"  more goodput in {wins} of {len(seeds)}, {_mean(ours) / _mean(cubic) - 1:+.0%}")


if __name__ == "__main__":
    main()
