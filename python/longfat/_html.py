"""HTML representation of a result in notebooks."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._result import Result, Variant

_COLUMNS = ("variant", "flow", "control", "goodput, Mbit/s", "RTT p50 / p95, ms", "retransmitted")


def result_html(result: Result) -> str:
    """The headline, the warnings, and a table with one row per flow, at most fifty."""
    rows = [row for variant in result.variants for row in _rows(variant)]
    more = f"<p>… and {len(rows) - 50} more flows</p>" if len(rows) > 50 else ""
    head = "".join(f"<th>{escape(title)}</th>" for title in _COLUMNS)
    body = "".join(rows[:50])
    headline = f"<p><b>{escape(result.headline)}</b></p>" if result.headline else ""
    warnings = "".join(f"<p>⚠ {escape(text)}</p>" for text in result.warnings)
    return f"{headline}{warnings}<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def _rows(variant: Variant) -> list[str]:
    rows = []
    for flow in variant.flows:
        rtt = flow.get("rtt_ms")
        times = f"{rtt['p50']:.1f} / {rtt['p95']:.1f}" if rtt else ""
        sent = flow["sent_packets"]
        retransmitted = f"{flow['retransmitted_packets'] / sent:.2%}" if sent else ""
        cells = (
            variant["name"],
            flow["name"],
            flow["cc"],
            f"{flow['goodput_mbps']:.2f}",
            times,
            retransmitted,
        )
        rows.append("<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in cells) + "</tr>")
    return rows
