"""JSON objects with attribute access."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


class Record(Mapping[str, Any]):
    """A JSON object: `flow.rtt_ms.p95` and `flow["rtt_ms"]["p95"]` are the same number.

    The keys are those of `docs/result-schema.md` and the other schemas. A key that is missing in the JSON raises
    `AttributeError`; `record.get(key)` returns None.
    """

    __slots__ = ("_json",)

    def __init__(self, json: dict[str, Any]) -> None:
        self._json = json

    def __getitem__(self, key: str) -> Any:
        return _wrapped(self._json[key])

    def __getattr__(self, name: str) -> Any:
        try:
            return _wrapped(self._json[name])
        except KeyError:
            raise AttributeError(f"no key {name!r}; the keys are: {', '.join(self._json)}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._json)

    def __len__(self) -> int:
        return len(self._json)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._json]

    def __repr__(self) -> str:
        name = self._json.get("name")
        label = f" {name!r}" if isinstance(name, str) else ""
        return f"<{type(self).__name__}{label}: {', '.join(self._json)}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self._json,))

    def to_dict(self) -> dict[str, Any]:
        """The object as plain dictionaries and lists, not copied."""
        return self._json


def _wrapped(value: Any) -> Any:
    if isinstance(value, dict):
        return Record(value)
    if isinstance(value, list):
        return [_wrapped(item) for item in value]
    return value
