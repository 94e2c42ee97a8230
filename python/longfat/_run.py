"""`run`: runs a scenario in virtual time or on the kernel."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal

from . import _native
from ._control import ControlFactory
from ._progress import Progress, watcher
from ._result import Result
from ._scenario import ScenarioLike, loaded


def run(
    scenario: ScenarioLike,
    *,
    seed: int | None = None,
    repeat: int | None = None,
    variants: Iterable[str] | None = None,
    set: Mapping[str, Any] | None = None,
    on: Literal["sim", "kernel", "both"] = "sim",
    progress: bool | Callable[[Progress], object] | None = None,
    controls: Mapping[str, ControlFactory] | None = None,
    jobs: int | None = None,
    allow_tools: bool = False,
    allow_files: bool = False,
    user: str | None = None,
) -> Result:
    """Runs a scenario, like `longfat run`, without writing files.

    `scenario`: a path, the name of a built-in example, the text of a scenario, its keys as a dictionary, or a `Scenario`.
    `seed`: seed of the first repeat (default: the scenario's); each further repeat uses the next one.
    `repeat`: number of runs of each variant. Default: as many as the command makes (five, fewer if that would take long);
    one with `controls`. With 1, the single run has hosts without jitter.
    `variants`: names of the variants to run (default: all).
    `set`: overrides by dotted path, `{"flows.up.cc": "bbr"}`.
    `on`: the clock: "sim" (virtual time), "kernel" (real time in network namespaces; needs Linux and root) or "both".
    `progress`: True for a progress bar, in notebooks and terminals, or a function that is called with a `Progress` ten
    times a second.
    `controls`: congestion controls by flow name, each a class derived from `Control` (simulated runs only).
    `jobs`: number of runs at a time (default: one per core).
    `allow_tools`: permits the scenario to start programs on this machine. `user`: the user that they run as (default:
    nobody if the caller is root). `allow_files`: permits it to read files outside its folder.

    Other Python threads continue meanwhile, and Ctrl-C ends the runs. The same scenario and seed give the same result.

    Raises `ScenarioError` (with file, line and key), `UsageError` for invalid arguments, `RunError`, and `OSError`.
    """
    chosen = [variants] if isinstance(variants, str) else list(variants or ())
    read = loaded(scenario, set or {}, allow_files, chosen)
    options: _native.RunOptions = {
        "variants": chosen,
        "seed": seed,
        "repeat": repeat,
        "jobs": jobs,
        "on": on,
        "allow_tools": allow_tools,
        "user": user,
    }
    with watcher(progress) as report_to:
        return Result(_native.run(read, options, list((controls or {}).items()), report_to))
