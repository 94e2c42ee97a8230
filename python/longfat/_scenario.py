"""Scenarios, read from a file or text, or built in Python."""

from __future__ import annotations

import copy
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from . import _native, _toml

#: A path (or the name of a built-in example), the text of a scenario file, its keys as a dictionary, or a `Scenario`.
ScenarioLike: TypeAlias = "str | os.PathLike[str] | Mapping[str, Any] | Scenario"


class Scenario:
    """The keys of a scenario file (`docs/scenario.md`), built and changed in Python.

    Nothing is checked until the scenario is run or `check` is called, because only the whole can be checked.

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
        """Sets a host's keys: `stack={"profile": "windows"}`."""
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
        """Connects hosts `a` and `b`. `forward` lists the stages that packets pass from `a` to `b`, `backward` those back."""
        stages = {"forward": [*forward], "backward": [*backward]}
        self._table("links")[name] = {"between": [a, b]} | {k: v for k, v in stages.items() if v}

    def flow(self, name: str, source: str, to: str, **settings: Any) -> None:
        """Adds traffic from host `source` to host `to`: `cc="bbr"`, `count=4`, `app={"kind": "bulk", "bytes": "10MB"}`, `start="2s"` …"""
        self._table("flows")[name] = {"from": source, "to": to} | settings

    def variant(self, name: str, changes: Mapping[str, Any] | None = None) -> None:
        """Adds a variant to compare: its changes, by dotted path."""
        self._table("variants")[name] = dict(changes or {})

    def to_toml(self) -> str:
        """The scenario as the text of a scenario file."""
        return _toml.document(self.keys)

    def check(self) -> list[str]:
        """Checks the scenario. Returns a sentence for each part that is probably unintended; raises `ScenarioError` if it is invalid."""
        return loaded(self, {}, False).warnings

    def _table(self, name: str) -> dict[str, Any]:
        table: dict[str, Any] = self.keys.setdefault(name, {})
        return table

    def __repr__(self) -> str:
        return f"Scenario({self.keys!r})"


def policer(rate: str, *, burst: str, **more: Any) -> dict[str, Any]:
    """A stage that drops traffic exceeding `rate` by more than `burst`."""
    return {"kind": "policer", "rate": rate, "burst": burst, **more}


def shaper(rate: str, *, burst: str, packets: int = 100, **more: Any) -> dict[str, Any]:
    """A stage that delays traffic exceeding `rate`, in a queue of `packets` unless `queue` is given."""
    return {"kind": "shaper", "rate": rate, "burst": burst, "queue": {"kind": "fifo", "packets": packets}, **more}


def delay(span: str, **more: Any) -> dict[str, Any]:
    """A stage that delays each packet by `span`."""
    return {"kind": "delay", "delay": span, **more}


def link(rate: str, **more: Any) -> dict[str, Any]:
    """A transmission line that sends packets one after the other at `rate`; `delay` and `queue` are optional."""
    return {"kind": "link", "rate": rate, **more}


def loss(probability: float, **more: Any) -> dict[str, Any]:
    """A stage that drops packets at random; 0.01 is 1 %."""
    return {"kind": "loss", "probability": probability, **more}


def source(scenario: ScenarioLike) -> tuple[str | None, str | None]:
    """The scenario's file (or the name of a built-in example) or, without one, its text."""
    if isinstance(scenario, Scenario):
        return None, scenario.to_toml()
    if isinstance(scenario, Mapping):
        return None, _toml.document(scenario)
    if isinstance(scenario, str) and ("\n" in scenario or "=" in scenario and not Path(scenario).exists()):
        return None, scenario
    if isinstance(scenario, (str, os.PathLike)):
        return os.fspath(scenario), None
    raise TypeError(f"scenario must be a path, a text, a dictionary or a Scenario, not {type(scenario).__name__}")


def loaded(
    scenario: ScenarioLike, changes: Mapping[str, Any], allow_files: bool, variants: Sequence[str] = ()
) -> _native.LoadedScenario:
    """Loads and checks these variants of the scenario (default: all), with the changes applied as by `--set`."""
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
    """The built-in scenarios, as a dictionary from name to text. `run` accepts the names."""
    return dict(_native.examples())
