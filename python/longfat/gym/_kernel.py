"""A policy on the kernel: real hosts, real time, the scenario's path between them."""

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

#: Of the lab's run, beside the episode: an interpreter begins, a handshake, and the last step is told.
_MARGIN_S = 3.0


def _is_root() -> bool:
    return os.geteuid() == 0 and "SUDO_UID" not in os.environ


def _word(path: str) -> str:
    """A path as a word of a scenario's command."""
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
    """An episode in the lab: network namespaces, the scenario's links between them, real seconds.

    The flow's sender is the simulator's own, in user space, paced by timers, over UDP with datagrams as long as TCP's packets
    would be; the policy (or the file of one) sets its window or pacing rate each step as it did where it was learned. The
    receiver is the simulator's as well. All other flows are the kernel's. `classic`: a control of longfat's in the policy's
    place: what the sender itself costs is seen by holding that against `longfat.run(…, on="kernel")`.

    `scheme` and `step_s`: the policy's own unless given. `seconds`: how long the episode is, the scenario's duration unless
    given. `allow_tools`: other flows of the scenario may start programs on this machine. `user`: as whom the sender and the
    receiver run, whoever calls unless given (through sudo: who called it); he must be able to read Python and the package. They
    have no privileges in any case. Marks of ECN are not read.

    Needs Linux, and root or user namespaces. Raises `RunError` with what the programs said where no episode came of it.
    """
    held = Policy.load(policy) if isinstance(policy, (str, os.PathLike)) else policy
    if (held is None) == (classic is None):
        raise ValueError("either a policy or classic= is played")
    if held is not None:
        scheme, step_s = scheme or held.scheme, step_s or held.step_s
    scheme, step_s = scheme or "direct", step_s or 0.01
    if scheme not in {row[0] for row in _native.schemes()}:
        raise ValueError(f"no scheme is called {scheme!r}")
    read = loaded(scenario, set or {}, False, [variant] if variant else [])
    flows = read.flows(0)
    name = flow or flows[0]
    if name not in flows:
        raise ValueError(f"no flow is called {name!r}; there are: {', '.join(flows)}")
    text = read.variant_toml(0) or ""
    # Whoever runs the programs reads it, and leaves what came of it there.
    with tempfile.TemporaryDirectory(prefix="longfat-", dir="/tmp") as folder:
        job = Path(folder)
        if user or "SUDO_UID" in os.environ:
            job.chmod(0o777)
        span = seconds or read.duration_s(0) or 0.0
        wish = {"flow": flows.index(name), "seed": seed, "scheme": scheme, "step_s": step_s, "span_s": span, "classic": classic}
        (job / "scenario.toml").write_text(text)
        (job / "job.json").write_text(json.dumps(wish))
        if held is not None:
            held.save(job / "policy.json")
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
            said = "; ".join(result.notices) or "the sender left nothing behind"
            raise RunError(f"no episode: {said}") from None
    return Episode(**done)
