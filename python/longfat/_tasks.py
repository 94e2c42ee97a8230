"""Work handed to an executor in batches: what sweeps and `diagnose_many` share.

Of each batch it is known what it took; the next ones are to last a second or so, so that neither a task's own cost counts nor
what a killed worker takes with it. So many are handed out that no worker waits, and no more.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple


#: The most items of a batch.
MOST = 10_000
#: Batches handed out for each worker: one that runs, and what covers the way to it and back.
AHEAD = 3
#: How often the number of workers is asked for, seconds: on a cluster it changes.
ASKED_EVERY = 2.0
#: A worker that dies takes with it what it was about to run too; only an item that so many tasks of its own died with is
#: given up (each of them is tried again by the scheduler itself: Dask's `allowed-failures`, 3 unless changed).
DEATHS = 3


class Task(NamedTuple):
    """What a batch came to."""

    #: What it took, seconds.
    seconds: float
    #: Who is to keep it knows what it is.
    result: Any


def timed(work: Callable[..., Any], *arguments: Any) -> Task:
    """Runs it on a worker."""
    begun = time.perf_counter()
    result = work(*arguments)
    return Task(time.perf_counter() - begun, result)


class Batches:
    """Items, and of how many of them the next batch is."""

    def __init__(self, items: Sequence[int], seconds: float) -> None:
        self._items = items
        self._next = 0
        self._wanted = seconds
        self._seconds = 0.0
        self._done = 0

    def __bool__(self) -> bool:
        return self._next < len(self._items)

    def take(self, workers: int) -> list[int]:
        left = len(self._items) - self._next
        wanted = 1 if self._done == 0 else int(self._wanted * self._done / max(self._seconds, 1e-9))
        # At the end all workers have work until it is over.
        count = min(max(wanted, 1), MOST, -(-left // (2 * workers)))
        batch = list(self._items[self._next : self._next + count])
        self._next += count
        return batch

    def over(self, items: int, seconds: float) -> None:
        self._done += items
        self._seconds += seconds


class Driver:
    """Hands batches out and takes back what they came to, until all items are done.

    `submit` hands a batch out; `keep` is given each batch and its result; `lost` an item whose worker always dies, and why.
    `tell` is called now and then; what it raises ends the work.
    """

    def __init__(
        self,
        executor: Executor,
        submit: Callable[[list[int]], Future[Task]],
        keep: Callable[[list[int], Any], None],
        lost: Callable[[int, str], None],
        tell: Callable[[], object],
    ) -> None:
        self._executor = executor
        self._submit = submit
        self._keep = keep
        self._lost = lost
        self._tell = tell
        self._done: SimpleQueue[Future[Task]] = SimpleQueue()
        self._pending: dict[Future[Task], list[int]] = {}
        self._again: list[list[int]] = []
        self._deaths: dict[int, int] = {}
        self._asked = float("-inf")
        self._workers = 1

    def run(self, items: Sequence[int], seconds: float) -> None:
        """All of them, in batches that last so long."""
        batches = Batches(items, seconds)
        try:
            while batches or self._again or self._pending:
                workers = self._count()
                while len(self._pending) < AHEAD * workers and (self._again or batches):
                    self._hand_out(self._again.pop() if self._again else batches.take(workers))
                self._take_back(batches)
                self._tell()
        finally:
            for future in self._pending:
                future.cancel()

    def _hand_out(self, batch: list[int]) -> None:
        future = self._submit(batch)
        self._pending[future] = batch
        future.add_done_callback(self._done.put)

    def _take_back(self, batches: Batches) -> None:
        try:
            future = self._done.get(timeout=0.1)
        except Empty:
            return
        batch = self._pending.pop(future)
        try:
            task = future.result()
        except Exception as e:
            if not _worker_died(e):
                raise
            self._died(batch, e)
            return
        batches.over(len(batch), task.seconds)
        self._keep(batch, task.result)

    def _died(self, batch: list[int], e: Exception) -> None:
        """Dask's scheduler gives a task up that was with several workers as they died: its items are tried one by one."""
        if len(batch) > 1:
            self._again.extend([item] for item in batch)
            return
        item = batch[0]
        self._deaths[item] = self._deaths.get(item, 0) + 1
        if self._deaths[item] < DEATHS:
            self._again.append(batch)
        else:
            self._lost(item, f"whoever ran it died of it: {type(e).__name__}")

    def _count(self) -> int:
        """Tasks that run at a time."""
        if time.monotonic() - self._asked > ASKED_EVERY:
            self._workers = workers(self._executor)
            self._asked = time.monotonic()
        return self._workers


def _worker_died(e: BaseException) -> bool:
    return type(e).__name__ == "KilledWorker"


def workers(executor: Executor) -> int:
    """How many tasks an executor runs at a time: threads of Dask's workers, a pool's own number, else the cores here."""
    client = getattr(executor, "_client", None)
    if client is not None and hasattr(client, "nthreads"):
        return max(1, int(sum(client.nthreads().values())))
    own = getattr(executor, "_max_workers", None)
    return own if isinstance(own, int) and own > 0 else os.cpu_count() or 1


def checked(executor: object) -> Executor:
    """The executor; a client of Dask's is told how it becomes one."""
    if isinstance(executor, Executor):
        return executor
    hint = ": client.get_executor() is one" if hasattr(executor, "get_executor") else ""
    raise TypeError(f"executor= is a concurrent.futures.Executor, not {type(executor).__name__}{hint}")


__all__ = ["Driver", "Task", "checked", "timed", "workers"]
