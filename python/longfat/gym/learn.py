"""Learns a linear policy by random search: the smallest learner that makes progress, to show that the environment works.

Augmented random search (Mania, Guy, Recht, "Simple random search provides a competitive approach to reinforcement
learning", NeurIPS 2018, algorithm 2, V1-t): a policy is a matrix. Each round draws directions, plays both signs of each in
the same worlds, and moves the matrix along the best ones by their difference in reward.

    python -m longfat.gym.learn --seconds 240

learns behind a policer whose rate, bucket and round trip are drawn for each episode, and compares the result with CUBIC in
worlds that it has not seen. `--kernel 5` also plays the first five of these in the lab, next to the kernel's CUBIC.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from .. import Scenario, delay, policer, run
from .._episode import Episode
from .._policy import Policy
from ._env import CongestionEnv
from ._kernel import on_kernel
from ._play import play
from ._ranges import Range

#: Directions per round, and how many of the best move the policy.
_DIRECTIONS, _BEST = 8, 4
_STEP, _NOISE = 0.3, 0.3
#: The largest action: with `aurora`, 7 % of the rate in a step of 20 ms.
_GAIN = 0.3


def linear(weights: NDArray[np.float64], env: CongestionEnv) -> Policy:
    """The policy for a weight matrix: the action is weights times observation and a constant, squashed so that steps are small."""
    layer = (weights[:, :-1], weights[:, -1])
    return Policy([layer], output="tanh", scale=_GAIN, scheme=env.scheme, step_s=env.step_s)


def policed(seconds: float = 10.0) -> Scenario:
    """A path with a policer, as a scenario."""
    path = Scenario(name="policed", duration=f"{seconds:g}s")
    path.link("wan", "a", "b", forward=[policer("20Mbit/s", burst="50kB"), delay("20ms")], backward=[delay("20ms")])
    path.flow("up", "a", "b")
    return path


def worlds(scheme: str, classic: str | None = None, seconds: float = 10.0) -> CongestionEnv:
    """An environment of such paths: 5 to 50 Mbit/s, a bucket of 10 to 100 kB, a round trip of 20 to 80 ms."""
    ranges = {
        "links.wan.forward.policer.rate": Range("5Mbit/s", "50Mbit/s", log=True),
        "links.wan.forward.policer.burst": Range("10kB", "100kB", log=True),
        "links.wan.forward.delay.delay": Range("10ms", "40ms"),
        "links.wan.backward.delay.delay": Range("10ms", "40ms"),
    }
    return CongestionEnv(policed(seconds), scheme=scheme, step_s=0.02, ranges=ranges, classic=classic)


def learn(
    env: CongestionEnv,
    *,
    seconds: float,
    seed: int = 0,
    on_round: Callable[[int, float], object] | None = None,
) -> Policy:
    """Learns for `seconds` of this thread. `on_round(number, reward)` receives each round's best mean reward."""
    random = np.random.default_rng(seed)
    seen = (env.observation_space.shape or (1,))[0]
    weights = np.zeros(((env.action_space.shape or (1,))[0], seen + 1))
    end, rounds = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        rounds += 1
        directions = random.standard_normal((_DIRECTIONS, *weights.shape))
        # New worlds each round, the same for both signs.
        starts = random.integers(2**31, size=_DIRECTIONS)
        gained = np.array(
            [
                [_reward(env, linear(weights + sign * _NOISE * d, env), int(start)) for sign in (1, -1)]
                for d, start in zip(directions, starts, strict=True)
            ]
        )
        best = np.argsort(-gained.max(axis=1))[:_BEST]
        spread = float(gained[best].std()) or 1.0
        moves = (gained[best, 0] - gained[best, 1])[:, None, None] * directions[best]
        weights = weights + _STEP / (_BEST * spread) * moves.sum(axis=0)
        if on_round is not None:
            on_round(rounds, float(gained[best].max(axis=1).mean()))
    return linear(weights, env)


