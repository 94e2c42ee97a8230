"""A path as a Gymnasium environment: an agent sets the window or pacing rate of a flow, step by step.

>>> import longfat.gym
>>> env = longfat.gym.CongestionEnv("my-path.toml", scheme="orca", step_s=0.02)
>>> observation, info = env.reset(seed=1)
>>> observation, reward, terminated, truncated, info = env.step(env.action_space.sample())

Requires gymnasium and numpy: `pip install 'longfat[gym]'`.

| scheme | action | observation | source |
|---|---|---|---|
| `aurora` | factor on the pacing rate | RTT's slope and ratio, sent to delivered packets, of ten steps | Jay et al., ICML 2019 |
| `orca` | CUBIC's window times 2^a | seven figures of one step | Abbasloo et al., SIGCOMM 2020 |
| `mvfst-rl` | one of five changes of the window | ten figures of ten steps | Sivakumar et al., 2019 |
| `direct` | window and pacing rate, each times 2^a | six figures of one step | – |

A learned policy is stored as a `Policy`, and `on_kernel` plays it in real time between real hosts.

Differences from the papers are listed at the head of each scheme's file (`crates/faces/world/src/scheme`).
"""

from .._episode import Episode
from .._policy import Policy
from ._env import CongestionEnv, CongestionVectorEnv
from ._kernel import on_kernel
from ._play import classic, play
from ._ranges import Range

__all__ = ["CongestionEnv", "CongestionVectorEnv", "Episode", "Policy", "Range", "classic", "on_kernel", "play"]
