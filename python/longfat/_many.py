"""`diagnose_many`: a folder or an object store of captures, into one dataset."""

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
from ._captures import PathLike, _filter
from ._errors import UsageError
from ._record import Record
from ._sweep import SweepProgress, watcher
from ._tasks import Driver, checked, timed

#: Bytes copied at a time from a store.
_COPIED = 1 << 20

#: Path or URL, bytes, and what changes with the content.
_Stored = tuple[str, int, str]


class Diagnoses(Record):
    """Captures that were diagnosed: what `diagnoses.json` says (`captures`, `failed`, `flows`), and where the dataset is."""

    __slots__ = ("folder",)

    #: The folder: `flows.parquet`, `captures.parquet`, `diagnoses.json`.
    folder: Path

    def __init__(self, summary: dict[str, Any], folder: Path) -> None:
        super().__init__(summary)
        self.folder = folder

    @property
    def flows_path(self) -> Path:
        """A row a flow; of a capture that could not be diagnosed one with its `error`."""
        return self.folder / "flows.parquet"

    @property
    def captures_path(self) -> Path:
        """A row a capture."""
        return self.folder / "captures.parquet"

    def to_pandas(self, captures: bool = False) -> Any:
        """The flows (or the captures) as a DataFrame; needs pandas and pyarrow."""
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
    """Diagnoses each of many captures by itself, into one dataset in the folder `out`.

    `captures`: a folder (all files below it), a file, a pattern (`*`), or several of these; each a path or what fsspec
    knows (`s3://bucket/day/`, `gs://`, `https://`; `storage_options` are its file system's). `executor`: any of
    `concurrent.futures`, on Dask `client.get_executor()`: its workers need the same longfat, and reach the files by the
    same names; None: `jobs` threads of this process, one a core unless given. A file of a store is copied to a temporary one
    while it is read. `host` to `end`: as in `diagnose`; `progress` counts captures as cells; `batch_s`, `force`: as in `sweep`.

    What cannot be diagnosed is a row with its `error`. What is ended goes on with the same call: a capture whose name, size
    and checksum (or time) are the same is not read again.

    Raises `UsageError` where there is no capture or the folder has another dataset, `OSError`.
    """
    options = dict(storage_options or {})
    several = [captures] if isinstance(captures, (str, os.PathLike)) else list(captures)
    found = sorted({stored for one in several for stored in _listed(os.fspath(one), options)})
    if not found:
        raise UsageError(f"there is no file: {', '.join(os.fspath(one) for one in several)}")
    wanted = _filter(host, port, start, end)
    pool = None if executor is None else checked(executor)
    folder = os.fspath(out)
    work = _native.CaptureWork(found, wanted, folder, force)
    own = ThreadPoolExecutor(jobs or os.cpu_count() or 1) if pool is None else None
    try:
        with watcher(progress) as told:
            _on(pool or own, work, found, wanted, options, batch_s, told)  # type: ignore[arg-type]
        summary = work.finish()
    finally:
        work.close()
        if own is not None:
            own.shutdown(cancel_futures=True)
    return Diagnoses(json.loads(summary), Path(folder))


def _on(
    executor: Executor,
    work: _native.CaptureWork,
    found: list[_Stored],
    wanted: _native.FilterWish,
    options: dict[str, Any],
    batch_s: float,
    told: Callable[[SweepProgress], object] | None,
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

    def tell() -> None:
        if told:
            told(SweepProgress(done, kept, len(found), failed, time.monotonic() - begun))

    def submit(batch: list[int]) -> Any:
        return executor.submit(timed, diagnose_batch, program, [found[i] for i in batch], wanted, options)

    Driver(executor, submit, keep, lost, tell).run(missing, batch_s)


def diagnose_batch(
    program: str, captures: list[_Stored], wanted: _native.FilterWish, options: dict[str, Any]
) -> list[bytes]:
    """Diagnoses these, on a worker: a row each."""
    return [_row(program, stored, wanted, options) for stored in captures]


def _row(program: str, stored: _Stored, wanted: _native.FilterWish, options: dict[str, Any]) -> bytes:
    url = stored[0]
    if "://" not in url:
        return _native.diagnose_stored(program, stored, wanted, url, None)
    try:
        with tempfile.NamedTemporaryFile(prefix="longfat-") as copy:
            with _fsspec().open(url, "rb", **options) as there:
                shutil.copyfileobj(there, copy, _COPIED)
            copy.flush()
            return _native.diagnose_stored(program, stored, wanted, copy.name, None)
    except Exception as e:  # whatever a store's own library raises is this file's error
        return _native.diagnose_stored(program, stored, wanted, None, f"{type(e).__name__}: {e}")


def _listed(named: str, options: dict[str, Any]) -> Iterable[_Stored]:
    """The files that a path or URL stands for."""
    if "://" in named:
        return _in_store(named, options)
    if any(c in named for c in "*?[") and not os.path.exists(named):
        base = Path(named).anchor or "."
        files = [p for p in Path(base).glob(str(Path(named).relative_to(Path(named).anchor or "."))) if p.is_file()]
    elif os.path.isdir(named):
        files = [Path(at, name) for at, _, names in os.walk(named) for name in names]
    else:
        files = [Path(named)]
    # What is no regular file would be waited for.
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
        raise UsageError("captures in a store need fsspec, and of S3 s3fs: pip install 'longfat[store]'") from None
