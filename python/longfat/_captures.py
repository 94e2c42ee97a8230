"""Captures: diagnosed, and a path fitted to them; plans of what would be faster."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping
from html import escape
from typing import Any

from . import _native
from ._progress import Progress, watcher
from ._record import Record
from ._scenario import ScenarioLike, loaded

PathLike = str | os.PathLike[str]


class Diagnosis(Record):
    """What limited the flows of a capture: `capture`, `flows` and `udp_flows`, as `longfat diagnose --json` prints them
    (`docs/diagnosis-schema.md`)."""

    __slots__ = ()

    def to_json(self) -> str:
        """The JSON, with this object's keys."""
        return json.dumps(self._json, indent=2, ensure_ascii=False) + "\n"

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{title}</th>" for title in ("flow", "cause", "share", "goodput, Mbit/s"))
        rows = []
        for flow in self._json["flows"][:50]:
            share = max((c["share"] for c in flow["causes"] if c["cause"] == flow["cause"]), default=0.0)
            ends = f"{flow['from']} → {flow['to']}"
            cells = (ends, flow["cause"], f"{share:.0%}", f"{flow['measures']['goodput_mbps']:.2f}")
            rows.append("<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in cells) + "</tr>")
        return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


class Fit(Record):
    """A path as it was captured, as `longfat fit --json` prints it; `scenario` is the text of a scenario that behaves as
    it did, which `run` and `plan` take."""

    __slots__ = ("_native",)

    def __init__(self, native: _native.FitOutput) -> None:
        super().__init__(json.loads(native.json))
        self._native = native

    def to_json(self) -> str:
        """What `longfat fit --json` prints."""
        return self._native.json

    def __reduce__(self) -> tuple[Any, ...]:
        return (Record, (self._json,))


class Plan(Record):
    """What would make a path faster, as `longfat plan --json` prints it; `commands` is what to type for the cure that is
    advised, None where none helps."""

    __slots__ = ("_text", "_commands")

    def __init__(self, text: str, commands: str | None) -> None:
        super().__init__(json.loads(text))
        self._text = text
        self._commands = commands

    @property
    def commands(self) -> str | None:
        return self._commands

    def to_json(self) -> str:
        """What `longfat plan --json` prints."""
        return self._text

    def __reduce__(self) -> tuple[Any, ...]:
        return (Plan, (self._text, self._commands))


def diagnose(
    *captures: PathLike,
    joined: bool = False,
    qlog: Iterable[PathLike] = (),
    host: Iterable[str] = (),
    port: Iterable[int] = (),
    start: float | None = None,
    end: float | None = None,
    progress: Callable[[int, int | None], object] | None = None,
) -> Diagnosis:
    """Says what limited the flows of a capture; what `longfat diagnose` does.

    One capture; with `joined` a folder whose captures are read as one; two that were taken at both ends of a path; or
    none, and `qlog` files alone. `host`, `port`: only packets from or to these; `start`, `end`: only from and to so many
    seconds after the first. `progress` is called with the bytes that are read, and all of them where that is known.

    Raises `CaptureError`, `UsageError`, `OSError`; what `progress` or Ctrl-C raise is raised when the capture is read.
    """
    if len(captures) > 2 or (not captures and not qlog):
        raise TypeError("one capture, two of both ends of a path, or qlog files")
    paths = [os.fspath(path) for path in captures]
    for path in paths:
        os.stat(path)
    logs = [os.fspath(path) for path in qlog]
    text = _native.diagnose(paths, joined, _filter(host, port, start, end), logs, progress)
    return Diagnosis(json.loads(text))


def fit(
    path: PathLike,
    *,
    variant: str | None = None,
    host: Iterable[str] = (),
    port: Iterable[int] = (),
    start: float | None = None,
    end: float | None = None,
    jobs: int | None = None,
    progress: bool | Callable[[Progress], object] | None = None,
) -> Fit:
    """A scenario that behaves as a captured path did; what `longfat fit` does.

    `path`: a capture, iperf3's JSON, a log of `ss -tin`, or a result folder, of it `variant`. Raises `FitError` where
    there is nothing to fit to, `UsageError`, `OSError`.
    """
    file = os.fspath(path)
    os.stat(file)
    wanted = _filter(host, port, start, end)
    with watcher(progress) as told:
        return Fit(_native.fit_path(file, variant, wanted, jobs, told))


def plan(
    scenario: ScenarioLike | Fit,
    *,
    variant: str | None = None,
    objective: str | None = None,
    only: Iterable[str] = (),
    keep: Iterable[str] = (),
    max_delay: float | None = None,
    no_loss_for: Iterable[str] = (),
    finalists: int = 12,
    repeat: int = 5,
    set: Mapping[str, Any] | None = None,
    jobs: int | None = None,
    progress: bool | Callable[[Progress], object] | None = None,
    allow_files: bool = False,
) -> Plan:
    """Tries cures and ranks them by what they gain; what `longfat plan` does.

    `scenario`: as `run` takes it, or a `Fit`. `only`: where something can be changed (`sender`, `receiver`, `sender-edge`, `limiter`,
    `path`); `keep`: stages that stay as they are; `max_delay`: the largest 95th percentile of round trips that is
    accepted, seconds; `no_loss_for`: flows that must lose nothing; `objective`: what cures are ranked by. Raises
    `PlanError`, `ScenarioError`, `UsageError`.
    """
    asked: _native.PlanAsked = {
        "variant": variant,
        "objective": objective,
        "only": list(only),
        "keep": list(keep),
        "max_delay_s": max_delay,
        "no_loss_for": list(no_loss_for),
        "finalists": finalists,
        "repeat": repeat,
        "jobs": jobs,
    }
    chosen = [] if variant is None else [variant]
    with watcher(progress) as told:
        if isinstance(scenario, Fit):
            return Plan(*_native.plan(None, scenario._native, asked, told))
        return Plan(*_native.plan(loaded(scenario, set or {}, allow_files, chosen), None, asked, told))


def _filter(
    host: Iterable[str], port: Iterable[int], start: float | None, end: float | None
) -> _native.FilterWish:
    return {"host": list(host), "port": list(port), "from_s": start, "to_s": end}
