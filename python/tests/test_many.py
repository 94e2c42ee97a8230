"""`diagnose_many`: diagnoses folders and stores into one dataset that agrees with `diagnose` on each capture."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import pytest

import longfat


@pytest.fixture
def captures(policed: Path, tmp_path: Path, longfat_json: Callable[..., str]) -> Path:
    """A folder of captures: two good ones, a file that is not a capture, a truncated one, and one without packets."""
    longfat_json("run", policed, "--set", "duration=2s", "--pcap", tmp_path / "pcap", "--json")
    folder = tmp_path / "captures"
    (folder / "deep").mkdir(parents=True)
    cubic, bbr = (next((tmp_path / "pcap" / v).rglob("office*.pcap")) for v in ("cubic", "bbr"))
    shutil.copy(cubic, folder / "a.pcap")
    shutil.copy(bbr, folder / "deep" / "b.pcap")
    (folder / "c.txt").write_text("no capture")
    (folder / "d.pcap").write_bytes(cubic.read_bytes()[:-1000])
    (folder / "e.pcap").write_bytes(cubic.read_bytes()[:24])
    return folder


def dataset(folder: Path) -> list[bytes]:
    assert not (folder / "parts").exists()
    return [(folder / name).read_bytes() for name in ("flows.parquet", "captures.parquet", "diagnoses.json")]


def test_a_folder_becomes_one_dataset(captures: Path, tmp_path: Path) -> None:
    reported: list[longfat.SweepProgress] = []
    done = longfat.diagnose_many(captures, tmp_path / "out", progress=reported.append)
    assert (done.captures, done.failed) == (5, 1) and reported[-1].done == reported[-1].cells == 5
    rows = done.to_pandas(captures=True).set_index("capture")
    assert "no capture" in rows.error[str(captures / "c.txt")] or rows.error[str(captures / "c.txt")]
    assert rows.damage[str(captures / "d.pcap")].startswith("at byte ") and rows.damage.isna()[str(captures / "a.pcap")]
    assert rows.packets[str(captures / "e.pcap")] == 0 and rows.error.isna()[str(captures / "e.pcap")]
    flows = done.to_pandas().set_index("capture")
    for name in ("a.pcap", "deep/b.pcap"):
        alone = longfat.diagnose(captures / name).flows[0]
        row = flows.loc[str(captures / name)]
        assert row.cause == alone.cause and row.goodput_mbps == alone.measures.goodput_mbps and row["from"] == alone["from"]
    bad = flows.loc[str(captures / "c.txt")]
    assert bad.error and bad.cause != bad.cause
    # Every executor and every batch size gives the same dataset.
    with ThreadPoolExecutor(2) as threads, ProcessPoolExecutor(2) as processes:
        for name, executor in (("threads", threads), ("processes", processes)):
            again = longfat.diagnose_many(captures, tmp_path / name, executor=executor, batch_s=0.01)
            assert dataset(again.folder) == dataset(done.folder)
    named = longfat.diagnose_many([captures / "a.pcap", str(captures / "*.txt"), captures / "a.pcap"], tmp_path / "named")
    assert (named.captures, named.failed) == (2, 1)


def test_an_interrupted_call_continues(captures: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"

    def enough(p: longfat.SweepProgress) -> None:
        if p.done >= 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        longfat.diagnose_many(captures, out, jobs=1, batch_s=1e-9, progress=enough)
    kept = len(list((out / "parts").iterdir()))
    assert kept >= 2
    first: list[longfat.SweepProgress] = []
    longfat.diagnose_many(captures, out, progress=first.append)
    assert first[0].kept == kept
    longfat.diagnose_many(captures, tmp_path / "whole")
    assert dataset(out) == dataset(tmp_path / "whole")
    os.remove(captures / "a.pcap")
    with pytest.raises(longfat.UsageError, match="something else"):
        longfat.diagnose_many(captures, out)
    assert longfat.diagnose_many(captures, out, force=True).captures == 4
    with pytest.raises(longfat.UsageError, match="no capture found"):
        longfat.diagnose_many(tmp_path / "*.none", out)
    with pytest.raises(FileNotFoundError):
        longfat.diagnose_many(tmp_path / "none.pcap", out)


@pytest.fixture
def store() -> Iterator[str]:
    """An S3 server on loopback."""
    pytest.importorskip("moto.server", exc_type=ImportError)
    pytest.importorskip("s3fs")
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    line = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    server = subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    since = time.monotonic()
    try:
        while True:
            with socket.socket() as s:
                if s.connect_ex(("127.0.0.1", port)) == 0:
                    break
            assert server.poll() is None and time.monotonic() - since < 60, "the server does not start"
            time.sleep(0.05)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.kill()
        server.wait()


@pytest.mark.filterwarnings("default")
def test_an_object_store_works_like_a_folder(captures: Path, tmp_path: Path, store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import s3fs

    options = {"key": "k", "secret": "s", "client_kwargs": {"endpoint_url": store}}
    fs = s3fs.S3FileSystem(**options)
    fs.mkdir("traces")
    for path in captures.rglob("*"):
        if path.is_file():
            fs.put(str(path), f"traces/day/{path.relative_to(captures)}")
    with ProcessPoolExecutor(2) as executor:
        done = longfat.diagnose_many("s3://traces/day", tmp_path / "s3", executor=executor, storage_options=options)
    assert (done.captures, done.failed) == (5, 1)
    here = longfat.diagnose_many(captures, tmp_path / "here").to_pandas().drop(columns=["capture", "error"])
    there = done.to_pandas()
    assert list(there.capture)[0] == "s3://traces/day/a.pcap"
    # Both are in the order of names.
    there.drop(columns=["capture", "error"]).pipe(lambda t: __import__("pandas").testing.assert_frame_equal(t, here))
    # A capture that is deleted before it is read becomes a row with its error.
    found = longfat._many._listed("s3://traces/day", options)
    gone = sorted(found)[0]
    fs.rm("traces/day/a.pcap")
    row = longfat._many._row(longfat._native.program_name(), gone, longfat._captures.packet_filter((), (), None, None), options)
    assert b"FileNotFoundError" in row
