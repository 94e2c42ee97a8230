"""`run`: a scenario in virtual time, or on the kernel."""

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
    """Runs a scenario; what `longfat run` does, without writing a file.

    `scenario`: a path or the name of a built-in example, the text of a scenario, its keys as a dictionary, or a
    `Scenario`. `seed`: the first repeat's, the scenario's own unless given; `repeat`: how often each variant runs, each
    time with the next seed: as often as the command repeats by itself unless given (five times, less often where that
    would be long), once with `controls`; 1 is a single run with hosts that are never late. `variants`: names, all unless given. `set`: overrides by dotted path
    (`{"flows.up.cc": "bbr"}`). `on`: the clock; the kernel's needs Linux and root. `progress`: True for a bar (in
    notebooks and terminals), or a function that is called with a `Progress` ten times a second. `controls`: by the name of
    a flow what makes its congestion control, a class derived from `Control` (simulated runs only). `jobs`: runs at a time,
    one for each core unless given. `allow_tools`: a scenario may start programs on this machine; `user`: as whom they run,
    root's as nobody unless given; `allow_files`: it may read files outside its folder.

    Other Python threads go on meanwhile, and Ctrl-C ends the runs. Same scenario and seed: the same result.

    Raises `ScenarioError` (with file, line, key), `UsageError`, `RunError`, `OSError`.
    """
    chosen = [variants] if isinstance(variants, str) else list(variants or ())
    read = loaded(scenario, set or {}, allow_files, chosen)
    wish: _native.RunWish = {
        "variants": chosen,
        "seed": seed,
        "repeat": repeat,
        "jobs": jobs,
        "on": on,
        "allow_tools": allow_tools,
        "user": user,
    }
    with watcher(progress) as told:
        return Result(_native.run(read, wish, list((controls or {}).items()), told))
