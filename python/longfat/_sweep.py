"""`sweep`: a scenario over a grid of values, on this machine or on a cluster."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Executor
from contextlib import contextmanager
from html import escape
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from . import _native, _toml
from ._record import Record
from ._scenario import ScenarioLike, source
from ._tasks import Driver, checked, timed

if TYPE_CHECKING:
    from collections.abc import Iterator

#: What is varied: by key the values, or `"LO..HI:log:N"`; or what `--vary` takes, one or several.
Vary = Mapping[str, "Iterable[Any] | str"] | Iterable[str] | str


class SweepProgress(NamedTuple):
    """How far a sweep is."""

    #: Cells that are there, those of an earlier sweep among them.
    done: int
    #: Those of them that were there before.
    kept: int
    #: All cells.
    cells: int
    #: Cells that could not be run; their rows say why.
    failed: int
    #: Seconds since it began.
    elapsed_s: float

    @property
    def left_s(self) -> float | None:
        """Seconds to go, at the pace so far; None where none is over yet."""
        ran = self.done - self.kept
        return self.elapsed_s / ran * (self.cells - self.done) if ran else None


class Sweep(Record):
    """A finished sweep: what its `sweep.json` says (`cells`, `failed`, `axes`, `variants` …), and where its dataset is."""

    __slots__ = ("folder", "_text")

    #: The folder: `cells.parquet`, `flows.parquet`, `sweep.json`, `report.html`.
    folder: Path

    def __init__(self, summary: dict[str, Any], folder: Path, text: str) -> None:
        super().__init__(summary)
        self.folder = folder
        self._text = text

    @property
    def cells_path(self) -> Path:
        """A row a cell."""
        return self.folder / "cells.parquet"

    @property
    def flows_path(self) -> Path:
        """A row a flow of a cell."""
        return self.folder / "flows.parquet"

    def to_pandas(self, flows: bool = False) -> Any:
        """The cells (or the flows) as a DataFrame; needs pandas and pyarrow."""
        return import_module("pandas").read_parquet(self.flows_path if flows else self.cells_path)

    def __str__(self) -> str:
        """The table that the command prints."""
        return self._text

    def _repr_html_(self) -> str:
        return f"<pre>{escape(self._text)}</pre>"

    def __reduce__(self) -> tuple[Any, ...]:
        return (Sweep, (self._json, self.folder, self._text))


def sweep(
    scenario: ScenarioLike,
    vary: Vary,
    *,
    executor: Executor | None = None,
    out: str | os.PathLike[str] | None = None,
    variants: Iterable[str] | str | None = None,
    set: Mapping[str, Any] | None = None,
    seed: int | None = None,
    repeat: int = 1,
    jobs: int | None = None,
    batch_s: float = 1.0,
    progress: bool | Callable[[SweepProgress], object] | None = None,
    force: bool = False,
    allow_files: bool = False,
) -> Sweep:
    """Runs every combination of the values into one dataset; what `longfat sweep` does.

    `vary`: `{"flows.up.cc": ["cubic", "bbr"], "rate:links.wan.forward.limiter.rate": "1..100Mbit/s:log:25"}`, a list of
    values a key or a range; `"A+B"` sets two keys to the same value, `"NAME:KEY"` names the column; or what `--vary` takes.
    `executor`: any of `concurrent.futures`; on Dask `client.get_executor()`. Its workers need the same longfat. None: all
    cores of this machine, `jobs` of them. `batch_s`: what a task is to last, seconds. `out`: the folder, the command's own
    unless given; `force` replaces a finished sweep of something else in it. `progress`: True for a bar, or a function that
    is called with a `SweepProgress`. All else is as in `run`.

    What is ended, by Ctrl-C or by kill -9 of this process, goes on with the same call, or with the command, in the same
    folder: what is there is not run again, and the dataset comes out as the same bytes. A worker that dies costs what it was
    about to do. A cell that cannot be run is a row that says why.

    Raises `ScenarioError`, `UsageError`, `OSError`; whatever an executor raises that can do no more (`BrokenProcessPool`).
    """
    path, text = source(scenario)
    wish: _native.SweepWish = {
        "path": path,
        "text": text,
        "name": "scenario.toml",
        "set": [_toml.override(key, item) for key, item in (set or {}).items()],
        "vary": _axes(vary),
        "variants": [variants] if isinstance(variants, str) else list(variants or ()),
        "seed": seed,
        "repeat": repeat,
        "allow_files": allow_files,
    }
    pool = None if executor is None else checked(executor)
    work = _native.SweepWork(wish, None if out is None else os.fspath(out), force)
    try:
        with watcher(progress) as told:
            if pool is None:
                begun = time.monotonic()

                def tell(done: int, kept: int, cells: int, failed: int) -> None:
                    if told:
                        told(SweepProgress(done, kept, cells, failed, time.monotonic() - begun))

                work.run(jobs, tell if told else None)
            else:
                _on(pool, work, batch_s, told)
        summary, table = work.finish()
    finally:
        work.close()
    return Sweep(json.loads(summary), work.folder, table)


def _on(
    executor: Executor,
    work: _native.SweepWork,
    batch_s: float,
    told: Callable[[SweepProgress], object] | None,
) -> None:
    """Has the cells that are missing run by whoever the executor hands them to."""
    grid = work.grid()
    missing, points, cells_a_point = work.points()
    kept = (points - len(missing)) * cells_a_point
    done, failed, begun = kept, 0, time.monotonic()

    def keep(_: list[int], batch: bytes) -> None:
        nonlocal done, failed
        rows, bad = work.keep(batch)
        done, failed = done + rows, failed + bad

    def lost(point: int, why: str) -> None:
        nonlocal done, failed
        rows = work.lost(point, why)
        done, failed = done + rows, failed + rows

    def tell() -> None:
        if told:
            told(SweepProgress(done, kept, points * cells_a_point, failed, time.monotonic() - begun))

    def submit(batch: list[int]) -> Any:
        return executor.submit(timed, _native.run_sweep_batch, grid, batch)

    Driver(executor, submit, keep, lost, tell).run(missing, batch_s)


def _axes(vary: Vary) -> list[tuple[str, list[str] | None]]:
    if isinstance(vary, str):
        return [(vary, None)]
    if not isinstance(vary, Mapping):
        return [(text, None) for text in vary]
    axes: list[tuple[str, list[str] | None]] = []
    for key, values in vary.items():
        if isinstance(values, str):
            axes.append((f"{key}={values}", None))
        else:
            axes.append((key, [v if isinstance(v, str) else _toml.value(v) for v in values]))
    return axes


@contextmanager
def watcher(
    wanted: bool | Callable[[SweepProgress], object] | None,
) -> Iterator[Callable[[SweepProgress], object] | None]:
    """Whom a sweep tells; None where nobody wants to know."""
    if not wanted:
        yield None
    elif callable(wanted):
        yield wanted
    else:
        bar = _bar()
        try:
            yield bar
        finally:
            bar(None)


def _bar() -> Callable[[SweepProgress | None], None]:
    """tqdm's bar, which knows notebooks; without tqdm a line on standard error."""
    try:
        tqdm = import_module("tqdm.auto").tqdm
    except ImportError:
        return _line
    shown: Any = None

    def draw(progress: SweepProgress | None) -> None:
        nonlocal shown
        if progress is None:
            if shown is not None:
                shown.close()
            return
        if shown is None:
            shown = tqdm(total=progress.cells, initial=progress.kept, unit="cell", leave=False)
        if progress.failed:
            shown.set_postfix_str(f"{progress.failed} failed", refresh=False)
        shown.update(progress.done - shown.n)

    return draw


def _line(progress: SweepProgress | None) -> None:
    if progress is None:
        text = "\n"
    else:
        left = "" if progress.left_s is None else f", {progress.left_s:.0f} s left"
        text = f"\r{progress.done} of {progress.cells} cells{left}   "
    sys.stderr.write(text)
    sys.stderr.flush()
