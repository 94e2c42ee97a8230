"""Cost of using Python: import, a call, a million rows as Arrow, a control written in Python, a step of the environment.

    python benches/python.py [import call arrow control steps]

Needs the package; pyarrow for `arrow`, gymnasium and numpy for `steps`. Times are processor times, so that other
programs on the machine matter little.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable

import longfat

PATH = longfat.Scenario(name="bench", duration="20s", sample="0s")
PATH.link(
    "wan",
    "a",
    "b",
    forward=[longfat.policer("10Mbit/s", burst="40kB"), longfat.delay("15ms")],
    backward=[longfat.delay("15ms")],
)
PATH.flow("up", "a", "b", cc="reno")


def cpu(work: Callable[[], object], times: int) -> float:
    """Seconds of processor time, the median of `times` calls."""
    all_times = []
    for _ in range(times):
        start = time.process_time()
        work()
        all_times.append(time.process_time() - start)
    return statistics.median(all_times)


def imports() -> None:
    """Processor time of an interpreter that imports longfat, less that of one that imports nothing."""
    import resource

    def child_time(code: str) -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-c", code], check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    pairs = [child_time("import longfat") - child_time("pass") for _ in range(15)]
    print(f"import longfat: {statistics.median(pairs) * 1e3:.0f} ms")


def call() -> None:
    """A run of one millisecond, which has at most a handshake."""
    tiny = longfat.Scenario({**PATH.keys, "duration": "1ms"})
    print(f"a call of run: {cpu(lambda: longfat.run(tiny, repeat=1).variants, 200) * 1e3:.2f} ms")


def arrow() -> None:
    """A million rows: the process's memory before and after ten Arrow batches of them are made."""
    import pyarrow

    def resident() -> float:
        with open("/proc/self/status") as status:
            line = next(line for line in status if line.startswith("VmRSS"))
        return int(line.split()[1]) / 1e3

    long = longfat.Scenario({**PATH.keys, "duration": "1000s", "sample": "1ms"})
    result = longfat.run(long, repeat=1, set={"links.wan.forward.policer.rate": "1Mbit/s"})
    series = result.flows[0].series
    before = resident()
    batches = [pyarrow.record_batch(series) for _ in range(10)]
    after = resident()
    addresses = {batch["cwnd"].buffers()[1].address for batch in batches}
    print(
        f"{len(series):,} rows of {len(series.columns)} columns, {series.nbytes / 1e6:.0f} MB: the process has "
        f"{before:.0f} MB, {after:.0f} MB with ten Arrow batches of them; cwnd's memory is at {len(addresses)} address"
    )


class Reno(longfat.Control):
    """The same algorithm as the simulator's Reno."""

    name = "reno"

    def __init__(self) -> None:
        self.credit = 0

    def on_ack(self, socket, window, ack) -> None:
        if not socket.is_cwnd_limited:
            return
        acked = ack.acked
        if window.in_slow_start:
            grown = window.cwnd + acked
            if window.ssthresh is not None:
                grown = min(grown, window.ssthresh)
            acked -= grown - window.cwnd
            window.cwnd = grown
        if acked <= 0:
            return
        every = window.cwnd
        if self.credit >= every:
            self.credit, window.cwnd = 0, window.cwnd + 1
        self.credit += acked
        if self.credit >= every:
            window.cwnd += self.credit // every
            self.credit %= every

    def on_loss(self, socket, window) -> float:
        self.credit = 0
        return max(window.cwnd // 2, 2)

    def on_timeout(self, socket, window) -> None:
        self.credit = 0


def control() -> None:
    """The same run with Reno in Rust and in Python."""
    flow = longfat.run(PATH, repeat=1).flows[0]
    rust = cpu(lambda: longfat.run(PATH, repeat=1), 9)
    python = cpu(lambda: longfat.run(PATH, controls={"up": Reno}), 9)
    packets = flow.sent_packets
    print(
        f"Reno, {packets} packets: Rust {rust * 1e3:.1f} ms, Python {python * 1e3:.1f} ms, {python / rust:.1f} times; "
        f"{(python - rust) / packets * 1e6:.2f} µs a packet more"
    )


def steps() -> None:
    """Steps of 10 ms per second of one core, with one flow."""
    import numpy as np

    import longfat.gym as gym

    for rate in ("2Mbit/s", "10Mbit/s"):
        for scheme in ("direct", "orca", "aurora", "mvfst-rl"):
            setting = {"links.wan.forward.policer.rate": rate, "duration": "100s"}
            env = gym.CongestionEnv(PATH, scheme=scheme, set=setting)
            env.reset(seed=1)
            idle = 0 if scheme == "mvfst-rl" else np.zeros(env.action_space.shape or (), np.float32)

            def single() -> None:
                for _ in range(5000):
                    env.step(idle)

            alone = 5000 / cpu(single, 1)
            envs = gym.CongestionVectorEnv(16, PATH, scheme=scheme, set=setting)
            envs.reset(seed=1)
            actions = np.zeros(envs.action_space.shape, np.float32)

            def several() -> None:
                for _ in range(1000):
                    envs.step(actions)

            print(f"{rate} {scheme}: {alone:,.0f} steps a second and core, {16000 / cpu(several, 1):,.0f} of 16 side by side")


PARTS = {"import": imports, "call": call, "arrow": arrow, "control": control, "steps": steps}

if __name__ == "__main__":
    for part in sys.argv[1:] or PARTS:
        PARTS[part]()
