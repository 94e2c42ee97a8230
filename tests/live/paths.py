#!/usr/bin/env python3
"""Measures and watches paths with a known truth: `longfat measure` and `longfat watch` over drawn paths.

    sudo python3 tests/live/paths.py LONGFAT SEED [--paths 40] [--first 0] [--jobs 2] [--out paths.jsonl]
    python3 tests/live/paths.py --show paths.jsonl          the table of paths that were measured before

Draws paths from a seed, builds each in network namespaces, runs `longfat serve` at the far end, `longfat measure` at the near
end and `longfat watch -- curl` (every third path: iperf3) on the same path, and prints one line for each. Grounds are the
lab's own path (`longfat shell`) and emulators that are not longfat's: the kernel's TBF and HTB, and `emulator.c`, compiled
here. A measurement that does not decide the kind of limit is repeated once. Needs root, gcc, curl, iperf3, ip and tc.

A path's truth: the kind and numbers of its limit, and the causes that may be named for a single upload. An answer is right,
undecided (confidence below 50 %, or a limit that the trains do not decide), or wrong. The exit code is 1 if a policer was named
where there is none, or a path failed.
"""
import argparse, concurrent.futures, json, math, os, pathlib, random, signal, subprocess, sys, tempfile, threading, time

HERE = pathlib.Path(__file__).resolve().parent
KINDS = ["policer", "shaper", "droptail", "fair-queue", "random-loss", "receive-window", "send-buffer", "slow-app", "black-hole",
         "asymmetric"]
UNDECIDED = 0.5        # result::diagnosis::UNDECIDED
EXCLUSIVE_MBPS = 100   # a path that is faster needs the machine alone
QUEUE = {"bottleneck", "congestion", "shaped"}
CAUSES = {"policer": {"policed"}, "random-loss": {"random-loss"}, "receive-window": {"receive-window"},
          "send-buffer": {"send-buffer"}, "slow-app": {"application"}, "black-hole": {"black-hole"}}
SINK = """
import socket, threading
def serve(c):
    try:
        while c.recv(1 << 18): pass
    except OSError: pass
    c.close()
s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(('', 8080))
s.listen(16)
print('ready', flush=True)
while True: threading.Thread(target=serve, args=s.accept()[:1], daemon=True).start()
"""


