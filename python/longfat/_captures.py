"""Diagnosing captures, fitting a path to them, and planning a faster one."""

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
    """What limited the flows of a capture.

    Keys: `capture`, `flows`, `udp_flows`, as in the output of `longfat diagnose --json` (`docs/diagnosis-schema.md`).
    """

    __slots__ = ()

    def to_json(self) -> str:
        """The diagnosis as JSON text, with this object's keys."""
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
    """A captured path, fitted: the output of `longfat fit --json`.

    `scenario` is the text of a scenario that behaves like the path; `run` and `plan` accept it.
    """

    __slots__ = ("_native",)

    def __init__(self, native: _native.FitOutput) -> None:
        super().__init__(json.loads(native.json))
        self._native = native

    def to_json(self) -> str:
        """The output of `longfat fit --json`, as text."""
        return self._native.json

    def __reduce__(self) -> tuple[Any, ...]:
        return (Record, (self._json,))


class Plan(Record):
    """Changes that make a path faster, ranked: the output of `longfat plan --json`.

    `commands` are the shell commands that apply the advised change, or None if no change helps.
    """

    __slots__ = ("_text", "_commands")

    def __init__(self, text: str, commands: str | None) -> None:
        super().__init__(json.loads(text))
        self._text = text
        self._commands = commands

    @property
    def commands(self) -> str | None:
        """The shell commands that apply the advised change; None if no change helps."""
        return self._commands

    def to_json(self) -> str:
        """The output of `longfat plan --json`, as text."""
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
    """Finds what limited the flows of a capture, like `longfat diagnose`.

    `captures`: one capture; a folder of captures that are read as one (`joined=True`); two captures of both ends of a
    path; or none, with `qlog` files alone. `host`, `port`: read only packets from or to these. `start`, `end`: read only
    packets in this time range, seconds after the first packet. `progress(done, total)` is called with the bytes read
    and the total, which is None if unknown.

    Raises `CaptureError` if a capture cannot be read, `UsageError` for invalid arguments, and `OSError`. An exception in
    `progress`, or Ctrl-C, is raised after the capture has been read.
    """
    if len(captures) > 2 or (not captures and not qlog):
        raise TypeError("diagnose() needs one capture, two captures of both ends of a path, or qlog files")
    paths = [os.fspath(path) for path in captures]
    for path in paths:
        os.stat(path)
    logs = [os.fspath(path) for path in qlog]
    text = _native.diagnose(paths, joined, packet_filter(host, port, start, end), logs, progress)
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
    """Fits a scenario to a captured path, like `longfat fit`.

    `path`: a capture, the JSON output of iperf3, a log of `ss -tin`, or a result folder (`variant` selects one of its
    variants). `host`, `port`, `start`, `end` are as in `diagnose`; `jobs` is the number of simulations at a time;
    `progress` is as in `run`.

    Raises `FitError` if no scenario can be fitted, `UsageError` for invalid arguments, and `OSError`.
    """
    file = os.fspath(path)
    os.stat(file)
    wanted = packet_filter(host, port, start, end)
    with watcher(progress) as report_to:
        return Fit(_native.fit_path(file, variant, wanted, jobs, report_to))


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
    """Tries changes to a path and ranks them by their gain, like `longfat plan`.

    `scenario`: anything that `run` accepts, or a `Fit`. `variant`: the variant to improve. `objective`: the goal that
    ranks the changes. `only`: where changes are possible (`sender`, `receiver`, `sender-edge`, `limiter`, `path`).
    `keep`: stages that must stay unchanged. `max_delay`: the largest acceptable 95th percentile of round trips, seconds.
    `no_loss_for`: flows that must not lose packets. `finalists`: candidates that are measured in the last round, with
    `repeat` runs each. `set`, `jobs`, `progress` and `allow_files` are as in `run`.

    Raises `PlanError` if no plan can be made, `ScenarioError`, and `UsageError` for invalid arguments.
    """
    options: _native.PlanOptions = {
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
    with watcher(progress) as report_to:
        if isinstance(scenario, Fit):
            return Plan(*_native.plan(None, scenario._native, options, report_to))
        return Plan(*_native.plan(loaded(scenario, set or {}, allow_files, chosen), None, options, report_to))


def packet_filter(
    host: Iterable[str], port: Iterable[int], start: float | None, end: float | None
) -> _native.FilterOptions:
    return {"host": list(host), "port": list(port), "from_s": start, "to_s": end}
