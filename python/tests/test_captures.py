"""`diagnose`, `fit` and `plan` give what the commands print."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import longfat


@pytest.fixture
def capture(policed: Path, tmp_path: Path, longfat_json: Callable[..., str]) -> Path:
    """The sender's capture of a run of the command."""
    longfat_json("run", policed, "--variant", "cubic", "--set", "duration=6s", "--pcap", tmp_path / "pcap", "--json")
    return next((tmp_path / "pcap").rglob("office*.pcap"))


def test_a_diagnosis_is_the_commands(capture: Path, longfat_json: Callable[..., str]) -> None:
    told = json.loads(longfat_json("diagnose", capture, "--json"))
    told_bytes: list[int] = []
    found = longfat.diagnose(capture, progress=lambda done, _: told_bytes.append(done))
    assert found.to_dict() == told and found.flows[0].cause == told["flows"][0]["cause"] == "policed"
    assert "policed" in found._repr_html_()
    told = json.loads(longfat_json("diagnose", capture, "--port", 1, "--json", codes=(2,)) or "null")
    assert told is None
    folder = json.loads(longfat_json("diagnose", capture.parent, "--joined", "--json"))
    assert longfat.diagnose(capture.parent, joined=True).to_dict() == folder


def test_a_fit_is_the_commands_and_runs_and_is_planned_for(
    capture: Path, longfat_json: Callable[..., str], tmp_path: Path
) -> None:
    told = json.loads(longfat_json("fit", capture, "--json"))
    fitted = longfat.fit(capture)
    assert fitted.to_dict() == told
    assert longfat.run(fitted.scenario, set={"duration": "2s"}).variants
    # 1: nothing that the sender could do helps.
    args = ("plan", capture, "--json", "--finalists", 1, "--repeat", 2, "--only", "sender")
    told = json.loads(longfat_json(*args, codes=(0, 1)))
    plan = longfat.plan(fitted, finalists=1, repeat=2, only=["sender"])
    assert plan.to_dict() == told


def test_a_plan_is_the_commands(policed: Path, longfat_json: Callable[..., str]) -> None:
    args = ("--finalists", 1, "--repeat", 2, "--only", "sender", "--variant", "cubic")
    told = json.loads(longfat_json("plan", policed, "--json", *args, codes=(0, 1)))
    plan = longfat.plan(policed, finalists=1, repeat=2, only=["sender"], variant="cubic")
    assert plan.to_dict() == told and json.loads(plan.to_json()) == told


def test_what_cannot_be_is_said(policed: Path, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        longfat.diagnose(tmp_path / "none.pcap")
    with pytest.raises(longfat.CaptureError):
        longfat.diagnose(policed)
    with pytest.raises(TypeError):
        longfat.diagnose()
    for wrong in ({"only": ["moon"]}, {"objective": "luck"}, {"variant": "x"}):
        with pytest.raises(longfat.UsageError, match="there are"):
            longfat.plan(policed, **wrong)
    empty = tmp_path / "i.json"
    empty.write_text("{}")
    with pytest.raises(longfat.LongfatError):
        longfat.fit(empty)