def draw(seed, n):
    """Draws path n: its kind, ground, numbers and truth. Sizes in bytes, rates in bit/s, times in s."""
    r = random.Random(f"{seed}/{n}")
    kind = KINDS[n % len(KINDS)]
    qdiscs = {"shaper": ["tbf"], "policer": [], "fair-queue": [], "random-loss": [], "black-hole": []}.get(kind, ["tbf", "htb"])
    ground = "lab" if (n // len(KINDS) + n) % 2 == 0 else r.choice(["program", *qdiscs])
    log = lambda low, high: math.exp(r.uniform(math.log(low), math.log(high)))
    rate, rtt = log(1e6, 500e6), log(0.005, 0.2)
    bdp = max(rate * rtt / 8, 15e3)
    p = dict(n=n, kind=kind, ground=ground, rate=rate, rtt=rtt, control=r.choice(["reno", "reno", "bbr"]), up={}, down={})
    # Without another limit the link is a FIFO of a round trip and at least 40 ms.
    fifo = {"rate": rate, "burst": 1500, "queue": max(bdp, rate * 0.04 / 8, 30e3)}
    if kind == "policer":
        p["up"] = {"police": rate, "bucket": max(rate * log(0.005, 0.1) / 8, 6e3)}
    elif kind == "shaper":
        p["up"] = {"rate": rate, "burst": max(rate * log(0.002, 0.02) / 8, 8e3), "queue": max(rate * log(0.03, 0.3) / 8, 20e3)}
    elif kind == "droptail":
        p["up"] = {"rate": rate, "burst": 1500, "queue": max(bdp * log(0.15, 1.5), 8e3)}
    elif kind == "fair-queue":
        p["up"] = {**fifo, "fair": 1}
    elif kind == "random-loss":
        loss, p["control"] = log(0.002, 0.03), "reno"
        # Mathis et al. (1997): the link must be faster than the loss lets a connection be.
        p["rate"] = rate = min(max(rate, 3 * 1.22 * 1448 * 8 / rtt / math.sqrt(loss)), 500e6)
        p["up"] = {"loss": loss, "seed": n + 1, **fifo, "rate": rate, "queue": max(rate * rtt / 8, rate * 0.04 / 8)}
    elif kind in ("receive-window", "send-buffer"):
        # A window has at least some packets, and is well below the path's product of bandwidth and delay.
        p["rate"] = rate = max(rate, 8 * 80e3 / rtt)
        bdp = rate * rtt / 8
        p["window"] = bdp * log(0.1, 0.4)
        p["up"] = {**fifo, "rate": rate, "queue": max(bdp, rate * 0.04 / 8)}
    elif kind == "slow-app":
        p["app_rate"] = rate * r.uniform(0.05, 0.4)
        p["up"] = fifo
    elif kind == "black-hole":
        p["up"] = {"mtu": r.choice([1300, 1400, 1450, 1480]), **fifo}
    else:
        down = rate * log(0.05, 0.5)
        p["up"], p["down"] = fifo, {**fifo, "rate": down, "queue": max(down * 0.05 / 8, 20e3)}
    if ground in ("tbf", "htb"):
        # A smaller bucket costs rate whenever the kernel's timer is late (tc-tbf(8)).
        p["up"]["burst"] = max(p["up"]["burst"], rate * 0.002 / 8, 1600)
    p["causes"] = sorted(CAUSES.get(kind, QUEUE))
    # The application is slow in `watch` only: the test's own fills the link.
    p["measured_causes"] = sorted(QUEUE) if kind == "slow-app" else p["causes"]
    return p


def lab_stages(d, rtt):
    stages = []
    if "mtu" in d:
        stages.append(f'{{ kind = "link", mtu = {d["mtu"]}, icmp = false }}')
    if "loss" in d:
        stages.append(f'{{ kind = "loss", probability = {d["loss"]:.6f} }}')
    if "police" in d:
        stages.append(f'{{ kind = "policer", rate = "{d["police"]:.0f}bit/s", burst = "{d["bucket"]:.0f}B" }}')
    if "rate" in d:
        queue = (f'{{ kind = "fq-codel", packets = {max(d["queue"] / 1500, 20):.0f} }}' if d.get("fair")
                 else f'{{ kind = "fifo", bytes = "{d["queue"]:.0f}B" }}')
        shaper = d["burst"] > 1500
        burst = f', burst = "{d["burst"]:.0f}B"' if shaper else ""
        stages.append(f'{{ kind = "{"shaper" if shaper else "link"}", rate = "{d["rate"]:.0f}bit/s"{burst}, queue = {queue} }}')
    return ", ".join(stages + [f'{{ kind = "delay", delay = "{rtt / 2 * 1e6:.0f}us" }}'])


def emulated(d, rtt):
    return ",".join([f"delay={rtt / 2 * 1e6:.0f}"] + [f"{key}={value:.6f}" for key, value in d.items()])


class Ground:
    """Two hosts and a path, removed on exit. `near` and `far` are the hosts' network namespaces."""

    def __init__(self, longfat, p, emulator):
        self.longfat, self.p, self.emulator, self.started, self.names = longfat, p, emulator, [], []
        self.dir = tempfile.TemporaryDirectory(prefix="longfat-paths-")

    def __enter__(self):
        self.near, self.far, self.address = self.lab() if self.p["ground"] == "lab" else self.foreign()
        # Large enough for every path, unless the path is about them.
        window = self.p.get("window")
        receive = 2 * window if self.p["kind"] == "receive-window" else 64e6
        send = 2 * window if self.p["kind"] == "send-buffer" else 64e6
        for netns in (self.near, self.far):
            self.sysctl(netns, "tcp_congestion_control", self.p["control"])
        self.sysctl(self.far, "tcp_rmem", f"4096 {min(receive, 131072):.0f} {receive:.0f}")
        self.sysctl(self.near, "tcp_wmem", f"4096 {min(send, 16384):.0f} {send:.0f}")
        # What an earlier connection learnt of the path must not decide the next.
        for netns in (self.near, self.far):
            self.sysctl(netns, "tcp_no_metrics_save", "1")
        return self

    def __exit__(self, *_):
        for process in reversed(self.started):
            process.terminate()
        for process in self.started:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        for name in self.names:
            subprocess.run(["ip", "netns", "del", name], check=False)
        self.dir.cleanup()

    def sysctl(self, netns, name, value):
        self.run(netns, "sysctl", "-q", "-w", f"net.ipv4.{name}={value}", check=True)

    def inside(self, netns, *command):
        return ["nsenter", f"--net={netns}", *command]

    def run(self, netns, *command, **options):
        return subprocess.run(self.inside(netns, *command), stdin=subprocess.DEVNULL, text=True, **options)

    def start(self, command, ready=None, **options):
        """Starts a process; with `ready`, waits for that text on its standard output or error."""
        log = open(f"{self.dir.name}/{len(self.started)}.log", "w+")
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=log, stderr=subprocess.STDOUT, **options)
        self.started.append(process)
        end = time.monotonic() + 60
        while ready and ready not in pathlib.Path(log.name).read_text():
            if process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"{command[:6]}: {pathlib.Path(log.name).read_text()[-300:]}")
            time.sleep(0.02)
        return process

    def lab(self):
        p = self.p
        up, down = lab_stages(p["up"], p["rtt"]), lab_stages(p["down"], p["rtt"])
        path = pathlib.Path(self.dir.name, "path.toml")
        # A host knows the MTU of its own link: a black hole is between two routers.
        ends, more = ["a", "b"], ""
        if "mtu" in p["up"]:
            ends, more = ["r", "s"], '[links.near]\nbetween = ["a", "r"]\n[links.far]\nbetween = ["s", "b"]\n'
        path.write_text(f'duration = "1s"\n[links.path]\nbetween = {json.dumps(ends)}\nforward = [{up}]\nbackward = [{down}]\n'
                        f'{more}[flows.f]\nfrom = "a"\nto = "b"\ncc = "reno"\n')
        log = self.start([self.longfat, "shell", str(path), "--user", "root", "--host", "a", "--", "getent", "hosts", "b"])
        if log.wait(60):
            raise RuntimeError(f"longfat shell: {pathlib.Path(self.dir.name, '0.log').read_text()[-500:]}")
        address = pathlib.Path(self.dir.name, "0.log").read_text().strip().splitlines()[-1].split()[0]
        marks = [f"9{os.getpid()}{p['n']:04}{end}" for end in "12"]
        self.start([self.longfat, "shell", str(path), "--user", "root", "--host", "a",
                    "--serve", f"b=exec sleep {marks[1]}", "--", "sleep", marks[0]])
        pids, end = [None, None], time.monotonic() + 60
        while None in pids:
            if self.started[-1].poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"longfat shell: {pathlib.Path(self.dir.name, '1.log').read_text()[-500:]}")
            for pid in filter(str.isdigit, os.listdir("/proc")):
                try:
                    line = pathlib.Path("/proc", pid, "cmdline").read_bytes().split(b"\0")
                except OSError:
                    continue
                if line[0] == b"sleep" and line[1].decode() in marks:
                    pids[marks.index(line[1].decode())] = pid
            time.sleep(0.02)
        self.raise_priority()
        return [f"/proc/{pid}/ns/net" for pid in pids] + [address]

    def raise_priority(self):
        """Gives the processes of the lab, which have sessions of their own, the priority of this session."""
        own = pathlib.Path("/proc/self/autogroup")
        nice = own.read_text().split()[-1] if own.exists() else "0"
        parents = {}
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                parents[int(pid)] = int(pathlib.Path("/proc", pid, "stat").read_text().rsplit(")", 1)[1].split()[1])
            except OSError:
                pass
        below = {self.started[-1].pid}
        while more := {pid for pid, parent in parents.items() if parent in below} - below:
            below |= more
        for pid in below if nice != "0" else []:
            try:
                pathlib.Path(f"/proc/{pid}/autogroup").write_text(nice)
            except OSError:
                pass  # It has ended, or the kernel limits how often a priority changes: this one is as it was.

    def foreign(self):
        """a -- emulator -- b; with TBF or HTB a -- r -- emulator -- b, and the qdisc at r's end of the emulator."""
        p, by_qdisc = self.p, self.p["ground"] in ("tbf", "htb")
        names = dict(zip("arb", (f"lfp{end}{os.getpid()}-{p['n']}" for end in "arb")))
        self.names = list(names.values())
        ip = lambda line: subprocess.run(["ip", *line.format(**names).split()], check=True)
        for end in "arb":
            ip(f"netns add {{{end}}}")
            ip(f"-n {{{end}}} link set lo up")
        up = {} if by_qdisc else p["up"]
        first = "r" if by_qdisc else "a"
        self.start([self.emulator, f"/run/netns/{names[first]}", "t0", f"/run/netns/{names['b']}", "t0",
                    emulated(up, p["rtt"]), emulated(p["down"], p["rtt"])], ready="ready")
        # The device's own queue is not the path's.
        ip(f"-n {{{first}}} link set t0 txqueuelen 20000 up")
        ip("-n {b} link set t0 txqueuelen 20000 up")
        ip(f"-n {{{first}}} addr add 10.9.0.1 peer 10.9.0.2 dev t0")
        ip("-n {b} addr add 10.9.0.2 peer 10.9.0.1 dev t0")
        if by_qdisc:
            ip("-n {a} link add v0 type veth peer name v1 netns {r}")
            # Packets that are merged count as one to HTB.
            ip("-n {a} link set v0 gso_max_segs 1 up")
            ip("-n {r} link set v1 up")
            ip("-n {a} addr add 10.8.0.1/24 dev v0")
            ip("-n {r} addr add 10.8.0.2/24 dev v1")
            ip("-n {a} route add default via 10.8.0.2")
            ip("-n {b} route add 10.8.0.0/24 via 10.9.0.1")
            self.sysctl(f"/run/netns/{names['r']}", "ip_forward", "1")
            q, tc = p["up"], lambda line: subprocess.run(["tc", "-n", names["r"], *line.split()], check=True)
            if p["ground"] == "tbf":
                tc(f"qdisc add dev t0 root tbf rate {q['rate']:.0f}bit burst {q['burst']:.0f} limit {q['queue']:.0f}")
            else:
                tc("qdisc add dev t0 root handle 1: htb default 1")
                tc(f"class add dev t0 parent 1: classid 1:1 htb rate {q['rate']:.0f}bit burst {q['burst']:.0f} cburst {q['burst']:.0f} "
                   "quantum 1600")
                tc(f"qdisc add dev t0 parent 1:1 bfifo limit {q['queue']:.0f}")
        return f"/run/netns/{names['a']}", f"/run/netns/{names['b']}", "10.9.0.2"

    def measure(self):
        command = [self.longfat, "measure", self.address, "--json", "--no-progress"]
        out = self.run(self.near, *command, capture_output=True, timeout=400)
        if out.returncode:
            raise RuntimeError(f"measure: {out.stderr.strip()[-300:]}")
        return json.loads(out.stdout)

    def watch(self):
        """Watches an upload; returns its flow."""
        rate = ["--limit-rate", f"{self.p['app_rate'] / 8:.0f}"] if "app_rate" in self.p else []
        if self.p["n"] % 3 == 0:
            rate = ["-b", f"{self.p['app_rate']:.0f}"] if "app_rate" in self.p else []
            command = ["iperf3", "-c", self.address, "-t", "8", "--logfile", f"{self.dir.name}/iperf3.txt", *rate]
        else:
            command = ["curl", "-s", "-o", "/dev/null", "--max-time", "8", "-H", "Expect:", *rate, "-T", "/dev/zero",
                       f"http://{self.address}:8080/"]
        out = self.run(self.near, self.longfat, "watch", "--json", "--for", "20s", "--", *command, capture_output=True, timeout=120)
        d = json.loads(out.stdout)
        flows = [f for f in d["flows"] if f["to"].startswith(f"{self.address}:")]
        # The first connection of iperf3 is its control connection.
        flows = sorted(flows, key=lambda f: f["id"])
        return flows[-1] if flows else None


