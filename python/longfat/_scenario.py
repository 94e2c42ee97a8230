"""Scenarios: read from a file or a text, or built in Python."""

from __future__ import annotations

import copy
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from . import _native, _toml

#: What `run` and the others take: a path (or the name of a built-in example), the text of a scenario file, the keys of
#: one as a dictionary, or a `Scenario`.
ScenarioLike: TypeAlias = "str | os.PathLike[str] | Mapping[str, Any] | Scenario"


class Scenario:
    """The keys of a scenario file (`docs/scenario.md`), to be built up and changed.

    Nothing is checked before it is run or `check` is called: only the whole can be judged.

    >>> s = Scenario(name="office", duration="10s")
    >>> s.link("wan", "office", "centre", forward=[policer("20Mbit/s", burst="625kB"), delay("40ms")],
    ...        backward=[delay("40ms")])
    >>> s.flow("upload", "office", "centre", cc="cubic")
    >>> s.variant("policed")
    >>> s.variant("bbr", {"flows.upload.cc": "bbr"})
    """

    def __init__(self, keys: Mapping[str, Any] | None = None, /, **more: Any) -> None:
        #: The keys, as dictionaries and lists.
        self.keys: dict[str, Any] = {**copy.deepcopy(dict(keys or {})), **more}

    def host(self, name: str, **settings: Any) -> None:
        """Settings of a host: `stack={"profile": "windows"}`."""
        self._table("hosts")[name] = settings

    def link(
        self,
        name: str,
        a: str,
        b: str,
        *,
        forward: Sequence[Mapping[str, Any]] = (),
        backward: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        """Joins two hosts: the stages that packets meet from `a` to `b`, and back, in order."""
        stages = {"forward": [*forward], "backward": [*backward]}
        self._table("links")[name] = {"between": [a, b]} | {k: v for k, v in stages.items() if v}

    def flow(self, name: str, source: str, to: str, **settings: Any) -> None:
        """Traffic: `cc="bbr"`, `count=4`, `app={"kind": "bulk", "bytes": "10MB"}`, `start="2s"` and so on."""
        self._table("flows")[name] = {"from": source, "to": to} | settings

    def variant(self, name: str, changes: Mapping[str, Any] | None = None) -> None:
        """One of the things to compare: what it changes, by dotted path."""
        self._table("variants")[name] = dict(changes or {})

    def to_toml(self) -> str:
        """The text of a scenario file with these keys."""
        return _toml.document(self.keys)

    def check(self) -> list[str]:
        """What of it is probably not meant, a sentence each. Raises `ScenarioError` where it is wrong."""
        return loaded(self, {}, False).warnings

    def _table(self, name: str) -> dict[str, Any]:
        table: dict[str, Any] = self.keys.setdefault(name, {})
        return table

    def __repr__(self) -> str:
        return f"Scenario({self.keys!r})"


def policer(rate: str, *, burst: str, **more: Any) -> dict[str, Any]:
    """A stage that drops what exceeds `rate` by more than `burst`."""
    return {"kind": "policer", "rate": rate, "burst": burst, **more}


def shaper(rate: str, *, burst: str, packets: int = 100, **more: Any) -> dict[str, Any]:
    """A stage that delays what exceeds `rate`: a queue of so many packets unless `queue` says otherwise."""
    return {"kind": "shaper", "rate": rate, "burst": burst, "queue": {"kind": "fifo", "packets": packets}, **more}


def delay(span: str, **more: Any) -> dict[str, Any]:
    """A stage that takes each packet so long to pass."""
    return {"kind": "delay", "delay": span, **more}


def link(rate: str, **more: Any) -> dict[str, Any]:
    """A line: packets are sent one after the other at this rate, `delay` and `queue` unless none is wanted."""
    return {"kind": "link", "rate": rate, **more}


def loss(probability: float, **more: Any) -> dict[str, Any]:
    """A stage that loses packets at random: 0.01 is 1 %."""
    return {"kind": "loss", "probability": probability, **more}


def source(scenario: ScenarioLike) -> tuple[str | None, str | None]:
    """The file that a scenario is in (or the name of a built-in one), or else its text."""
    if isinstance(scenario, Scenario):
        return None, scenario.to_toml()
    if isinstance(scenario, Mapping):
        return None, _toml.document(scenario)
    if isinstance(scenario, str) and ("\n" in scenario or "=" in scenario and not Path(scenario).exists()):
        return None, scenario
    if isinstance(scenario, (str, os.PathLike)):
        return os.fspath(scenario), None
    raise TypeError(f"a scenario is a path, a text, a dictionary or a Scenario, not {type(scenario).__name__}")


def loaded(
    scenario: ScenarioLike, changes: Mapping[str, Any], allow_files: bool, variants: Sequence[str] = ()
) -> _native.LoadedScenario:
    """The scenario's variants (none: all), checked, with these changes (as `--set` makes them)."""
    path, text = source(scenario)
    overrides = [_toml.override(key, item) for key, item in changes.items()]
    return _native.load(
        path=path,
        text=text,
        name="scenario.toml",
        folder=".",
        overrides=overrides,
        variants=list(variants),
        allow_files=allow_files,
    )


def examples() -> dict[str, str]:
    """The built-in scenarios: each name with its text. `run` takes the names too."""
    return dict(_native.examples())
