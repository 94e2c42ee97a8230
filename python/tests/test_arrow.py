"""Time series as other libraries read them."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

import longfat

from conftest import POLICED

pyarrow = pytest.importorskip("pyarrow")


def test_every_library_reads_the_same_rows() -> None:
    result = longfat.run(POLICED, repeat=2)
    series = result.flow_series
    table = pyarrow.table(series)
    assert table.num_rows == len(series) == 4 * 301 and table.column_names == series.columns
    assert set(table["variant"].to_pylist()) == {"cubic", "bbr"} and set(table["repeat"].to_pylist()) == {1, 2}
    assert table.schema.field("srtt_ms").nullable and table.schema.field("cwnd").type == pyarrow.uint64()
    assert table.schema.field("rtt_ms").metadata[b"unit"] == b"ms"
    table.validate(full=True)
    goodput = table["delivered_bytes"].to_pylist()
    frame = table.to_pandas()
    assert frame["delivered_bytes"].tolist() == goodput
    assert frame["state"].isin(["", "slow start", "avoidance", "recovery", "STARTUP", "PROBE_BW", "DRAIN", "cwr",
                                "disorder", "loss", "PROBE_RTT"]).all()
    polars = pytest.importorskip("polars")
    assert polars.DataFrame(series)["delivered_bytes"].to_list() == goodput
    assert polars.DataFrame(series)["flow"].cast(polars.String).unique().to_list() == ["up"]
    duckdb = pytest.importorskip("duckdb")
    rows = duckdb.sql("select max(delivered_bytes), count(*) from series where flow = 'up'").fetchall()
    assert rows == [(max(goodput), len(goodput))]


def test_one_flow_is_one_batch_that_agrees_with_the_figures() -> None:
    result = longfat.run(POLICED, repeat=1)
    flow = result.variant("cubic").flows[0]
    series = flow.series
    batch = pyarrow.record_batch(series)
    assert batch.num_rows == len(series) == 301
    assert batch["delivered_bytes"][-1].as_py() == flow.delivered_bytes == series["delivered_bytes"][-1]
    assert math.isnan(series["srtt_ms"][0]) and batch["srtt_ms"][0].as_py() is None
    assert series.words("state")[0] == batch["state"][0].as_py()
    element = result.variant("cubic").elements[0]
    dropped = pyarrow.table(element.series)["dropped"][-1].as_py()
    assert element.name.endswith("policer") and dropped == element.dropped_packets > 0
    with pytest.raises(KeyError):
        series["nothing"]


def test_nothing_is_copied_and_buffers_outlive_the_result() -> None:
    series = longfat.run(POLICED).variant("bbr").flows[0].series
    first, second = pyarrow.record_batch(series), pyarrow.table(series)
    address = lambda column: column.buffers()[1].address
    for name in ("time_s", "cwnd", "srtt_ms", "state"):
        assert address(first[name]) == address(second[name].chunk(0)), name
    total = sum(first["cwnd"].to_pylist())
    del series, second
    assert sum(first["cwnd"].to_pylist()) == total > 0
