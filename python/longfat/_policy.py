"""A learned policy, stored as layers of numbers, independent of the library that trained it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

#: Activation functions between two layers.
_BETWEEN: dict[str, Callable[[Any], Any]] = {"tanh": np.tanh, "relu": lambda x: np.maximum(x, 0.0)}
_OUTPUTS = ("tanh", "none", "argmax")


class Policy:
    """A multilayer perceptron that maps an observation to an action.

    `layers`: pairs of a weight matrix (outputs × inputs) and a bias vector (outputs). `between`: the activation after
    all layers but the last, "tanh" or "relu". `output`: what becomes of the last layer: "tanh" (the action is `scale`
    times its tanh), "none" (`scale` times it) or "argmax" (the index of its maximum, a discrete action).
    `scheme` and `step_s`: those of the environment that the policy was trained in.

    >>> Policy([(weights, bias)], output="tanh", scale=0.3, scheme="aurora", step_s=0.02).save("policy.json")

    A layer of PyTorch is `(linear.weight.detach().numpy(), linear.bias.detach().numpy())`.

    Raises `ValueError` if shapes do not match or a number is not finite.
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
            raise ValueError(f"between={between!r}: must be {' or '.join(map(repr, _BETWEEN))}")
        if output not in _OUTPUTS:
            raise ValueError(f"output={output!r}: must be {' or '.join(map(repr, _OUTPUTS))}")
        if not self.layers:
            raise ValueError("a policy needs at least one layer")
        width = None
        for i, (weights, constants) in enumerate(self.layers):
            if weights.ndim != 2 or constants.shape != weights.shape[:1] or width not in (None, weights.shape[1]):
                raise ValueError(
                    f"layer {i}: weights of shape {weights.shape} and constants of shape {constants.shape}"
                    + (f" after {width} outputs" if width else "")
                )
            if not (np.isfinite(weights).all() and np.isfinite(constants).all()):
                raise ValueError(f"layer {i}: a weight is not a finite number")
            width = weights.shape[0]

    def __call__(self, seen: ArrayLike) -> Any:
        """The action for an observation: an integer if it is discrete."""
        values = np.asarray(seen, float)
        for i, (weights, constants) in enumerate(self.layers):
            values = weights @ values + constants
            if i + 1 < len(self.layers):
                values = _BETWEEN[self.between](values)
        if self.output == "argmax":
            return int(values.argmax())
        return self.scale * (np.tanh(values) if self.output == "tanh" else values)

    def to_json(self) -> str:
        """The policy as JSON text."""
        layers = [{"weights": w.tolist(), "constants": c.tolist()} for w, c in self.layers]
        keys = ("scheme", "step_s", "between", "output", "scale")
        return json.dumps({key: getattr(self, key) for key in keys} | {"layers": layers})

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the policy to a JSON file."""
        Path(path).write_text(self.to_json() + "\n")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Policy:
        """Reads a file that `save` wrote. Raises `ValueError`, naming the file, if it is not a policy."""
        try:
            keys = json.loads(Path(path).read_text())
            layers = [(layer["weights"], layer["constants"]) for layer in keys.pop("layers")]
            return cls(layers, **keys)
        except (ValueError, TypeError, KeyError, AttributeError) as e:
            raise ValueError(f"{os.fspath(path)}: not a policy: {type(e).__name__}: {e}") from e
