"""Work distributed to an executor in batches: shared by sweeps and `diagnose_many`.

The duration of each batch is measured, and the next ones are sized to last about a second: long enough that a task's own
cost does not matter, short enough that little is lost when a worker is killed. Enough batches are submitted that no worker
waits, and no more.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple


#: Maximum number of items in a batch.
MAX_ITEMS = 10_000
#: Batches submitted per worker: one that runs, and enough to cover the transfer to it and back.
AHEAD = 3
#: Seconds between two queries for the number of workers, which changes on a cluster.
QUERY_EVERY_S = 2.0
#: A worker that dies takes queued tasks with it too. An item is given up only if this many single-item tasks died with it
#: (the scheduler itself also retries each of them: Dask's `allowed-failures`, 3 by default).
DEATHS = 3


class Task(NamedTuple):
    """The result of a batch."""

    #: Duration on the worker, seconds.
    seconds: float
    #: The value that `work` returned.
    result: Any


def timed(work: Callable[..., Any], *arguments: Any) -> Task:
    """Runs `work` on a worker and measures its duration."""
    begun = time.perf_counter()
    result = work(*arguments)
    return Task(time.perf_counter() - begun, result)


class Batches:
    """Splits items into batches of a target duration."""

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
        # Near the end batches shrink, so that all workers are busy until the end.
        count = min(max(wanted, 1), MAX_ITEMS, -(-left // (2 * workers)))
        batch = list(self._items[self._next : self._next + count])
        self._next += count
        return batch

    def over(self, items: int, seconds: float) -> None:
        self._done += items
        self._seconds += seconds


class Driver:
    """Submits batches and collects their results until all items are done.

    `submit` submits a batch; `keep` receives each batch and its result; `lost` receives an item whose worker always dies,
    and the reason. `report` is called regularly; an exception in it ends the work.
    """

    def __init__(
        self,
        executor: Executor,
        submit: Callable[[list[int]], Future[Task]],
        keep: Callable[[list[int], Any], None],
        lost: Callable[[int, str], None],
        report: Callable[[], object],
    ) -> None:
        self._executor = executor
        self._submit = submit
        self._keep = keep
        self._lost = lost
        self._report = report
        self._done: SimpleQueue[Future[Task]] = SimpleQueue()
        self._pending: dict[Future[Task], list[int]] = {}
        self._retries: list[list[int]] = []
        self._deaths: dict[int, int] = {}
        self._queried = float("-inf")
        self._workers = 1

    def run(self, items: Sequence[int], seconds: float) -> None:
        """Runs all items, in batches that last about `seconds`."""
        batches = Batches(items, seconds)
        try:
            while batches or self._retries or self._pending:
                workers = self._count()
                while len(self._pending) < AHEAD * workers and (self._retries or batches):
                    self._hand_out(self._retries.pop() if self._retries else batches.take(workers))
                self._take_back(batches)
                self._report()
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
        """Retries items one by one: Dask's scheduler gives up a task that several workers had when they died."""
        if len(batch) > 1:
            self._retries.extend([item] for item in batch)
            return
        item = batch[0]
        self._deaths[item] = self._deaths.get(item, 0) + 1
        if self._deaths[item] < DEATHS:
            self._retries.append(batch)
        else:
            self._lost(item, f"every worker that ran it died: {type(e).__name__}")

    def _count(self) -> int:
        """Number of tasks that run at a time."""
        if time.monotonic() - self._queried > QUERY_EVERY_S:
            self._workers = workers(self._executor)
            self._queried = time.monotonic()
        return self._workers


def _worker_died(e: BaseException) -> bool:
    return type(e).__name__ == "KilledWorker"


def workers(executor: Executor) -> int:
    """Number of tasks that an executor runs at a time: threads of Dask's workers, a pool's own number, or the cores here."""
    client = getattr(executor, "_client", None)
    if client is not None and hasattr(client, "nthreads"):
        return max(1, int(sum(client.nthreads().values())))
    own = getattr(executor, "_max_workers", None)
    return own if isinstance(own, int) and own > 0 else os.cpu_count() or 1


def checked_executor(executor: object) -> Executor:
    """Returns the executor. Raises `TypeError` for anything else, with a hint for Dask clients."""
    if isinstance(executor, Executor):
        return executor
    hint = ": use client.get_executor()" if hasattr(executor, "get_executor") else ""
    raise TypeError(f"executor= must be a concurrent.futures.Executor, not {type(executor).__name__}{hint}")


__all__ = ["Driver", "Task", "checked_executor", "timed", "workers"]
