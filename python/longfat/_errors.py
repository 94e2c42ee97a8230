"""What can go wrong. All are `LongfatError`; a file that cannot be read is an `OSError`, Ctrl-C `KeyboardInterrupt`."""

from __future__ import annotations


class LongfatError(Exception):
    """Anything that longfat refuses or fails at."""


class UsageError(LongfatError, ValueError):
    """Arguments that do not fit; the message says what would be right."""


class ScenarioError(LongfatError, ValueError):
    """A scenario that is wrong, and where.

    `str()` is one line; `shown` the source line with a caret, as the command line prints it.
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
        #: The file as it was named, or `--set` and the number of the override.
        self.file = file
        #: Counted from 1.
        self.line = line
        #: In characters, counted from 1.
        self.column = column
        #: The dotted path of the key, as `set=` takes it; empty for the file as a whole.
        self.key = key
        #: The variant in which it is wrong, where others are right.
        self.variant = variant
        #: What would be right.
        self.help = help
        self.shown = shown


class RunError(LongfatError):
    """A run failed."""


class ResultError(LongfatError, ValueError):
    """A result that cannot be read."""


class CaptureError(LongfatError, ValueError):
    """A capture that cannot be read."""


class FitError(LongfatError):
    """No scenario can be fitted to what was captured; the message says why."""


class PlanError(LongfatError):
    """No plan can be made; the message says why."""
