"""`Result.plot`: time series with matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ._result import Result, Series

#: Columns plotted by default; `goodput_mbps` is computed from `delivered_bytes`.
COLUMNS = ("goodput_mbps", "rtt_ms", "cwnd")
_LABELS = {"goodput_mbps": "goodput, Mbit/s", "rtt_ms": "RTT, ms", "cwnd": "cwnd, packets"}
#: Above this number of curves a plot has no legend.
_NAMED = 8
#: Rates are averages over this many seconds.
_WINDOW_S = 0.25


def plot(result: Result, columns: tuple[str, ...] | None) -> Figure:
    """Plots the first repeat of each flow: one row of plots per column of the series, one column of plots per variant."""
    try:
        from matplotlib.figure import Figure
    except ImportError as e:
        raise ImportError("plot() needs matplotlib: pip install 'longfat[plot]'") from e
    wanted = columns or COLUMNS
    variants = result.variants
    figure = Figure(figsize=(4.2 * max(1, len(variants)), 2.2 * len(wanted)), layout="constrained")
    axes = figure.subplots(len(wanted), max(1, len(variants)), sharex=True, sharey="row", squeeze=False)
    for across, variant in enumerate(variants):
        axes[0][across].set_title(variant["name"])
        for flow in variant.flows:
            series = flow.series
            for down, column in enumerate(wanted):
                times, values = curve(series, column)
                axes[down][across].plot(times, values, linewidth=1, label=flow["name"])
        axes[-1][across].set_xlabel("time, s")
        if 1 < len(variant.flows) <= _NAMED:
            axes[0][across].legend(fontsize="small")
    for down, column in enumerate(wanted):
        axes[down][0].set_ylabel(_LABELS.get(column, column))
        axes[down][0].set_ylim(bottom=0)
    return figure


def curve(series: Series, column: str) -> tuple[list[float], list[float]]:
    """Times and values of a column; for `goodput_mbps`, the rate over the window before each time."""
    # Lists, because matplotlib indexes sequences in ways that a memoryview does not support.
    times = [*series["time_s"]]
    if column != "goodput_mbps":
        return times, [*series[column]]
    delivered = [*series["delivered_bytes"]]
    rates: list[float] = []
    first = 0
    for row, now in enumerate(times):
        while times[first] < now - _WINDOW_S:
            first += 1
        span = now - times[first]
        rates.append((delivered[row] - delivered[first]) * 8e-6 / span if span > 0 else 0.0)
    return times, rates
