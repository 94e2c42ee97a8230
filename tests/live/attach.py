#!/usr/bin/env python3
"""`longfat attach` in front of namespaces and containers: is the path the lab's, and does nothing stay behind?

    sudo python3 tests/live/attach.py LONGFAT SEED [--paths 20] [--kills 200] [--oom-kills 10] [--only 3,7] [--out paths.jsonl]

Draws paths from a seed: policers, shapers and links of 5 to 100 Mbit/s and 1 to 60 ms each way. Each is attached to a Docker
container, a Podman container or a namespace, in turn (containers where their programs are installed, as the tests have them), and
an upload passes it three times: TCP by iperf3, a quarter of the paths UDP faster than the limit. The same scenario runs with `longfat
run --on kernel` three times; medians are compared, and the round trip of idle pings with the path's delay.

Then `--kills` times: longfat is killed (SIGKILL to all its processes) at a random moment of its start or its work. A ping must
pass within a second as without a path, and no device may be left. `--oom-kills` times memory runs out in a control group of
longfat's, with tcx and with classic filters in turn, and the kernel kills longfat: the same must hold, and no filter may be left.
Needs root, iperf3, ip, tc and ping. Exit code 1 if a ping failed after a kill, or something was left.
"""
import argparse, json, math, os, pathlib, random, shutil, signal, statistics, subprocess, sys, tempfile, time

NEAR, FAR = "10.79.0.1", "10.79.0.2"
SECONDS = 8
RUNS = 3


def run(*command, **more):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, **more)


def must(*command, **more):
    done = run(*command, **more)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: {done.stderr.strip()}")
    return done.stdout


def draw(seed, n):
    """Path n. Rates in bit/s, times in s, sizes in bytes."""
    r = random.Random(f"{seed}/{n}")
    log = lambda low, high: math.exp(r.uniform(math.log(low), math.log(high)))
    rate, delay = log(5e6, 100e6), log(0.001, 0.06)
    kind = ["policer", "shaper", "link"][n % 3]
    bdp = rate * 2 * delay / 8
    queue = f'queue = {{ kind = "fifo", bytes = "{max(bdp, 30e3):.0f}B" }}'
    stage = {"policer": f'burst = "{max(rate * log(0.02, 0.2) / 8, 9e3):.0f}B"',
             "shaper": f'burst = "{max(rate * 0.01 / 8, 9e3):.0f}B", {queue}', "link": queue}[kind]
    return dict(n=n, kind=kind, rate=rate, delay=delay, udp=r.random() < 0.25, flows=r.choice([1, 4]), ground=n % 3,
                stage=f'{{ kind = "{kind}", rate = "{rate:.0f}bit/s", {stage} }}')


def scenario(p):
    delay = f'{{ kind = "delay", delay = "{p["delay"] * 1e6:.0f}us" }}'
    app = f'app = {{ kind = "udp", rate = "{1.3 * p["rate"]:.0f}bit/s" }}' if p["udp"] else f'cc = "cubic"\ncount = {p["flows"]}'
    return (f'duration = "{SECONDS}s"\n[links.wan]\nbetween = ["near", "far"]\nforward = [{p["stage"]}, {delay}]\n'
            f'backward = [{delay}]\n[flows.f]\nfrom = "near"\nto = "far"\n{app}\n')


