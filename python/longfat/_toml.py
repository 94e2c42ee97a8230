"""Writes dictionaries as the TOML of a scenario file."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any

_BARE = re.compile(r"[A-Za-z0-9_-]+\Z")


def document(tree: Mapping[str, Any]) -> str:
    """The text of a file with these keys: a section for each table, and for each table in it."""
    lines: list[str] = []
    _section(tree, (), lines)
    return "\n".join(lines) + "\n"


def value(item: Any) -> str:
    """A value in one line of TOML."""
    if isinstance(item, bool):
        return "true" if item else "false"
    if isinstance(item, str):
        # JSON's escapes are valid in TOML; only DEL must be escaped as well.
        return json.dumps(item, ensure_ascii=False).replace("\x7f", "\\u007f")
    # Includes numpy's numbers.
    if isinstance(item, Integral):
        return str(int(item))
    if isinstance(item, Real):
        return repr(float(item))
    if isinstance(item, Mapping):
        return "{ " + ", ".join(f"{_key(k)} = {value(v)}" for k, v in item.items()) + " }"
    if isinstance(item, Sequence):
        return "[" + ", ".join(value(v) for v in item) + "]"
    raise TypeError(f"a scenario contains texts, numbers, booleans, lists and dictionaries, not {type(item).__name__}")


def override(key: str, item: Any) -> str:
    """`KEY=VALUE`, as for `--set`: texts are not quoted."""
    return f"{key}={item if isinstance(item, str) else value(item)}"


def _key(key: object) -> str:
    if not isinstance(key, str):
        raise TypeError(f"keys of a scenario must be texts, not {type(key).__name__}")
    return key if _BARE.match(key) else value(key)


def _section(tree: Mapping[str, Any], path: tuple[str, ...], lines: list[str]) -> None:
    # Sections down to `[links.wan]`; tables inside these are written in one line each.
    deep = len(path) >= 2
    tables = {} if deep else {k: v for k, v in tree.items() if isinstance(v, Mapping)}
    own = {k: v for k, v in tree.items() if k not in tables and v is not None}
    if path and (own or not tables):
        lines.append(f"\n[{'.'.join(_key(k) for k in path)}]")
    lines.extend(f"{_key(k)} = {value(v)}" for k, v in own.items())
    for name, table in tables.items():
        _section(table, (*path, name), lines)
