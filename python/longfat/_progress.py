"""Progress of runs, reported to a function or shown as a bar."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, NamedTuple


class Progress(NamedTuple):
    """Progress of all runs of a call."""

    #: Sum of the time that the runs have played, virtual or real, seconds.
    played_s: float
    #: Sum of the runs' durations, seconds.
    duration_s: float
    #: Number of finished runs.
    finished: int
    #: Number of runs.
    runs: int

    @property
    def share(self) -> float:
        """Share of the total duration that has been played, 0 to 1."""
        return self.played_s / self.duration_s if self.duration_s else 1.0


NativeProgress = Callable[[int, int, int, int], object]


@contextmanager
def watcher(wanted: bool | Callable[[Progress], object] | None) -> Iterator[NativeProgress | None]:
    """The function that native code reports progress to; None if no progress is wanted."""
    if not wanted:
        yield None
        return
    if callable(wanted):
        report = wanted
        yield lambda played, all_ms, done, runs: report(Progress(played / 1e3, all_ms / 1e3, done, runs))
        return
    bar = _bar()
    try:
        yield lambda played, all_ms, done, runs: bar(Progress(played / 1e3, all_ms / 1e3, done, runs))
    finally:
        bar(None)


def _bar() -> Callable[[Progress | None], None]:
    """A tqdm bar, which also works in notebooks; without tqdm a line on standard error."""
    try:
        tqdm = import_module("tqdm.auto").tqdm
    except ImportError:
        return _line
    shown: Any = None

    def draw(progress: Progress | None) -> None:
        nonlocal shown
        if progress is None:
            if shown is not None:
                shown.close()
            return
        if shown is None or shown.total != progress.duration_s:
            shown = tqdm(total=progress.duration_s, unit="s", leave=False)
        shown.set_postfix_str(f"{progress.finished} of {progress.runs} runs", refresh=False)
        shown.update(progress.played_s - shown.n)

    return draw


def _line(progress: Progress | None) -> None:
    text = "\n" if progress is None else f"\r{progress.share:4.0%}  {progress.finished} of {progress.runs} runs"
    sys.stderr.write(text)
    sys.stderr.flush()
