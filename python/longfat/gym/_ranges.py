"""Domain randomisation: scenario keys that are drawn for each episode."""

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
    """A quantity between `low` and `high`, both with the same unit: `Range("5Mbit/s", "50Mbit/s", log=True)`."""

    low: str | float
    high: str | float
    #: Draw uniformly on a logarithmic scale.
    log: bool = False

    def draw(self, random: np.random.Generator) -> str:
        """Draws a quantity, as text for a scenario key. Raises `ValueError` if the units differ."""
        (low, unit), (high, other) = _split(self.low), _split(self.high)
        if unit != other:
            raise ValueError(f"{self.low} and {self.high}: a range must have one unit")
        if self.log:
            value = math.exp(random.uniform(math.log(low), math.log(high)))
        else:
            value = random.uniform(low, high)
        # Four significant digits are exact in every unit.
        return f"{float(f'{value:.4g}'):.10f}".rstrip("0").rstrip(".") + unit


#: The values of a key: a range, or a list to choose from.
Draw = Range | Sequence[Any]


def draw_values(ranges: Mapping[str, Draw], random: np.random.Generator) -> dict[str, Any]:
    """Draws a value for each key."""
    values: dict[str, Any] = {}
    for key, source in ranges.items():
        values[key] = source.draw(random) if isinstance(source, Range) else source[int(random.integers(len(source)))]
    return values


def _split(quantity: str | float) -> tuple[float, str]:
    found = _QUANTITY.match(str(quantity))
    if not found:
        raise ValueError(f"{quantity!r} is not a quantity; use a number with a unit")
    return float(found[1]), found[2]
