"""longfat: finds out why a rate-limited, long or lossy path is slow, what would fix it, and proves the fix.

>>> import longfat
>>> result = longfat.run("policer-or-shaper", variants=["policer"])
>>> result.variants[0].total_goodput_mbps
>>> result.flow_series                      # readable by pandas, polars, pyarrow and DuckDB
"""

from . import _native
from ._captures import Diagnosis, Fit, Plan, diagnose, fit, plan
from ._control import Control, ControlFactory, ControlLike
from ._errors import (
    CaptureError,
    FitError,
    LongfatError,
    PlanError,
    ResultError,
    RunError,
    ScenarioError,
    UsageError,
)
from ._many import Diagnoses, diagnose_many
from ._progress import Progress
from ._record import Record
from ._result import ElementFigures, FlowFigures, Result, Series, Table, Variant
from ._run import run
from ._scenario import Scenario, ScenarioLike, delay, examples, link, loss, policer, shaper
from ._sweep import Sweep, SweepProgress, sweep
from ._tcp import Tcp

__version__ = _native.__version__

__all__ = [
    "CaptureError",
    "Control",
    "ControlFactory",
    "ControlLike",
    "Diagnoses",
    "Diagnosis",
    "ElementFigures",
    "Fit",
    "FitError",
    "FlowFigures",
    "LongfatError",
    "Plan",
    "PlanError",
    "Progress",
    "Record",
    "Result",
    "ResultError",
    "RunError",
    "Scenario",
    "ScenarioError",
    "ScenarioLike",
    "Series",
    "Sweep",
    "SweepProgress",
    "Table",
    "Tcp",
    "UsageError",
    "Variant",
    "__version__",
    "delay",
    "diagnose",
    "diagnose_many",
    "examples",
    "fit",
    "link",
    "loss",
    "plan",
    "policer",
    "run",
    "shaper",
    "sweep",
]
