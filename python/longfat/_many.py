"""`diagnose_many`: diagnoses a folder or an object store of captures into one dataset."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Executor, ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from typing import Any

from . import _native
from ._captures import PathLike, packet_filter
from ._errors import UsageError
from ._record import Record
from ._sweep import SweepProgress, watcher
from ._tasks import Driver, checked_executor, timed

#: Chunk size for copying from a store, bytes.
_COPIED = 1 << 20

#: Path or URL, size in bytes, and a stamp that changes with the content.
_Stored = tuple[str, int, str]


class Diagnoses(Record):
    """A dataset of diagnosed captures: the keys of `diagnoses.json` (`captures`, `failed`, `flows`), and its location."""

    __slots__ = ("folder",)

    #: The folder with `flows.parquet`, `captures.parquet` and `diagnoses.json`.
    folder: Path

    def __init__(self, summary: dict[str, Any], folder: Path) -> None:
        super().__init__(summary)
        self.folder = folder

    @property
    def flows_path(self) -> Path:
        """The Parquet file with one row per flow; a capture that could not be diagnosed has one row with its `error`."""
        return self.folder / "flows.parquet"

    @property
    def captures_path(self) -> Path:
        """The Parquet file with one row per capture."""
        return self.folder / "captures.parquet"

    def to_pandas(self, captures: bool = False) -> Any:
        """The flows (or, with `captures=True`, the captures) as a pandas DataFrame. Requires pandas and pyarrow."""
        return import_module("pandas").read_parquet(self.captures_path if captures else self.flows_path)

    def __reduce__(self) -> tuple[Any, ...]:
        return (Diagnoses, (self._json, self.folder))


def diagnose_many(
    captures: PathLike | Iterable[PathLike],
    out: PathLike,
    *,
    executor: Executor | None = None,
    storage_options: Mapping[str, Any] | None = None,
    host: Iterable[str] = (),
    port: Iterable[int] = (),
    start: float | None = None,
    end: float | None = None,
    jobs: int | None = None,
    batch_s: float = 1.0,
    progress: bool | Callable[[SweepProgress], object] | None = None,
    force: bool = False,
) -> Diagnoses:
    """Diagnoses many captures, each by itself, into one dataset in the folder `out`.

    `captures`: a folder (all files below it), a file, a pattern (`*`), or several of these. Each is a path or a URL that
    fsspec supports (`s3://bucket/day/`, `gs://`, `https://`); `storage_options` are passed to its file system.
    `executor`: any `concurrent.futures` executor, for Dask `client.get_executor()`. Its workers need the same version of
    longfat and must reach the files by the same names. Without one, `jobs` threads of this process work (default: one
    per core). A file from a store is copied to a temporary file while it is read. `host`, `port`, `start` and `end` are
    as in `diagnose`, `batch_s` and `force` as in `sweep`; `progress` counts captures as cells.

    A capture that cannot be diagnosed becomes a row with its `error`. An interrupted call continues when it is repeated:
    a capture with the same name, size and checksum (or modification time) is not read again.

    Raises `UsageError` if there is no capture or if the folder contains another dataset, and `OSError`.
    """
    options = dict(storage_options or {})
    several = [captures] if isinstance(captures, (str, os.PathLike)) else list(captures)
    found = sorted({stored for one in several for stored in _listed(os.fspath(one), options)})
    if not found:
        raise UsageError(f"no capture found: {', '.join(os.fspath(one) for one in several)}")
    wanted = packet_filter(host, port, start, end)
    pool = None if executor is None else checked_executor(executor)
    folder = os.fspath(out)
    work = _native.CaptureWork(found, wanted, folder, force)
    own = ThreadPoolExecutor(jobs or os.cpu_count() or 1) if pool is None else None
    try:
        with watcher(progress) as report_to:
            _run_on(pool or own, work, found, wanted, options, batch_s, report_to)  # type: ignore[arg-type]
        summary = work.finish()
    finally:
        work.close()
        if own is not None:
            own.shutdown(cancel_futures=True)
    return Diagnoses(json.loads(summary), Path(folder))


def _run_on(
    executor: Executor,
    work: _native.CaptureWork,
    found: list[_Stored],
    wanted: _native.FilterOptions,
    options: dict[str, Any],
    batch_s: float,
    report_to: Callable[[SweepProgress], object] | None,
) -> None:
    missing = work.missing()
    kept = len(found) - len(missing)
    done, failed, begun = kept, 0, time.monotonic()
    program = _native.program_name()

    def keep(_: list[int], rows: list[bytes]) -> None:
        nonlocal done, failed
        count, bad = work.keep(rows)
        done, failed = done + count, failed + bad

    def lost(number: int, why: str) -> None:
        nonlocal done, failed
        work.lost(number, why)
        done, failed = done + 1, failed + 1

    def report() -> None:
        if report_to:
            report_to(SweepProgress(done, kept, len(found), failed, time.monotonic() - begun))

    def submit(batch: list[int]) -> Any:
        return executor.submit(timed, diagnose_batch, program, [found[i] for i in batch], wanted, options)

    Driver(executor, submit, keep, lost, report).run(missing, batch_s)


def diagnose_batch(
    program: str, captures: list[_Stored], wanted: _native.FilterOptions, options: dict[str, Any]
) -> list[bytes]:
    """Diagnoses these captures on a worker. Returns one row for each."""
    return [_row(program, stored, wanted, options) for stored in captures]


def _row(program: str, stored: _Stored, wanted: _native.FilterOptions, options: dict[str, Any]) -> bytes:
    url = stored[0]
    if "://" not in url:
        return _native.diagnose_stored(program, stored, wanted, url, None)
    try:
        with tempfile.NamedTemporaryFile(prefix="longfat-") as copy:
            with _fsspec().open(url, "rb", **options) as there:
                shutil.copyfileobj(there, copy, _COPIED)
            copy.flush()
            return _native.diagnose_stored(program, stored, wanted, copy.name, None)
    except Exception as e:  # store libraries raise exceptions of their own; any of them is this file's error
        return _native.diagnose_stored(program, stored, wanted, None, f"{type(e).__name__}: {e}")


def _listed(named: str, options: dict[str, Any]) -> Iterable[_Stored]:
    """The files that a path or URL denotes."""
    if "://" in named:
        return _in_store(named, options)
    if any(c in named for c in "*?[") and not os.path.exists(named):
        base = Path(named).anchor or "."
        files = [p for p in Path(base).glob(str(Path(named).relative_to(Path(named).anchor or "."))) if p.is_file()]
    elif os.path.isdir(named):
        files = [Path(at, name) for at, _, names in os.walk(named) for name in names]
    else:
        files = [Path(named)]
    # Reading a file that is not regular (a pipe, a device) would block.
    return [_local(p) for p in files if p.is_file() or not p.exists()]


def _local(path: Path) -> _Stored:
    stat = path.stat()
    return (str(path), stat.st_size, str(stat.st_mtime_ns))


def _in_store(url: str, options: dict[str, Any]) -> Iterable[_Stored]:
    fs, path = _fsspec().core.url_to_fs(url, **options)
    if any(c in path for c in "*?["):
        found = fs.glob(path, detail=True)
    else:
        found = fs.find(path, detail=True)
    for name, info in found.items():
        if info.get("type", "file") == "file":
            stamp = next((info[k] for k in ("ETag", "etag", "md5Hash", "LastModified", "mtime", "created") if info.get(k)), "")
            yield (fs.unstrip_protocol(name), int(info.get("size") or 0), str(stamp))


def _fsspec() -> Any:
    try:
        return import_module("fsspec")
    except ImportError:
        raise UsageError("captures in a store need fsspec (for S3 also s3fs): pip install 'longfat[store]'") from None
