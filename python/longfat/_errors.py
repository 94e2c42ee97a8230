"""Exceptions. All derive from `LongfatError`, except that unreadable files raise `OSError` and Ctrl-C `KeyboardInterrupt`."""

from __future__ import annotations


class LongfatError(Exception):
    """Base class of all exceptions of longfat."""


class UsageError(LongfatError, ValueError):
    """Invalid arguments. The message says what is valid."""


class ScenarioError(LongfatError, ValueError):
    """An invalid scenario, with the location of the error.

    `str()` is one line; `shown` is the source line with a caret, as printed by the command line.
    """

    def __init__(
        self,
        message: str,
        *,
        file: str = "",
        line: int = 0,
        column: int = 0,
        key: str = "",
        variant: str | None = None,
        help: str | None = None,
        shown: str = "",
    ) -> None:
        super().__init__(message)
        #: The file name as given, or `--set` and the number of the override.
        self.file = file
        #: Line, from 1.
        self.line = line
        #: Column in characters, from 1.
        self.column = column
        #: Dotted path of the key, as in `set=`; empty if the whole file is wrong.
        self.key = key
        #: The variant that is wrong, if others are valid.
        self.variant = variant
        #: What would be valid.
        self.help = help
        self.shown = shown


class RunError(LongfatError):
    """A run failed; the message says why."""


class ResultError(LongfatError, ValueError):
    """A result cannot be read; the message names the file."""


class CaptureError(LongfatError, ValueError):
    """A capture cannot be read; the message names the file."""


class FitError(LongfatError):
    """No scenario can be fitted to the capture; the message says why."""


class PlanError(LongfatError):
    """No plan can be made; the message says why."""
