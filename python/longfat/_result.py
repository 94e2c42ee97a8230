"""Results of runs: figures, as printed by `longfat run --json`, and time series in Arrow format."""

from __future__ import annotations

import json
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any

from . import _native
from ._record import Record

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Table:
    """A table of time series with one Arrow batch per series.

    It implements the Arrow PyCapsule interface: `pyarrow.table(table)`, `polars.DataFrame(table)`,
    `pandas.DataFrame.from_arrow(table)` and DuckDB queries read it without copying. Columns and units are described in
    `docs/result-schema.md`.
    """

    def __init__(self, table: _native.SeriesTable) -> None:
        self._table = table

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return self._table.columns

    @property
    def nbytes(self) -> int:
        """Size of the columns' buffers, bytes; a buffer that several columns share is counted for each."""
        return self._table.nbytes

    def __len__(self) -> int:
        return len(self._table)

    def __getitem__(self, column: str) -> memoryview[float]:
        """A numeric column, copied to float64, NaN where unknown; `numpy.asarray` accepts it without another copy."""
        return memoryview(self._table.doubles(column)).cast("d")

    def words(self, column: str) -> list[str]:
        """A text column (`state`, `flow`, `variant`), one string per row."""
        return self._table.words(column)

    def to_pandas(self) -> Any:
        """The table as a pandas DataFrame. Requires pandas and pyarrow."""
        return import_module("pyarrow").table(self).to_pandas()

    def __arrow_c_schema__(self) -> object:
        return self._table.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {len(self)} rows of {', '.join(self.columns)}>"


class Series(Table):
    """The time series of one flow or element in one repeat: a single Arrow batch."""

    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]:
        return self._table.__arrow_c_array__(requested_schema)


class FlowFigures(Record):
    """The figures of one flow; `series` is its time series in the first repeat."""

    __slots__ = ("_native", "_place")

    def __init__(self, json: dict[str, Any], native: _native.RunOutput, place: tuple[int, int]) -> None:
        super().__init__(json)
        self._native = native
        self._place = place

    @property
    def series(self) -> Series:
        """The time series of the first repeat."""
        return self.repeat(0)

    def repeat(self, number: int) -> Series:
        """The time series of repeat `number`, from 0."""
        return Series(self._native.flow_series(self._place[0], number, self._place[1]))

    def __reduce__(self) -> tuple[Any, ...]:
        return (Record, (self._json,))


class ElementFigures(FlowFigures):
    """The figures of one element of the path; `series` is its time series in the first repeat."""

    __slots__ = ()

    def repeat(self, number: int) -> Series:
        return Series(self._native.element_series(self._place[0], number, self._place[1]))


class Variant(Record):
    """The figures of one variant: `flows`, `elements`, `total_goodput_mbps` and the other keys of the JSON."""

    __slots__ = ("_native", "_at")

    def __init__(self, json: dict[str, Any], native: _native.RunOutput, at: int) -> None:
        super().__init__(json)
        self._native = native
        self._at = at

    @property
    def flows(self) -> list[FlowFigures]:
        """The variant's flows, in the scenario's order."""
        return [FlowFigures(f, self._native, (self._at, i)) for i, f in enumerate(self._json["flows"])]

    @property
    def elements(self) -> list[ElementFigures]:
        """The elements of the variant's path."""
        return [ElementFigures(e, self._native, (self._at, i)) for i, e in enumerate(self._json["elements"])]

    def __reduce__(self) -> tuple[Any, ...]:
        return (Record, (self._json,))


class Result:
    """The result of the runs of a scenario."""

    def __init__(self, native: _native.RunOutput) -> None:
        self._native = native

    @cached_property
    def _run(self) -> dict[str, Any]:
        run: dict[str, Any] = json.loads(self._native.json)
        return run

    @property
    def scenario(self) -> str:
        """Name of the scenario."""
        return str(self._run["scenario"])

    @property
    def headline(self) -> str | None:
        """What happened and what helps, in one or two sentences; None if there is nothing to compare."""
        return self._run.get("headline")

    @property
    def warnings(self) -> list[str]:
        """Parts of the scenario that are probably unintended, and reasons to doubt the numbers."""
        return list(self._run.get("warnings", []))

    @property
    def notices(self) -> list[str]:
        """Messages of runs on the kernel: programs that failed, packets that the machine lost."""
        return self._native.notices

    @property
    def variants(self) -> list[Variant]:
        """The variants, in the scenario's order."""
        return [Variant(v, self._native, i) for i, v in enumerate(self._run["variants"])]

    @property
    def flows(self) -> list[FlowFigures]:
        """The flows of all variants, in order."""
        return [flow for variant in self.variants for flow in variant.flows]

    def variant(self, name: str) -> Variant:
        """The variant of this name (the first one, if there is one per clock). Raises `KeyError`."""
        for variant in self.variants:
            if variant["name"] == name:
                return variant
        raise KeyError(f"no variant {name!r}; the variants are: {', '.join(v['name'] for v in self.variants)}")

    @property
    def flow_series(self) -> Table:
        """The time series of all flows, repeats and variants, in one table."""
        return Table(self._native.flow_series())

    @property
    def element_series(self) -> Table:
        """The time series of all elements of the path, repeats and variants, in one table."""
        return Table(self._native.element_series())

    def to_dict(self) -> dict[str, Any]:
        """The output of `longfat run --json`, as dictionaries and lists."""
        return self._run

    def to_json(self) -> str:
        """The output of `longfat run --json`, as text."""
        return self._native.json

    def plot(self, columns: tuple[str, ...] | None = None) -> Figure:
        """Plots the time series of all flows, one column of plots per variant. Requires matplotlib.

        `columns`: names of columns of `flow_series`; default: goodput, RTT and congestion window.
        """
        from ._plot import plot

        return plot(self, columns)

    def _repr_html_(self) -> str:
        from ._html import result_html

        return result_html(self)

    def __repr__(self) -> str:
        variants = ", ".join(f"{v['name']} {v['total_goodput_mbps']:.4g} Mbit/s" for v in self.variants)
        return f"<Result of {self.scenario}: {variants}>"
