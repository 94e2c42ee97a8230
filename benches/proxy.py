#!/usr/bin/env python3
"""Compares longfat proxy, HAProxy (splicing) and nginx stream: same cores, same socket options, one run.

    benches/proxy.py LONGFAT LOAD [ROUNDS]

LONGFAT is the release build, LOAD its example `load` (crates/machine/proxy/examples/load.rs); Debian's haproxy, nginx with
libnginx-mod-stream and iperf3 must be installed. Each proxy has two threads or processes, pinned where it supports that. Each round
measures every proxy once, in turn; the output has medians over the rounds, and ratios to the better of the other two. Everything, load
included, shares the machine's cores over loopback, so the comparison is of the cost of a byte and of a connection. Bulk is four
streams, measured twice: with a pair of iperf3 processes for each stream, and with one pair for all. One iperf3 (before 3.16) serves all
its streams with one thread, which copies spliced data from another core's cache; it is then the limit itself if the proxy costs less
than copying.
"""

import json
import os
import resource
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

IDLE = 4500
SERVE, HOLD, BULK = 7301, 7302, 7303
# One port for each stream that has its own iperf3.
STREAMS = [7304, 7305, 7306, 7307]
SECONDS = 3

NGINX = """
daemon off; error_log /dev/null; pid {folder}/nginx.pid; worker_processes 2; worker_cpu_affinity auto;
load_module /usr/lib/nginx/modules/ngx_stream_module.so;
events {{ worker_connections 9900; multi_accept on; }}
stream {{ access_log off;
{servers}
}}
"""

HAPROXY = """
global
    nbthread 2
    maxconn 7000
defaults
    mode tcp
    timeout connect 5s
    timeout client 1h
    timeout server 1h
    option splice-auto
{servers}
"""


def wait_for(port):
    for _ in range(200):
        with socket.socket() as s:
            if s.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise SystemExit(f"no listener on port {port} after 10 s")


def processes(pid):
    """The ids of a process and all its descendants."""
    found = [pid]
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        found += processes(int(child))
    return found


def cpu(pid):
    ticks = 0
    for p in processes(pid):
        fields = Path(f"/proc/{p}/stat").read_text().rsplit(") ", 1)[1].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def private_bytes(pid):
    """Bytes of private pages, which would be freed if the processes ended."""
    total = 0
    for p in processes(pid):
        for line in Path(f"/proc/{p}/smaps_rollup").read_text().splitlines():
            if line.startswith("Private_"):
                total += int(line.split()[1]) * 1024
    return total


class Proxy:
    """A proxy in front of the servers; `ports` maps a server's port to the proxy's."""

    def __init__(self, name, first, start):
        self.name = name
        self.ports = {server: first + i for i, server in enumerate([SERVE, HOLD, BULK, *STREAMS])}
        self.process = start(self.ports)
        # All its ports are bound by then. The others are not probed: iperf3 serves one client at a time, and would count this as one.
        wait_for(self.ports[SERVE])
        time.sleep(0.3)

    def stop(self):
        self.process.send_signal(signal.SIGINT if self.name == "haproxy" else signal.SIGTERM)
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()


def starters(longfat, folder):
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}

    def write(name, text):
        path = Path(folder) / name
        path.write_text(text)
        return str(path)

    def longfat_start(ports):
        text = 'workers = 2\ndrain_timeout = "1s"\n'
        for server, port in ports.items():
            text += f'[listeners.l{port}]\nlisten = "127.0.0.1:{port}"\nupstream = "u{port}"\n'
            text += f'[upstreams.u{port}]\nservers = "127.0.0.1:{server}"\n'
        return subprocess.Popen([longfat, "proxy", "--config", write("proxy.toml", text)], **quiet)

    def nginx_start(ports):
        servers = "\n".join(
            f"server {{ listen 127.0.0.1:{port} reuseport backlog=4096; proxy_pass 127.0.0.1:{server}; "
            "proxy_timeout 1h; tcp_nodelay on; }"
            for server, port in ports.items()
        )
        path = write("nginx.conf", NGINX.format(folder=folder, servers=servers))
        return subprocess.Popen(["nginx", "-c", path, "-e", "/dev/null"], **quiet)

    def haproxy_start(ports):
        servers = "\n".join(
            f"listen l{port}\n    bind 127.0.0.1:{port} backlog 4096\n    server s 127.0.0.1:{server}\n"
            for server, port in ports.items()
        )
        path = write("haproxy.cfg", HAPROXY.format(servers=servers))
        return subprocess.Popen(["haproxy", "-db", "-f", path], **quiet)

    return {"longfat": longfat_start, "haproxy": haproxy_start, "nginx": nginx_start}


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def bulk(ports, streams, seconds):
    """Gbit/s and gigabytes of `streams` streams to each port, each port with its own client and server; `ports` as in `Proxy`."""
    for _ in range(5):
        # New servers each time: one that has not finished with the last client refuses the next.
        servers = [subprocess.Popen(["iperf3", "-s", "-p", str(port)], stdout=subprocess.DEVNULL) for port in ports]
        time.sleep(0.5)
        command = ["iperf3", "-c", "127.0.0.1", "-P", str(streams), "-t", str(seconds), "-J", "-p"]
        clients = [subprocess.Popen([*command, str(port)], stdout=subprocess.PIPE, text=True) for port in ports.values()]
        outputs = [f"no answer within {seconds + 15} s"]
        try:
            outputs = [client.communicate(timeout=seconds + 15)[0] for client in clients]
            ends = [json.loads(text)["end"]["sum_received"] for text in outputs]
            return sum(end["bits_per_second"] for end in ends) / 1e9, sum(end["bytes"] for end in ends) / 1e9
        except (subprocess.TimeoutExpired, KeyError, ValueError):
            print(f"iperf3 through {list(ports.values())}: {[text[-300:] for text in outputs]}", file=sys.stderr, flush=True)
        finally:
            for process in clients + servers:
                process.kill()
                process.wait()
    raise SystemExit("iperf3 failed five times")


