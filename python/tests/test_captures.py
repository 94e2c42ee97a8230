"""`diagnose`, `fit` and `plan` return the output of the commands."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import longfat


@pytest.fixture
def capture(policed: Path, tmp_path: Path, longfat_json: Callable[..., str]) -> Path:
    """The sender's capture of a run."""
    longfat_json("run", policed, "--variant", "cubic", "--set", "duration=6s", "--pcap", tmp_path / "pcap", "--json")
    return next((tmp_path / "pcap").rglob("office*.pcap"))


def test_diagnose_returns_the_commands_output(capture: Path, longfat_json: Callable[..., str]) -> None:
    printed = json.loads(longfat_json("diagnose", capture, "--json"))
    reported_bytes: list[int] = []
    found = longfat.diagnose(capture, progress=lambda done, _: reported_bytes.append(done))
    assert found.to_dict() == printed and found.flows[0].cause == printed["flows"][0]["cause"] == "policed"
    assert "policed" in found._repr_html_()
    printed = json.loads(longfat_json("diagnose", capture, "--port", 1, "--json", codes=(2,)) or "null")
    assert printed is None
    folder = json.loads(longfat_json("diagnose", capture.parent, "--joined", "--json"))
    assert longfat.diagnose(capture.parent, joined=True).to_dict() == folder


def test_fit_returns_the_commands_output_which_run_and_plan_accept(
    capture: Path, longfat_json: Callable[..., str], tmp_path: Path
) -> None:
    printed = json.loads(longfat_json("fit", capture, "--json"))
    fitted = longfat.fit(capture)
    assert fitted.to_dict() == printed
    assert longfat.run(fitted.scenario, set={"duration": "2s"}).variants
    # Exit code 1: no change at the sender helps.
    args = ("plan", capture, "--json", "--finalists", 1, "--repeat", 2, "--only", "sender")
    printed = json.loads(longfat_json(*args, codes=(0, 1)))
    plan = longfat.plan(fitted, finalists=1, repeat=2, only=["sender"])
    assert plan.to_dict() == printed


def test_plan_returns_the_commands_output(policed: Path, longfat_json: Callable[..., str]) -> None:
    args = ("--finalists", 1, "--repeat", 2, "--only", "sender", "--variant", "cubic")
    printed = json.loads(longfat_json("plan", policed, "--json", *args, codes=(0, 1)))
    plan = longfat.plan(policed, finalists=1, repeat=2, only=["sender"], variant="cubic")
    assert plan.to_dict() == printed and json.loads(plan.to_json()) == printed


def test_unusable_input_raises(policed: Path, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        longfat.diagnose(tmp_path / "none.pcap")
    with pytest.raises(longfat.CaptureError):
        longfat.diagnose(policed)
    with pytest.raises(TypeError):
        longfat.diagnose()
    for wrong in ({"only": ["moon"]}, {"objective": "luck"}, {"variant": "x"}):
        with pytest.raises(longfat.UsageError, match="there are|must be one of"):
            longfat.plan(policed, **wrong)
    empty = tmp_path / "i.json"
    empty.write_text("{}")
    with pytest.raises(longfat.LongfatError):
        longfat.fit(empty)
