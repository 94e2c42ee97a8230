#!/usr/bin/env python3
"""Stress test of the proxy: thousands of checked connections, slow readers, resets, floods of half-open connections, a server that is
killed and restarted, SIGHUP every second, a million connections. Checks that no byte is lost and that no resource leaks.

    benches/proxy_stress.py LONGFAT STRESS [--proxies N] [--concurrent N] [--seconds N] [--connections N]

LONGFAT is the release build, STRESS its example `stress` (crates/machine/proxy/examples/stress.rs); it needs root and iproute2. Everything
runs on the loopback interface of a new network namespace; server, proxies (which share their address with SO_REUSEPORT) and clients are
separate processes, each with as many descriptors as the hard limit permits. The phases, with a SIGHUP once a second in all of them:

calm    N connections at once (two descriptors each in the proxy), streams of 1 B to 256 kB, 1 % reset in the middle, 5 % read slowly
storm   the same, with 100 more connections at once that are all reset, and a flood of SYNs whose sender never answers
flap    a quarter of the connections, while the server is killed and restarted every 5 s: these connections may be reset or end early
churn   short connections until --connections have been made in all

The test fails if a byte differs, a stream ends early without a reset (except where the server was killed), a connection is reset that
neither end reset, a connection remains, or descriptors or memory grow.
"""

import argparse
import json
import os
import random
import resource
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from pathlib import Path

PROXY, SERVER, STATUS = 7500, 7501, 7502
TO = f"127.0.0.1:{PROXY}"
# RFC 5737's documentation addresses never answer.
UNREACHABLE = "198.51.100.0/24"
CONFIG = f"""
status = "127.0.0.1:{{status}}"
max_connections = 20000
[listeners.all]
listen = "127.0.0.1:{PROXY}"
upstream = "echo"
[upstreams.echo]
servers = "127.0.0.1:{SERVER}"
retries = 0
rest = "10ms"
"""


def wait_for(port):
    for _ in range(200):
        with socket.socket() as s:
            if s.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    sys.exit(f"no listener on port {port} after 10 s")


class Proxies:
    """The proxies, their resources in sum, and a SIGHUP to each once a second."""

    def __init__(self, longfat, folder, proxies):
        self.processes, self.pages = [], []
        for i in range(proxies):
            path, page = Path(folder) / f"proxy{i}.toml", STATUS + i
            path.write_text(CONFIG.format(status=page))
            log = open(Path(folder) / f"log{i}", "w")
            self.processes.append(subprocess.Popen([longfat, "proxy", "--config", str(path)], stderr=log))
            self.pages.append(page)
            wait_for(page)
        self.reloads, self.stop = 0, threading.Event()
        self.thread = threading.Thread(target=self.reload)
        self.thread.start()

    def reload(self):
        while not self.stop.wait(1):
            for process in self.processes:
                process.send_signal(signal.SIGHUP)
            self.reloads += 1

    def resources(self):
        waits = subprocess.run(["ss", "-Htn", "state", "close-wait"], capture_output=True, text=True).stdout
        found = {"descriptors": 0, "MB": 0.0, "close_wait": len(waits.splitlines()), "open": 0, "accepted": 0, "pipes": 0}
        for process, page in zip(self.processes, self.pages):
            status = Path(f"/proc/{process.pid}/status").read_text().splitlines()
            found["MB"] += next(int(line.split()[1]) for line in status if line.startswith("VmRSS")) / 1024
            found["descriptors"] += len(os.listdir(f"/proc/{process.pid}/fd"))
            with urllib.request.urlopen(f"http://127.0.0.1:{page}/status.json") as response:
                counters = json.load(response)["counters"]
            for key, counter in (("open", "connections"), ("accepted", "accepted"), ("pipes", "pipes")):
                found[key] += counters[counter]
        return {**found, "MB": round(found["MB"], 2)}

    def settled(self):
        """The resources once all connections have ended, or after 20 s."""
        for _ in range(200):
            found = self.resources()
            if found["open"] == 0:
                return found
            time.sleep(0.1)
        return found

    def end(self):
        self.stop.set()
        self.thread.join()
        for process in self.processes:
            process.terminate()
            process.wait(60)


class Server:
    def __init__(self, stress):
        self.stress, self.process, self.flaps = stress, None, 0
        self.start()

    def start(self):
        self.process = subprocess.Popen([self.stress, "serve", str(SERVER)])
        wait_for(SERVER)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def flap(self, stop):
        while not stop.wait(4):
            self.kill()
            self.flaps += 1
            stop.wait(1)
            self.start()


def swarm(stress, concurrent, total, seconds, seed, killed, slow, longest):
    numbers = [concurrent, total, seconds, seed, killed, slow, longest]
    return subprocess.Popen([stress, "swarm", TO, *map(str, numbers)], stdout=subprocess.PIPE, text=True)


def counts(process):
    """The counts that a swarm prints at its end."""
    out, _ = process.communicate()
    if process.returncode != 0:
        sys.exit(f"a swarm of connections failed with exit code {process.returncode}")
    return json.loads(out)


def checksum(data):
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    total = (total >> 16) + (total & 0xFFFF)
    return ~(total + (total >> 16)) & 0xFFFF