def _reward(env: CongestionEnv, policy: Policy, seed: int) -> float:
    episode = play(env, policy, seed=seed)
    return episode.reward / episode.steps


def compared(policy: Policy, seeds: Sequence[int]) -> tuple[list[Episode], list[Episode]]:
    """Episodes of the policy, and of CUBIC in the same worlds."""
    ours, theirs = worlds(policy.scheme), worlds(policy.scheme, classic="cubic")
    return [play(ours, policy, seed=s) for s in seeds], [play(theirs, seed=s) for s in seeds]


def on_both_clocks(policy: Policy, seed: int) -> tuple[Episode, Episode, float, float]:
    """Plays the policy in the world of this seed, simulated and in the lab. Returns both episodes, and CUBIC's goodput,
    Mbit/s, simulated and on the kernel."""
    env = worlds(policy.scheme)
    _, values = env.reset(seed=seed)
    simulated = play(env, policy, seed=seed)
    kernel = on_kernel(policy, policed(), set=values, seed=seed)
    cubic = run(policed(), on="both", set=values | {"flows.up.cc": "cubic"}, seed=seed)
    sim, real = (v.flows[0].goodput_mbps for v in cubic.variants)
    return simulated, kernel, sim, real


def _mean(episodes: Sequence[Episode]) -> float:
    return sum(e.goodput_mbps for e in episodes) / len(episodes)


def main() -> None:
    """Learns, compares and prints."""
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--seconds", type=float, default=240.0, help="time to learn")
    options.add_argument("--scheme", default="aurora", help="scheme of the environment")
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--save", metavar="FILE", help="write the policy to FILE")
    options.add_argument("--load", metavar="FILE", help="play the policy in FILE instead of learning one")
    options.add_argument("--kernel", type=int, default=0, metavar="N", help="play N worlds in the lab too, next to CUBIC")
    args = options.parse_args()
    begun = time.monotonic()
    policy = Policy.load(args.load) if args.load else learn(worlds(args.scheme), seconds=args.seconds, seed=args.seed)
    took = time.monotonic() - begun
    if args.save:
        policy.save(args.save)
    seeds = range(1_000_000, 1_000_040)
    ours, cubic = compared(policy, seeds)
    wins = sum(a.goodput_mbps > b.goodput_mbps for a, b in zip(ours, cubic, strict=True))
    print(f"learned for {took:.0f} s; {len(seeds)} unseen worlds, goodput in Mbit/s, RTT in ms, loss:")
    for name, episodes in (("learned", ours), ("CUBIC", cubic)):
        rtt = sum(e.rtt_ms for e in episodes) / len(episodes)
        loss = sum(e.loss for e in episodes) / len(episodes)
        print(f"  {name:8}{_mean(episodes):8.2f}{rtt:8.1f}{loss:9.2%}")
    print(f"  more goodput in {wins} of {len(seeds)}, {_mean(ours) / _mean(cubic) - 1:+.0%}")
    gains = []
    for seed in seeds[: args.kernel]:
        sim, kernel, cubic_sim, cubic_kernel = on_both_clocks(policy, seed)
        gains.append((sim.goodput_mbps / cubic_sim, kernel.goodput_mbps / cubic_kernel))
        print(
            f"  world {seed}: learned {sim.goodput_mbps:.2f} simulated, {kernel.goodput_mbps:.2f} in the lab; CUBIC "
            f"{cubic_sim:.2f} and {cubic_kernel:.2f} (the kernel's): {gains[-1][0]:.2f} and {gains[-1][1]:.2f} times",
            flush=True,
        )
    if gains:
        simulated, real = (sum(g[i] for g in gains) / len(gains) for i in (0, 1))
        off = sorted(abs(k / s - 1) for s, k in gains)
        print(f"  gain {simulated:.2f} times simulated, {real:.2f} in the lab; in {sum(o <= 0.15 for o in off)} of {len(off)} "
              f"worlds within 15 %, median {off[len(off) // 2]:.1%} off")


if __name__ == "__main__":
    main()