def judged(cause, confidence, right):
    if cause is None:
        return "nothing"
    return "right" if cause in right else "undecided" if confidence < UNDECIDED else "wrong"


def limit_kind(p, bucket):
    """The kinds that the trains may report of the upload, with the bucket that they found."""
    d = p["up"]
    if "police" in d:
        return {"policer"}
    # "A shaper whose queue is below a tenth of its bucket counts as a policer" (docs/measure.md); none is drawn.
    # A bucket of one full packet takes some small ones at once.
    return {"shaper", "link"} if d["burst"] > 3000 or bucket <= 3000 else {"link"}


def judge(p, m, flow):
    """The line of a path, as a dictionary."""
    up = m["up"].get("limiter") or {"kind": "no train"}
    kind = up["kind"]
    right = limit_kind(p, up.get("bucket_bytes") or 0)
    # "No limit below a rate" that is below the path's own says little, but it is true.
    says_little = kind in ("unknown", "no train") or kind == "none" and up["rate_mbps"] < p["rate"] / 1e6
    found = "undecided" if says_little else "right" if kind in right else "wrong"
    line = dict(n=p["n"], kind=p["kind"], ground=p["ground"], control=p["control"], mbps=p["rate"] / 1e6, rtt_ms=p["rtt"] * 1e3,
                limit=kind, limit_is=found, why=up.get("why_unknown"))
    error = lambda found, truth: None if found is None else 100 * (found / truth - 1)
    if kind not in ("unknown", "no train", "none"):
        line["rate_error"] = error(up.get("rate_mbps"), p["rate"] / 1e6)
        bucket = p["up"].get("bucket", p["up"].get("burst"))
        if bucket > 3000:
            line["bucket_error"] = error(up.get("bucket_bytes"), bucket)
    down = m["down"].get("limiter") or {}
    if p["down"] and down.get("rate_mbps"):
        line["down_rate_error"] = error(down["rate_mbps"], p["down"]["rate"] / 1e6)
    line["false_policer"] = [where for where, is_policer in [
        ("trains up", kind == "policer"), ("trains down", down.get("kind") == "policer"),
        ("headline", m["headline"].startswith("A policer")),
        ("watch", flow and flow["cause"] == "policed" and flow["confidence"] >= UNDECIDED)]
        if is_policer and p["kind"] != "policer"]
    verdict = m["up"].get("verdict") or {"cause": None, "confidence": 0}
    line["cause"], line["confidence"] = verdict["cause"], verdict["confidence"]
    line["cause_is"] = judged(verdict["cause"], verdict["confidence"], p["measured_causes"])
    line["headline"] = m["headline"]
    tests = {t["name"]: t for t in m["tests"]}
    line["up_mbps"] = tests["up"]["goodput_mbps"]
    line["cures"] = []
    for cure in m["cures"]:
        effects = [e for e in cure["change"].get("effects", []) if e["measure"] == "goodput" and e.get("bound") == "simulated"]
        line["cures"].append(dict(name=cure["test"]["name"], measured=cure["test"]["goodput_mbps"],
                                  predicted=effects[0]["then"] if effects else None, as_is=effects[0]["now"] if effects else None))
    line["cannot_tell"] = m["cannot_tell"]
    if p["kind"] == "black-hole":
        line["black_hole"] = m["up"].get("path", {}).get("black_hole")
        line["mtu_error"] = (m["up"].get("path", {}).get("mtu") or 0) - p["up"]["mtu"]
    if flow:
        line["watched"], line["watched_confidence"] = flow["cause"], flow["confidence"]
    line["watch_is"] = judged(line.get("watched"), line.get("watched_confidence", 0), p["causes"])
    return line


