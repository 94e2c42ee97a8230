"""What runs yielded: figures, as `longfat run --json` prints them, and time series, as Arrow."""

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
    """A table of time series, a batch for each.

    It speaks the Arrow PyCapsule interface: `pyarrow.table(table)`, `polars.DataFrame(table)`,
    `pandas.DataFrame.from_arrow(table)` and DuckDB's queries take it without copying. Columns and units:
    `docs/result-schema.md`.
    """

    def __init__(self, table: _native.SeriesTable) -> None:
        self._table = table

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return self._table.columns

    @property
    def nbytes(self) -> int:
        """Bytes of the columns' buffers; what several columns share is counted for each."""
        return self._table.nbytes

    def __len__(self) -> int:
        return len(self._table)

    def __getitem__(self, column: str) -> memoryview[float]:
        """A column of numbers, copied into doubles, NaN where unknown; `numpy.asarray` takes it as it is."""
        return memoryview(self._table.doubles(column)).cast("d")

    def words(self, column: str) -> list[str]:
        """A column of words (`state`, `flow`, `variant`)."""
        return self._table.words(column)

    def to_pandas(self) -> Any:
        """A pandas data frame; needs pandas and pyarrow."""
        return import_module("pyarrow").table(self).to_pandas()

    def __arrow_c_schema__(self) -> object:
        return self._table.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {len(self)} rows of {', '.join(self.columns)}>"


class Series(Table):
    """The time series of one flow or element in one repeat: a single Arrow batch too."""

    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]:
        return self._table.__arrow_c_array__(requested_schema)


class FlowFigures(Record):
    """A flow's figures; `series` is its time series, of the first repeat."""

    __slots__ = ("_native", "_place")

    def __init__(self, json: dict[str, Any], native: _native.RunOutput, place: tuple[int, int]) -> None:
        super().__init__(json)
        self._native = native
        self._place = place

    @property
    def series(self) -> Series:
        return self.repeat(0)

    def repeat(self, number: int) -> Series:
        """The time series of a repeat, from 0."""
        return Series(self._native.flow_series(self._place[0], number, self._place[1]))

    def __reduce__(self) -> tuple[Any, ...]:
        return (Record, (self._json,))


class ElementFigures(FlowFigures):
    """The figures of an element of the path, and its time series."""

    __slots__ = ()

    def repeat(self, number: int) -> Series:
        return Series(self._native.element_series(self._place[0], number, self._place[1]))


class Variant(Record):
    """One variant's figures: `flows`, `elements`, `total_goodput_mbps` and what else the JSON has."""

    __slots__ = ("_native", "_at")

    def __init__(self, json: dict[str, Any], native: _native.RunOutput, at: int) -> None:
        super().__init__(json)
        self._native = native
        self._at = at

    @property
    def flows(self) -> list[FlowFigures]:
        return [FlowFigures(f, self._native, (self._at, i)) for i, f in enumerate(self._json["flows"])]

    @property
    def elements(self) -> list[ElementFigures]:
        return [ElementFigures(e, self._native, (self._at, i)) for i, e in enumerate(self._json["elements"])]

    def __reduce__(self) -> tuple[Any, ...]:
        return (Record, (self._json,))


class Result:
    """What the runs of a scenario yielded."""

    def __init__(self, native: _native.RunOutput) -> None:
        self._native = native

    @cached_property
    def _run(self) -> dict[str, Any]:
        run: dict[str, Any] = json.loads(self._native.json)
        return run

    @property
    def scenario(self) -> str:
        """The scenario's name."""
        return str(self._run["scenario"])

    @property
    def headline(self) -> str | None:
        """What happened and what helps."""
        return self._run.get("headline")

    @property
    def warnings(self) -> list[str]:
        """What of the scenario is probably not meant, and what makes numbers doubtful."""
        return list(self._run.get("warnings", []))

    @property
    def notices(self) -> list[str]:
        """What runs on the kernel told of themselves: programs that failed, packets that the machine lost."""
        return self._native.notices

    @property
    def variants(self) -> list[Variant]:
        """The variants, in the scenario's order."""
        return [Variant(v, self._native, i) for i, v in enumerate(self._run["variants"])]

    @property
    def flows(self) -> list[FlowFigures]:
        """The flows of all variants."""
        return [flow for variant in self.variants for flow in variant.flows]

    def variant(self, name: str) -> Variant:
        """The variant called so (the first, where there is one for each clock)."""
        for variant in self.variants:
            if variant["name"] == name:
                return variant
        raise KeyError(f"{name}; there are: {', '.join(v['name'] for v in self.variants)}")

    @property
    def flow_series(self) -> Table:
        """The time series of all flows of all repeats of all variants, in one table."""
        return Table(self._native.flow_series())

    @property
    def element_series(self) -> Table:
        """The same of the path's elements."""
        return Table(self._native.element_series())

    def to_dict(self) -> dict[str, Any]:
        """What `longfat run --json` prints, as dictionaries and lists."""
        return self._run

    def to_json(self) -> str:
        """What `longfat run --json` prints."""
        return self._native.json

    def plot(self, columns: tuple[str, ...] | None = None) -> Figure:
        """Time series of all flows, a column of plots a variant; needs matplotlib.

        `columns`: names of `flow_series`' columns; unless given, goodput, RTT and the congestion window.
        """
        from ._plot import plot

        return plot(self, columns)

    def _repr_html_(self) -> str:
        from ._html import result_html

        return result_html(self)

    def __repr__(self) -> str:
        variants = ", ".join(f"{v['name']} {v['total_goodput_mbps']:.4g} Mbit/s" for v in self.variants)
        return f"<Result of {self.scenario}: {variants}>"
