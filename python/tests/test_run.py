"""`run`: the command's JSON, all forms of scenarios, exceptions, progress, threads, Ctrl-C."""

from __future__ import annotations

import json
import pickle
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import longfat

from conftest import POLICED


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"seed": 9, "repeat": 3},
        {"variants": ["bbr"], "set": {"flows.up.count": 2, "duration": "2s"}},
        {"set": {"flows.up.app": {"kind": "request", "request": "1kB", "response": "50kB"}}},
    ],
)
def test_the_json_equals_the_commands(policed: Path, longfat_json: Callable[..., str], more: dict) -> None:
    args: list[object] = ["run", policed, "--json"]
    for name, value in more.items():
        match name:
            case "set":
                texts = {k: v if isinstance(v, str) else longfat._toml.value(v) for k, v in value.items()}
                args += [x for k, v in texts.items() for x in ("--set", f"{k}={v}")]
            case "variants":
                args += [x for v in value for x in ("--variant", v)]
            case _:
                args += [f"--{name}", value]
    printed = json.loads(longfat_json(*args))
    result = longfat.run(policed, **more)
    assert result.to_dict() == printed
    assert result.to_json() == json.dumps(printed, indent=2, ensure_ascii=False) + "\n"


def test_all_forms_of_a_scenario_give_the_same_result(policed: Path) -> None:
    built = longfat.Scenario(name="policed", duration="3s")
    built.link(
        "wan",
        "office",
        "centre",
        forward=[longfat.policer("10Mbit/s", burst="40kB"), longfat.delay("15ms")],
        backward=[longfat.delay("15ms")],
    )
    built.flow("up", "office", "centre")
    built.variant("cubic")
    built.variant("bbr", {"flows.up.cc": "bbr"})
    figures = [longfat.run(s).to_dict() for s in (policed, POLICED, built, built.keys)]
    assert all(f == figures[0] for f in figures)
    assert built.check() == []


def test_figures_are_attributes_and_keys(policed: Path) -> None:
    result = longfat.run(str(policed))
    assert [v.name for v in result.variants] == ["cubic", "bbr"] and result.scenario == "policed"
    flow = result.variant("bbr").flows[0]
    assert flow.cc == flow["cc"] == "bbr" and flow.rtt_ms.p95 == flow["rtt_ms"]["p95"]
    assert 5 < result.variants[0].total_goodput_mbps < 10
    assert len(result.flows) == 2 and result.headline
    assert "goodput_mbps" in dir(flow) and "bbr" in repr(result)
    with pytest.raises(AttributeError, match="goodput_mbps"):
        flow.goodput
    with pytest.raises(KeyError, match="cubic, bbr"):
        result.variant("reno")
    assert pickle.loads(pickle.dumps(flow)).to_dict() == flow.to_dict()


def test_errors_have_a_location(policed: Path) -> None:
    policed.write_text(POLICED.replace("burst", "brust"))
    with pytest.raises(longfat.ScenarioError) as refused:
        longfat.run(policed)
    e = refused.value
    assert (e.file, e.line, e.key) == (str(policed), 7, "links.wan.forward.policer.brust"), vars(e)
    assert "burst" in (e.help or "") and "^^^^^" in e.shown and str(policed) in str(e)
    with pytest.raises(longfat.ScenarioError) as refused:
        longfat.run(POLICED, set={"duration": "3 parsec"})
    assert refused.value.key == "duration" and refused.value.file == "--set duration=3 parsec"
    for wrong in ({"variants": ["x"]}, {"on": "moon"}, {"set": {"flows.up.count": 10**9}}):
        with pytest.raises(longfat.LongfatError):
            longfat.run(POLICED, **wrong)
    with pytest.raises(FileNotFoundError, match="nowhere.toml"):
        longfat.run("nowhere.toml")
    with pytest.raises(TypeError):
        longfat.run(3)


def test_built_in_examples_are_found_by_name() -> None:
    assert "policer-or-shaper" in longfat.examples()
    result = longfat.run("policer-or-shaper", variants=["policer"], set={"duration": "2s"})
    assert [v.name for v in result.variants] == ["policer"]


def test_progress_is_reported_and_can_end_the_runs() -> None:
    reported: list[longfat.Progress] = []
    longfat.run(POLICED, repeat=4, progress=reported.append)
    assert reported[-1].finished == reported[-1].runs == 8 and reported[-1].share == 1.0
    assert reported[-1].duration_s == 24.0

    def stop(_: longfat.Progress) -> None:
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        longfat.run(POLICED, set={"duration": "10000s", "sample": "10s"}, progress=stop)


def test_other_threads_continue_and_ctrl_c_ends_the_runs() -> None:
    counted = 0
    over = threading.Event()

    def count() -> None:
        nonlocal counted
        while not over.is_set():
            counted += 1
            time.sleep(0.001)

    # A background job of a shell ignores SIGINT.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    thread = threading.Thread(target=count)
    thread.start()
    timer = threading.Timer(0.3, lambda: signal.raise_signal(signal.SIGINT))
    timer.start()
    begun = time.monotonic()
    try:
        with pytest.raises(KeyboardInterrupt):
            longfat.run(POLICED, set={"duration": "80000s", "sample": "100s"})
    finally:
        over.set()
        thread.join()
        signal.signal(signal.SIGINT, before)
    assert 0.25 < time.monotonic() - begun < 5
    assert counted > 20