def one(longfat, emulator, p):
    with Ground(longfat, p, emulator) as ground:
        ground.start(ground.inside(ground.far, longfat, "serve"), ready="listening")
        ground.start(ground.inside(ground.far, sys.executable, "-c", SINK), ready="ready")
        ground.start(ground.inside(ground.far, "iperf3", "-s", "--forceflush"), ready="listening")
        m = ground.measure()
        repeated = (m["up"].get("limiter") or {}).get("kind") == "unknown"
        if repeated:
            m = ground.measure()
        flow = ground.watch()
        return {**judge(p, m, flow), "repeated": repeated, "drawn": p, "measurement": m}


def text(line):
    """A path's row of the table."""
    number = lambda key, form: form.format(line[key]) if line.get(key) is not None else "-"
    cure = max((c for c in line["cures"]), key=lambda c: c["measured"], default=None)
    cured = "-"
    if cure:
        predicted = "not predicted" if cure["predicted"] is None else f"{cure['predicted']:.3g} predicted"
        cured = f"{cure['name'].split(' ')[0]} {cure['measured']:.3g}, {predicted}"
    cells = [f"{line['n']}", line["kind"], line["ground"], line["control"], f"{line['mbps']:.3g}", f"{line['rtt_ms']:.3g}",
             f"{line['limit']}: {line['limit_is']}", number("rate_error", "{:+.1f}"), number("bucket_error", "{:+.0f}"),
             f"{line['cause'] or '-'} {100 * line['confidence']:.0f} %: {line['cause_is']}", f"{line['up_mbps']:.3g}", cured,
             f"{line.get('watched') or '-'} {100 * line.get('watched_confidence', 0):.0f} %: {line['watch_is']}"]
    return "| " + " | ".join(cells) + " |"