class Ground:
    """A target joined to a far namespace with an iperf3 server. `kind` is netns, docker or podman."""

    def __init__(self, kind, folder):
        self.kind, self.folder, self.servers, self.engine = kind, folder, [], None
        self.near, self.far = f"lfattach-near-{os.getpid()}", f"lfattach-far-{os.getpid()}"

    def open(self):
        """Builds it; what was built goes with `close`, also if this fails."""
        must("ip", "netns", "add", self.far)
        if self.kind == "netns":
            must("ip", "netns", "add", self.near)
            self.target, self.inside = f"netns:{self.near}", ["ip", "netns", "exec", self.near]
            peer = self.near
        else:
            peer = self.container()
            self.target, self.inside = f"{self.kind}:lfattach", ["nsenter", "-t", peer, "-n"]
        must("ip", "link", "add", "lfnear", "netns", peer, "type", "veth", "peer", "name", "lffar", "netns", self.far)
        there = ["ip", "netns", "exec", self.far]
        for inside, device, address in [(self.inside, "lfnear", NEAR), (there, "lffar", FAR)]:
            must(*inside, "ip", "addr", "add", f"{address}/24", "dev", device)
            must(*inside, "ip", "link", "set", device, "up")
            # What an earlier connection learnt of the path must not decide the next. A connection that begins with BBR stays
            # paced when iperf3 sets its own control, after it is established. Every namespace may use Reno.
            must(*inside, "sysctl", "-qw", "net.ipv4.tcp_no_metrics_save=1", "net.ipv4.tcp_congestion_control=reno")
        self.servers.append(subprocess.Popen([*there, "iperf3", "-s"], stdout=subprocess.DEVNULL))
        while ":5201" not in must(*there, "ss", "-Hltn"):
            time.sleep(0.05)

    def container(self):
        """Starts an engine and a container without a network; returns its process."""
        root = self.folder / "root/bin"
        root.mkdir(parents=True)
        shutil.copy("/bin/busybox", root / "sleep")
        must("tar", "-C", root.parent, "-cf", self.folder / "image.tar", ".")
        if self.kind == "docker":
            socket = f"unix://{self.folder}/socket"
            options = [("data-root", self.folder / "data"), ("exec-root", self.folder / "exec"), ("pidfile", self.folder / "pid"),
                       ("host", socket), ("bridge", "none"), ("iptables", "false"), ("ip-forward", "false"), ("ip-masq", "false")]
            self.servers.append(subprocess.Popen(["dockerd", *(f"--{key}={value}" for key, value in options)],
                                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
            while not (self.folder / "socket").exists():
                time.sleep(0.1)
            self.engine, self.environment = ["docker"], {**os.environ, "DOCKER_HOST": socket}
        else:
            storage = f'[storage]\ndriver = "overlay"\ngraphroot = "{self.folder}/graph"\nrunroot = "{self.folder}/run"\n'
            (self.folder / "storage.conf").write_text(storage)
            limits = '[containers]\ndefault_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]\n'
            (self.folder / "containers.conf").write_text(limits)
            self.engine = ["podman", "--cgroup-manager", "cgroupfs", "--runtime", "runc"]
            self.environment = {**os.environ, "CONTAINERS_STORAGE_CONF": f"{self.folder}/storage.conf",
                                "CONTAINERS_CONF": f"{self.folder}/containers.conf"}
        of = lambda *args: must(*self.engine, *args, env=self.environment).strip()
        of("import", self.folder / "image.tar", "lfattach:1")
        image = "lfattach:1" if self.kind == "docker" else "localhost/lfattach:1"
        of("run", "-d", "--name", "lfattach", "--network", "none", image, "/bin/sleep", "100000")
        return of("inspect", "-f", "{{.State.Pid}}", "lfattach")

    def close(self):
        if self.engine:
            run(*self.engine, "rm", "-f", "lfattach", env=self.environment)
        for server in self.servers:
            server.terminate()
            server.wait()
        for name in [self.far] + ([self.near] if self.kind == "netns" else []):
            run("ip", "netns", "del", name)

    def ping(self, count, interval):
        """Round trips, ms."""
        done = run(*self.inside, "ping", "-c", count, "-i", interval, "-W", "1", FAR)
        return [float(line.split("time=")[1].split()[0]) for line in done.stdout.splitlines() if "time=" in line]


def attached(longfat, ground, file, command):
    """Runs a command behind the path; returns its output and longfat's outcome."""
    done = run(longfat, "attach", ground.target, f"{file}#wan", "--json", "--", *ground.inside, *command)
    lines = done.stdout.splitlines()
    if done.returncode != 0 or not lines:
        return None, done.stderr.strip().splitlines()[-1:]
    return "\n".join(lines[:-1]), json.loads(lines[-1])


def compare(longfat, p, ground, folder):
    file = folder / f"path{p['n']}.toml"
    file.write_text(scenario(p))
    result = dict(n=p["n"], kind=p["kind"], ground=ground.kind, mbps=p["rate"] / 1e6, rtt_ms=2e3 * p["delay"],
                  traffic="UDP" if p["udp"] else f"{p['flows']} TCP", untrusted=0)
    lab, here = [], []
    for i in range(RUNS):
        done = run(longfat, "run", file, "--on", "kernel", "--json", "--out", folder / f"r{p['n']}-{i}")
        if done.returncode != 0:
            return {**result, "failed": done.stderr.strip().splitlines()[-1:]}
        lab.append(json.loads(done.stdout)["variants"][0]["total_goodput_mbps"])
        udp = ["-u", "-b", f"{1.3 * p['rate']:.0f}"] if p["udp"] else ["-C", "cubic", "-P", p["flows"]]
        text, outcome = attached(longfat, ground, file, ["iperf3", "-J", "-c", FAR, "-t", SECONDS, *udp])
        if text is None:
            result["failed"] = outcome
            return result
        result["untrusted"] += not outcome["trust"]["reliable"]
        end = json.loads(text)["end"]
        here.append((end.get("sum_received") or end["sum"])["bits_per_second"] / 1e6)
    text, outcome = attached(longfat, ground, file, ["ping", "-c", "20", "-i", "0.05", FAR])
    least = float(text.split("min/avg/max/mdev = ")[1].split("/")[0]) if text else math.nan
    lab, here = statistics.median(lab), statistics.median(here)
    return {**result, "lab_mbps": lab, "attached_mbps": here, "goodput": here / lab - 1, "ping_ms": least,
            "rtt": least - 2e3 * p["delay"]}


def kills(longfat, ground, count, seed):
    """Kills longfat at random moments; returns what was wrong."""
    r, wrong, at_work = random.Random(f"{seed}/kills"), [], 0
    for i in range(count):
        longfat_process = subprocess.Popen([longfat, "attach", ground.target, "--limiter", "policer", "--rate", "10Mbit/s", "--rtt", "200ms"],
                                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        # The self-test takes some two seconds.
        wait = r.uniform(0.0, 4.0)
        time.sleep(wait)
        at_work += any(ms > 150 for ms in ground.ping(1, 1))
        os.killpg(longfat_process.pid, signal.SIGKILL)
        longfat_process.wait()
        times = ground.ping(1, 1)
        devices = must(*ground.inside, "ip", "-br", "link")
        if not times or times[0] > 50 or "longfat-" in devices:
            wrong.append(f"kill {i} after {wait:.2f} s: ping {times}, devices {devices.split()}")
    print(f"kills: {count}, {at_work} of them with the path attached; wrong: {len(wrong)}")
    return wrong


# Takes more than the control group's limit.
HOG = "taken = [bytearray(1 << 20) for _ in range(600)]"


def memory_group():
    """A new control group with a limit of 400 MB (cgroup v1 or v2); None without a memory controller."""
    first, second = pathlib.Path("/sys/fs/cgroup/memory"), pathlib.Path("/sys/fs/cgroup")
    root, limit = (first, "memory.limit_in_bytes") if first.is_dir() else (second, "memory.max")
    group = root / f"lfattach-{os.getpid()}"
    try:
        group.mkdir()
        (group / limit).write_text(str(400 << 20))
        return group
    except OSError as e:
        group.exists() and group.rmdir()
        print(f"SKIPPED: no control group that limits memory: {e}")


def out_of_memory(longfat, ground, count):
    """Has the kernel kill longfat because memory runs out; returns what was wrong."""
    wrong, group = [], memory_group()
    if not group:
        return wrong

    def enters(score):
        def enter():
            (group / "cgroup.procs").write_text(str(os.getpid()))
            pathlib.Path("/proc/self/oom_score_adj").write_text(str(score))
        return enter

    def state():
        return must(*ground.inside, "ip", "-br", "link") + must(*ground.inside, "tc", "qdisc", "show", "dev", "lfnear")

    for i in range(count):
        before = state()
        command = [longfat, "attach", ground.target, "--limiter", "policer", "--rate", "10Mbit/s", "--rtt", "200ms"]
        attached = subprocess.Popen(command + ["--classic"] * (i % 2), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                    preexec_fn=enters(1000))
        while attached.poll() is None and not any(ms > 150 for ms in ground.ping(1, 1)):
            pass
        hog = subprocess.Popen([sys.executable, "-c", HOG], preexec_fn=enters(0), stderr=subprocess.DEVNULL)
        code = attached.wait()
        # Classic filters are there until the second process has removed them.
        times, left = ground.ping(1, 1) or ground.ping(1, 1), state()
        hog.wait()
        if code != -signal.SIGKILL or not times or times[0] > 50 or left != before:
            wrong.append(f"out of memory {i}: code {code}, ping {times}, left {left.split()}")
    group.rmdir()
    print(f"killed by the kernel without memory: {count}; wrong: {len(wrong)}")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("longfat")
    parser.add_argument("seed")
    parser.add_argument("--paths", type=int, default=20)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--oom-kills", type=int, default=10)
    parser.add_argument("--only", help="numbers of paths, with commas")
    parser.add_argument("--out", help="write each path's figures to this file, one JSON object a line")
    args = parser.parse_args()
    longfat = str(pathlib.Path(args.longfat).resolve())
    chosen = [int(n) for n in args.only.split(",")] if args.only else list(range(args.paths))
    engines = ["netns", *(kind for kind, program in [("docker", "dockerd"), ("podman", "podman")]
                          if shutil.which(program) and pathlib.Path("/bin/busybox").exists())]
    results, wrong = [], []
    print("| path | target | limiter | traffic | Mbit/s | RTT, ms | lab, Mbit/s | attached | difference | RTT added, ms | untrusted |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for kind in engines:
        with tempfile.TemporaryDirectory(prefix="longfat-attach-") as folder:
            folder = pathlib.Path(folder)
            ground = Ground(kind, folder)
            try:
                ground.open()
                for p in (draw(args.seed, n) for n in chosen if engines[(n // 3) % len(engines)] == kind):
                    d = compare(longfat, p, ground, folder)
                    results.append(d)
                    row = [d["n"], d["ground"], d["kind"], d["traffic"], f"{d['mbps']:.1f}", f"{d['rtt_ms']:.1f}"]
                    row += ([f"{d['lab_mbps']:.2f}", f"{d['attached_mbps']:.2f}", f"{100 * d['goodput']:+.1f} %", f"{d['rtt']:+.2f}",
                             d["untrusted"]] if "failed" not in d else [f"failed: {d['failed']}", "", "", "", ""])
                    print("| " + " | ".join(map(str, row)) + " |", flush=True)
                    if args.out:
                        with open(args.out, "a") as out:
                            out.write(json.dumps(d) + "\n")
                if kind == "netns":
                    wrong = kills(longfat, ground, args.kills, args.seed) + out_of_memory(longfat, ground, args.oom_kills)
            finally:
                ground.close()
    good = [d for d in results if "failed" not in d]
    near = sum(abs(d["goodput"]) <= 0.03 for d in good)
    print(f"goodput within 3 %: {near} of {len(results)}; RTT within 1 ms: {sum(abs(d['rtt']) <= 1 for d in good)} of {len(results)}")
    for line in wrong:
        print(line)
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