def flood(stop, sent):
    """Sends SYNs from addresses that never answer, which leave half-open connections in the listener's queue."""
    raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
    to = socket.inet_aton("127.0.0.1")
    draw = random.Random(1)
    while not stop.is_set():
        for _ in range(100):
            source = socket.inet_aton(f"198.51.100.{draw.randrange(1, 255)}")
            port, number = draw.randrange(1024, 65535), draw.randrange(1 << 32)
            tcp = struct.pack("!HHIIBBHHH", port, PROXY, number, 0, 5 << 4, 2, 65535, 0, 0)
            sum_ = checksum(source + to + struct.pack("!BBH", 0, 6, len(tcp)) + tcp)
            tcp = tcp[:16] + struct.pack("!H", sum_) + tcp[18:]
            ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 40, 0, 0, 64, 6, 0, source, to)
            raw.sendto(ip + tcp, ("127.0.0.1", 0))
            sent[0] += 1
        time.sleep(0.02)


def run_with(work, *threads):
    """Runs `work` while the threads run; each is passed the event that ends it."""
    stop = threading.Event()
    running = [threading.Thread(target=t, args=(stop, *more)) for t, *more in threads]
    for t in running:
        t.start()
    try:
        return work()
    finally:
        stop.set()
        for t in running:
            t.join()


def inside(args):
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    for command in (
        "ip link set lo up",
        f"ip route add blackhole {UNREACHABLE}",
        "sysctl -qw net.ipv4.ip_local_port_range=1024\\ 65535",
        # A queue that overflows causes SYN cookies, which may lose the first 1 to 3 bytes (tests/kernel/swarm.rs).
        "sysctl -qw net.core.somaxconn=65535",
    ):
        subprocess.run(["sh", "-c", command], check=True)
    # Two descriptors for a connection, two for a pipe in use, and the proxy's own; one event loop may get more than its share.
    concurrent = int(min(args.concurrent, args.proxies * (most - 1000) // 2 * (1 if args.proxies == 1 else 0.8), most - 1000))
    faults = []
    with tempfile.TemporaryDirectory() as folder:
        proxies, server = Proxies(args.longfat, folder, args.proxies), Server(args.stress)
        try:
            run_phases(args, concurrent, proxies, server, faults)
        finally:
            proxies.end()
            server.kill()
    print("no byte lost, no resource leaked" if not faults else "FAILED: " + "; ".join(faults))
    sys.exit(1 if faults else 0)


def run_phases(args, concurrent, proxies, server, faults):
    def check(name, found, reset_is_fault, short_is_fault=True):
        print(f"{name}: {json.dumps(found)}", flush=True)
        for key in ("wrong", "stuck", *(["reset"] if reset_is_fault else []), *(["short"] if short_is_fault else [])):
            if found[key]:
                faults.append(f"{name}: {found[key]} {key}")

    def crowd(seed, n=concurrent):
        return swarm(args.stress, n, 0, args.seconds, seed, 10, 50, 256 << 10)

    print(f"{concurrent} connections at once, {args.proxies} proxies, {resource.getrlimit(resource.RLIMIT_NOFILE)[0]} descriptors a process")
    # Memory that the allocator keeps after the first connections is not a leak: later values are compared with these.
    check("warm", counts(crowd(1)), True)
    before = proxies.settled()
    print("after the first:", json.dumps(before), flush=True)
    check("calm", counts(crowd(2)), True)
    sent = [0]

    def storm():
        both = crowd(3), swarm(args.stress, 100, 0, args.seconds, 4, 1000, 0, 64 << 10)
        return [counts(swarm) for swarm in both]

    quiet, resets = run_with(storm, (flood, sent))
    check("storm", quiet, True)
    check(f"storm's resets (with {sent[0]} SYNs)", resets, True)
    check("flap", run_with(lambda: counts(crowd(5, concurrent // 4)), (server.flap,)), False, False)
    print(f"the server was killed {server.flaps} times", flush=True)
    rest = args.connections - proxies.settled()["accepted"]
    if rest > 0:
        check("churn", counts(swarm(args.stress, 64, rest, 3600, 6, 10, 0, 2000)), True)
    after = proxies.settled()
    print(f"after all, {proxies.reloads} reloads:", json.dumps(after), flush=True)
    if after["open"] or after["close_wait"]:
        faults.append(f"{after['open']} open, {after['close_wait']} in CLOSE-WAIT")
    if after["descriptors"] > before["descriptors"] + 64:
        faults.append(f"descriptors: {before['descriptors']}, then {after['descriptors']}")
    if after["MB"] > before["MB"] * 1.25 + 2:
        faults.append(f"memory: {before['MB']} MB, then {after['MB']} MB")


def main():
    parser = argparse.ArgumentParser(description="Stress test of the proxy")
    parser.add_argument("longfat", type=lambda p: str(Path(p).resolve()))
    parser.add_argument("stress", type=lambda p: str(Path(p).resolve()))
    parser.add_argument("--proxies", type=int, default=1)
    parser.add_argument("--concurrent", type=int, default=10_000)
    parser.add_argument("--seconds", type=int, default=30)
    parser.add_argument("--connections", type=int, default=1_000_000)
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.inside:
        inside(args)
    os.execvp("unshare", ["unshare", "-n", sys.executable, *sys.argv, "--inside"])


if __name__ == "__main__":
    main()
