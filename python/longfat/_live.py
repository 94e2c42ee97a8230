"""A sender in user space and its receiver, as the programs of a flow in the lab. `longfat.gym.on_kernel` starts them.

    python -m longfat._live receive JOB PORT
    python -m longfat._live send JOB ADDRESS:PORT

JOB is a folder with `scenario.toml` and `job.json`; `send` writes `done.json` there.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from . import _native
from ._episode import play_episode
from ._scenario import loaded


def _read(job: Path) -> tuple[dict[str, Any], _native.LoadedScenario]:
    return json.loads((job / "job.json").read_text()), loaded(job / "scenario.toml", {}, True)


def receive(job: Path, port: int) -> None:
    """Receives until the process is killed."""
    job_options, scenario = _read(job)
    _native.live_receive(scenario, job_options["flow"], port)


class _Sender:
    """A running sender, played step by step."""

    def __init__(self, sender: _native.LiveSender, step_s: float, span_s: float) -> None:
        self._sender, self._step_s = sender, step_s
        self._start = sender.figures()["time_s"]
        self._steps, self._last = 0, max(1, round(span_s / step_s))

    def step(self, action: Any, /) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Executes an action. Steps are scheduled from the beginning, so a late one does not delay the next."""
        self._steps += 1
        until = self._start + self._steps * self._step_s
        seen, reward = self._sender.step(action, round(until * 1e9))
        return seen, reward, False, self._steps >= self._last, {}

    def figures(self) -> dict[str, float]:
        return self._sender.figures()


def send(job: Path, to: str) -> None:
    """Sends for the length of the episode, controlled by the policy or by a classic control, and writes the result."""
    import numpy as np

    from ._policy import Policy

    job_options, scenario = _read(job)
    classic = job_options["classic"]
    policy = Policy.load(job / "policy.json") if classic is None else None

    def act(seen: bytes) -> list[float] | None:
        if policy is None:
            return None
        action: list[float] = np.atleast_1d(policy(np.frombuffer(seen, np.float32))).astype(float).tolist()
        return action

    sender = _native.LiveSender(
        scenario, flow=job_options["flow"], to=to, seed=job_options["seed"], scheme=job_options["scheme"],
        classic=classic,
    )
    done = play_episode(_Sender(sender, job_options["step_s"], job_options["span_s"]), act, sender.observation())
    part = job / "done.part"
    part.write_text(json.dumps(done._asdict()))
    os.replace(part, job / "done.json")


def main() -> None:
    """Runs one of the two programs."""
    what, job, where = sys.argv[1:]
    if what == "receive":
        receive(Path(job), int(where))
    else:
        send(Path(job), where)


if __name__ == "__main__":
    main()
