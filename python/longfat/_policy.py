"""A learned policy as a file: layers of numbers, whatever they were learned with."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

#: What stands between two layers.
_BETWEEN: dict[str, Callable[[Any], Any]] = {"tanh": np.tanh, "relu": lambda x: np.maximum(x, 0.0)}
_OUTPUTS = ("tanh", "none", "argmax")


class Policy:
    """A multilayer perceptron: what is seen goes through `layers`, each a matrix (outputs × inputs) and a constant for each
    output, with `between` ("tanh" or "relu") after all but the last; then `output`: "tanh" (an action is `scale` times it),
    "none" (`scale` times the last layer), or "argmax" (the place of the largest: a discrete action).

    `scheme` and `step_s` are those of the environment that it was learned in.

    >>> Policy([(weights, constants)], output="tanh", scale=0.3, scheme="aurora", step_s=0.02).save("policy.json")

    Of PyTorch a layer is `(linear.weight.detach().numpy(), linear.bias.detach().numpy())`.
    """

    def __init__(
        self,
        layers: Sequence[tuple[ArrayLike, ArrayLike]],
        *,
        scheme: str,
        step_s: float,
        between: str = "tanh",
        output: str = "none",
        scale: float = 1.0,
    ) -> None:
        self.layers: list[tuple[NDArray[np.float64], NDArray[np.float64]]] = [
            (np.asarray(weights, float), np.asarray(constants, float)) for weights, constants in layers
        ]
        self.scheme, self.step_s, self.between, self.output, self.scale = scheme, step_s, between, output, scale
        if between not in _BETWEEN:
            raise ValueError(f"between={between!r}: {' or '.join(map(repr, _BETWEEN))} would be right")
        if output not in _OUTPUTS:
            raise ValueError(f"output={output!r}: {' or '.join(map(repr, _OUTPUTS))} would be right")
        if not self.layers:
            raise ValueError("a policy has a layer at least")
        width = None
        for i, (weights, constants) in enumerate(self.layers):
            if weights.ndim != 2 or constants.shape != weights.shape[:1] or width not in (None, weights.shape[1]):
                raise ValueError(
                    f"layer {i}: weights of shape {weights.shape} and constants of shape {constants.shape}"
                    + (f" after {width} outputs" if width else "")
                )
            if not (np.isfinite(weights).all() and np.isfinite(constants).all()):
                raise ValueError(f"layer {i}: a weight is no number")
            width = weights.shape[0]

    def __call__(self, seen: ArrayLike) -> Any:
        """The action; a whole number where it is discrete."""
        values = np.asarray(seen, float)
        for i, (weights, constants) in enumerate(self.layers):
            values = weights @ values + constants
            if i + 1 < len(self.layers):
                values = _BETWEEN[self.between](values)
        if self.output == "argmax":
            return int(values.argmax())
        return self.scale * (np.tanh(values) if self.output == "tanh" else values)

    def to_json(self) -> str:
        """All of it."""
        layers = [{"weights": w.tolist(), "constants": c.tolist()} for w, c in self.layers]
        keys = ("scheme", "step_s", "between", "output", "scale")
        return json.dumps({key: getattr(self, key) for key in keys} | {"layers": layers})

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes it to a file, as JSON."""
        Path(path).write_text(self.to_json() + "\n")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Policy:
        """Reads a file that `save` wrote. Raises `ValueError`, which names the file, where it is none."""
        try:
            keys = json.loads(Path(path).read_text())
            layers = [(layer["weights"], layer["constants"]) for layer in keys.pop("layers")]
            return cls(layers, **keys)
        except (ValueError, TypeError, KeyError, AttributeError) as e:
            raise ValueError(f"{os.fspath(path)}: no policy: {type(e).__name__}: {e}") from e