HEAD = ("| path | drawn | ground | control | Mbit/s | RTT, ms | limit by trains | rate error, % | bucket error, % | cause, by the "
        "upload's packets | upload, Mbit/s | best cure, Mbit/s | `watch` |\n" + "|--:|---|---|---|--:|--:|---|--:|--:|---|--:|---|---|")


def summary(lines):
    """Counts over all paths."""
    count = lambda key, what: sum(line[key] == what for line in lines)
    say = []
    for key, name in [("limit_is", "kind of limit"), ("cause_is", "cause by measure"), ("watch_is", "cause by watch")]:
        say.append(f"{name}: {count(key, 'right')} right, {count(key, 'undecided')} undecided, {count(key, 'wrong')} wrong, "
                   f"{count(key, 'nothing')} nothing")
    say.append(f"false policers: {sum(bool(line['false_policer']) for line in lines)}")
    for key, most in [("rate_error", 3), ("bucket_error", 20), ("down_rate_error", 3)]:
        errors = [abs(line[key]) for line in lines if line.get(key) is not None and line["limit_is"] == "right"]
        say.append(f"{key}: {sum(e <= most for e in errors)} of {len(errors)} within {most} %")
    cures = [c for line in lines for c in line["cures"] if c["predicted"] is not None]
    near = sum(abs(c["predicted"] / c["measured"] - 1) <= 0.15 for c in cures if c["measured"])
    best = [max(known, key=lambda c: c["measured"]) for line in lines
            if (known := [c for c in line["cures"] if c["predicted"] is not None and c["measured"]])]
    near_best = sum(abs(c["predicted"] / c["measured"] - 1) <= 0.15 for c in best)
    say.append(f"cures: {near} of {len(cures)} predicted within 15 %; of the best ones {near_best} of {len(best)}; "
               f"{sum(c['predicted'] is None for line in lines for c in line['cures'])} not predicted")
    return say