def measure(load, proxy):
    """One round of one proxy: its values by the name of the measurement."""
    at = {server: f"127.0.0.1:{port}" for server, port in proxy.ports.items()}
    found = {}
    for name, cost, servers in (("bulk", "CPU", STREAMS), ("bulk, one reader", "its CPU", [BULK])):
        before = cpu(proxy.process.pid)
        ports = {server: proxy.ports[server] for server in servers}
        found[f"{name}, Gbit/s"], gigabytes = bulk(ports, len(STREAMS) // len(ports), SECONDS)
        found[f"{cost} s per GB"] = (cpu(proxy.process.pid) - before) / gigabytes
    before = cpu(proxy.process.pid)
    found["connections/s"] = float(output(load, "connect", at[SERVE], str(SECONDS), "32"))
    found["CPU ms per 1000 connections"] = (
        (cpu(proxy.process.pid) - before) * 1e6 / (found["connections/s"] * SECONDS)
    )
    p50, p99 = map(float, output(load, "ping", at[SERVE], "5000").split())
    d50, d99 = map(float, output(load, "ping", f"127.0.0.1:{SERVE}", "5000").split())
    found["added latency p50, µs"], found["added latency p99, µs"] = p50 - d50, p99 - d99
    # A new server each time: it keeps the connections it has accepted, and those of five proxies exceed its descriptors.
    hold = subprocess.Popen([load, "hold", str(HOLD)])
    wait_for(HOLD)
    before = private_bytes(proxy.process.pid)
    idle = subprocess.Popen(
        [load, "idle", at[HOLD], str(IDLE)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert idle.stdout.readline() == "ready\n", "the idle connections could not be opened"
    found["kB per idle connection"] = (private_bytes(proxy.process.pid) - before) / IDLE / 1000
    idle.communicate("")
    hold.kill()
    hold.wait()
    return found


def main():
    missing = [name for name in ("haproxy", "nginx", "iperf3") if not shutil.which(name)]
    if missing:
        sys.exit(f"proxy.py: SKIPPED, not installed: {', '.join(missing)}")
    longfat, load = sys.argv[1:3]
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 3
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    serve = subprocess.Popen([load, "serve", str(SERVE)])
    found = {}
    try:
        wait_for(SERVE)
        with tempfile.TemporaryDirectory() as folder:
            for round in range(rounds):
                for i, (name, start) in enumerate(starters(longfat, folder).items()):
                    # A new process each round: growth into memory that was used before would not be visible.
                    proxy = Proxy(name, 7400 + round * 100 + i * 20, start)
                    try:
                        got = measure(load, proxy)
                        print(f"round {round + 1}, {name}: {got}", file=sys.stderr, flush=True)
                        for key, value in got.items():
                            found.setdefault(key, {}).setdefault(name, []).append(value)
                    finally:
                        proxy.stop()
    finally:
        serve.kill()
        serve.wait()
    names = ["longfat", "haproxy", "nginx"]
    versions = [output("haproxy", "-v").split("\n")[0].split(" ")[2], "1.22.1"]
    print(f"{rounds} rounds; haproxy {versions[0]}, kernel {os.uname().release}, {os.cpu_count()} cores\n")
    print("| | " + " | ".join(names) + " | longfat : best other |\n|---|" + "---:|" * 4)
    for key, values in found.items():
        median = {name: statistics.median(values[name]) for name in names}
        higher_is_better = key in ("bulk, Gbit/s", "bulk, one reader, Gbit/s", "connections/s")
        other = (max if higher_is_better else min)(median[n] for n in names[1:])
        row = " | ".join(f"{median[n]:.3g} ({min(values[n]):.3g} to {max(values[n]):.3g})" for n in names)
        print(f"| {key} | {row} | {median['longfat'] / other:.2f} |")


if __name__ == "__main__":
    main()
