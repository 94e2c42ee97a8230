"""Domain randomisation: keys of the scenario that are drawn anew for each episode."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

_QUANTITY = re.compile(r"\s*([0-9.]+(?:[eE][-+]?[0-9]+)?)\s*(\S*)\s*\Z")


@dataclass(frozen=True)
class Range:
    """A quantity from `low` to `high`, both in the same unit: `Range("5Mbit/s", "50Mbit/s", log=True)`."""

    low: str | float
    high: str | float
    #: Each factor is as likely as any other, rather than each difference.
    log: bool = False

    def draw(self, random: np.random.Generator) -> str:
        """A quantity, as the scenario's keys take it."""
        (low, unit), (high, other) = _split(self.low), _split(self.high)
        if unit != other:
            raise ValueError(f"{self.low} and {self.high}: a range has one unit")
        if self.log:
            value = math.exp(random.uniform(math.log(low), math.log(high)))
        else:
            value = random.uniform(low, high)
        # Four digits are exact in every unit.
        return f"{float(f'{value:.4g}'):.10f}".rstrip("0").rstrip(".") + unit


#: What a key may be drawn from: a range, or a list of values.
Draw = Range | Sequence[Any]


def drawn(ranges: Mapping[str, Draw], random: np.random.Generator) -> dict[str, Any]:
    """A value for each key."""
    values: dict[str, Any] = {}
    for key, of in ranges.items():
        values[key] = of.draw(random) if isinstance(of, Range) else of[int(random.integers(len(of)))]
    return values


def _split(quantity: str | float) -> tuple[float, str]:
    found = _QUANTITY.match(str(quantity))
    if not found:
        raise ValueError(f"{quantity!r} is no quantity; a number and a unit would be right")
    return float(found[1]), found[2]