def show(file):
    """Prints the table of paths that were measured before, judged again."""
    lines = []
    for text_of_one in open(file):
        old = json.loads(text_of_one)
        flow = {"cause": old["watched"], "confidence": old["watched_confidence"]} if "watched" in old else None
        lines.append(judge(old["drawn"], old["measurement"], flow))
    lines.sort(key=lambda line: line["n"])
    print("\n".join([HEAD, *map(text, lines), ""] + [f"- {say}" for say in summary(lines)]))


def main():
    if sys.argv[1:2] == ["--show"]:
        return show(sys.argv[2])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("longfat")
    parser.add_argument("seed")
    parser.add_argument("--paths", type=int, default=40)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--only", help="numbers of paths, with commas")
    parser.add_argument("--jobs", type=int, default=2, help="slow paths at a time")
    parser.add_argument("--out", help="write each path's line and measurement to this file, one JSON object a line")
    args = parser.parse_args()
    longfat = os.path.abspath(args.longfat)
    numbers = map(int, args.only.split(",")) if args.only else range(args.first, args.first + args.paths)
    paths = [draw(args.seed, n) for n in numbers]
    lines, failed, lock = [], [], threading.Lock()
    with tempfile.TemporaryDirectory(prefix="longfat-emulator-") as folder:
        emulator = f"{folder}/emulator"
        subprocess.run(["gcc", "-O2", "-Wall", "-Wextra", "-o", emulator, str(HERE / "emulator.c")], check=True)
        print(HEAD, flush=True)

        def tried(p):
            try:
                line = one(longfat, emulator, p)
            except Exception as error:  # One path's failure is reported; the others go on.
                with lock:
                    failed.append(p["n"])
                    print(f"| {p['n']} | {p['kind']} | {p['ground']} | failed: {error!r} |", flush=True)
                return
            with lock:
                lines.append(line)
                print(text(line), flush=True)
                if args.out:
                    with open(args.out, "a") as out:
                        out.write(json.dumps(line) + "\n")

        is_slow = lambda p: p["rate"] <= EXCLUSIVE_MBPS * 1e6
        with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
            list(pool.map(tried, filter(is_slow, paths)))
        for p in paths:
            if not is_slow(p):
                tried(p)
    print("\n" + "\n".join(f"- {say}" for say in summary(lines)))
    if failed:
        print(f"- failed: {sorted(failed)}")
    sys.exit(1 if failed or any(line["false_policer"] for line in lines) else 0)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    main()
