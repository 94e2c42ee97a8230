"""How far work is: a function of the caller's, or a bar."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, NamedTuple


class Progress(NamedTuple):
    """How far the runs are."""

    #: Time that they have played, virtual or real, summed up: seconds.
    played_s: float
    #: The sum of their durations, seconds.
    duration_s: float
    #: Runs that are over.
    finished: int
    #: All runs.
    runs: int

    @property
    def share(self) -> float:
        """Of the whole, 0 to 1."""
        return self.played_s / self.duration_s if self.duration_s else 1.0


Told = Callable[[int, int, int, int], object]


@contextmanager
def watcher(wanted: bool | Callable[[Progress], object] | None) -> Iterator[Told | None]:
    """Whom the native side tells; None where nobody wants to know."""
    if not wanted:
        yield None
        return
    if callable(wanted):
        tell = wanted
        yield lambda played, all_ms, done, runs: tell(Progress(played / 1e3, all_ms / 1e3, done, runs))
        return
    bar = _bar()
    try:
        yield lambda played, all_ms, done, runs: bar(Progress(played / 1e3, all_ms / 1e3, done, runs))
    finally:
        bar(None)


def _bar() -> Callable[[Progress | None], None]:
    """tqdm's bar, which knows notebooks; without tqdm a line on standard error."""
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
