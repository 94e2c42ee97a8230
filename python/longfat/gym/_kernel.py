"""Plays a policy on the kernel: real hosts in real time, with the scenario's path between them."""

from __future__ import annotations

import json
import os
import shlex
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .. import _native
from .._episode import Episode
from .._errors import RunError
from .._policy import Policy
from .._run import run
from .._scenario import ScenarioLike, loaded

#: Added to the episode's length for starting an interpreter, the handshake, and reporting the last step, seconds.
_MARGIN_S = 5.0


def _is_root() -> bool:
    return os.geteuid() == 0 and "SUDO_UID" not in os.environ


def _word(path: str) -> str:
    """A path as a word of a scenario's command, quoted."""
    return shlex.quote(path.replace("{", "{{").replace("}", "}}"))


def on_kernel(
    policy: Policy | str | os.PathLike[str] | None,
    scenario: ScenarioLike,
    *,
    classic: str | None = None,
    scheme: str | None = None,
    step_s: float | None = None,
    flow: str | None = None,
    variant: str | None = None,
    seed: int = 1,
    set: Mapping[str, Any] | None = None,
    seconds: float | None = None,
    allow_tools: bool = False,
    user: str | None = None,
) -> Episode:
    """Plays an episode in the lab: network namespaces with the scenario's links between them, in real time.

    The flow's sender is the simulator's, in user space, paced by timers, over UDP with datagrams as long as TCP's packets.
    The policy (or a file of one) sets its window or pacing rate at each step, as in training. The receiver is the
    simulator's too; all other flows use the kernel's TCP. `classic`: a congestion control of longfat in place of the
    policy; comparing it with `longfat.run(…, on="kernel")` shows the effect of the user-space sender itself.

    `scheme`, `step_s`: default: the policy's. `seconds`: length of the episode (default: the scenario's duration).
    `flow`, `variant`, `seed`, `set`: as in `CongestionEnv` and `longfat.run`. `allow_tools`: permits other flows of the
    scenario to start programs on this machine. `user`: the user that sender and receiver run as (default: the caller, with
    sudo the user who called it); it must be able to read Python and the package. They never have privileges. ECN marks are
    ignored.

    Requires Linux, and root or user namespaces. Raises `RunError` with the programs' messages if the episode fails, and
    `ValueError` for invalid arguments.
    """
    loaded_policy = Policy.load(policy) if isinstance(policy, (str, os.PathLike)) else policy
    if (loaded_policy is None) == (classic is None):
        raise ValueError("either a policy or classic= is required, not both")
    if loaded_policy is not None:
        scheme, step_s = scheme or loaded_policy.scheme, step_s or loaded_policy.step_s
    scheme, step_s = scheme or "direct", step_s or 0.01
    if scheme not in {row[0] for row in _native.schemes()}:
        raise ValueError(f"no scheme {scheme!r}")
    read = loaded(scenario, set or {}, False, [variant] if variant else [])
    flows = read.flows(0)
    name = flow or flows[0]
    if name not in flows:
        raise ValueError(f"no flow {name!r}; the flows are: {', '.join(flows)}")
    text = read.variant_toml(0) or ""
    # The user that runs the programs must read the folder and write the result there.
    with tempfile.TemporaryDirectory(prefix="longfat-", dir="/tmp") as folder:
        job = Path(folder)
        if user or "SUDO_UID" in os.environ:
            job.chmod(0o777)
        span = seconds or read.duration_s(0) or 0.0
        job_options = {
            "flow": flows.index(name), "seed": seed, "scheme": scheme, "step_s": step_s, "span_s": span, "classic": classic,
        }
        (job / "scenario.toml").write_text(text)
        (job / "job.json").write_text(json.dumps(job_options))
        if loaded_policy is not None:
            loaded_policy.save(job / "policy.json")
        for file in job.iterdir():
            file.chmod(0o644)
        program = f"{_word(sys.executable)} -m longfat._live"
        result = run(
            text,
            on="kernel",
            seed=seed,
            set={
                "duration": f"{span + _MARGIN_S:g}s",
                f"flows.{name}.tool": f"{program} send {_word(folder)} {{to}}:{{port}}",
                f"flows.{name}.server": f"{program} receive {_word(folder)} {{port}}",
                f"flows.{name}.app": {"kind": "udp", "rate": "1Mbit/s"},
            },
            allow_tools=allow_tools,
            allow_files=True,
            user=user or ("root" if _is_root() else None),
        )
        try:
            done = json.loads((job / "done.json").read_text())
        except OSError:
            ended = f"the sender wrote no result within {span + _MARGIN_S:g} s"
            raise RunError(f"no episode: {'; '.join([ended, *result.notices])}") from None
    return Episode(**done)
