#!/usr/bin/env python3
"""Compares longfat's pair, Hysteria and kcptun on the same emulated paths with real processes: a download over one link.

    benches/pair.py LONGFAT HYSTERIA [CELLS] [TOOLS]

Run as root. LONGFAT is a release build with `longfat-pair` next to it, HYSTERIA the program that `go build` makes from
benches/hysteria; kcptun is Debian's. CELLS and TOOLS select by the beginnings of names, separated by semicolons.

Each case is one run of `longfat shell` with three parts: three downloads of 1 MB, one after the other, each over a new connection
(the median is printed); one long download, of which the first 3 s do not count; and the same download while one TCP flow of the
kernel uses the same link without any tool (CUBIC where net.ipv4.tcp_allowed_congestion_control has it, else Reno). The traffic into and
out of the link is counted at the interfaces of the two namespaces: IP bytes of all packets.
"""

import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

NEAR, FAR = "10.0.0.1", "10.0.0.2"
SECONDS, SKIP, SHARED_SECONDS = 11, 3, 8

POLICED = '{{ kind = "policer", name = "limiter", rate = "20Mbit/s", burst = "{burst}kB" }}, {{ kind = "delay", delay = "{half}ms" }}'
LOSSY = '{{ kind = "link", rate = "100Mbit/s", delay = "70ms", queue = {{ kind = "fifo", packets = 1000 }} }}, {{ kind = "loss", probability = {loss} }}'
JITTER = '{{ kind = "link", rate = "100Mbit/s", queue = {{ kind = "fifo", packets = 1000 }} }}, {{ kind = "jitter", delay = "{middle}ms", jitter = "{width}ms" }}'

CELLS = {f"policed {burst} kB {rtt} ms": (POLICED.format(burst=burst, half=rtt / 2), rtt / 2) for burst in (9, 62.5, 250) for rtt in (30, 140)}
CELLS |= {f"loss {loss * 100:.0f} % 140 ms": (LOSSY.format(loss=loss), 70) for loss in (0.01, 0.05)}
# One-way delays up to the range from 10 to 90 ms: the same centre, with half the width and the whole width.
CELLS |= {f"jitter {50 - w} to {50 + w} ms": (JITTER.format(middle=50, width=w), 10) for w in (20, 40)}


def scenario(forward, back):
    return f"""name = "pair-bench"
duration = "60s"
[links.line]
between = ["near", "far"]
forward = [{{ kind = "delay", delay = "{back}ms" }}]
backward = [{forward}]
[flows.down]
from = "far"
to = "near"
"""


def tools(folder, end, hysteria):
    """The commands at the far and at the near end, by tool; the server itself listens on far:7000."""
    ours = {cc: (f"{end} --config {folder}/far-{cc}.toml", f"{end} --config {folder}/near.toml") for cc in ("contract", "bbr3", "cubic")}
    kcp = "--nocomp --crypt aes-128 --key bench"
    return {
        "pair, contract": ours["contract"],
        "pair, BBR v3": ours["bbr3"],
        "pair, CUBIC": ours["cubic"],
        "Hysteria, set to 20 Mbit/s": (f"{hysteria} server :4433", f"{hysteria} client 127.0.0.1:7001 {FAR}:4433 {FAR}:7000 20"),
        "Hysteria, set to 30 Mbit/s": (f"{hysteria} server :4433", f"{hysteria} client 127.0.0.1:7001 {FAR}:4433 {FAR}:7000 30"),
        "Hysteria, BBR": (f"{hysteria} server :4433", f"{hysteria} client 127.0.0.1:7001 {FAR}:4433 {FAR}:7000 0"),
        "kcptun": (f"kcptun-server -l :4433 -t {FAR}:7000 {kcp}", f"kcptun-client -l 127.0.0.1:7001 -r {FAR}:4433 {kcp}"),
        "the kernel's TCP": (None, None),
    }


def configure(folder, end):
    keys = {name: subprocess.run([end, "--make-key", f"{folder}/{name}.key"], capture_output=True, text=True, check=True).stdout.strip() for name in ("near", "far")}
    for name in keys:
        os.chmod(f"{folder}/{name}.key", 0o644)
    Path(f"{folder}/near.toml").write_text(f"""[pair]
key = "{folder}/near.key"
peers.far = {{ key = "{keys['far']}", address = "{FAR}:4433" }}
listeners.main = {{ listen = "127.0.0.1:7001", peer = "far", upstream = "main" }}
""")
    for cc in ("contract", "bbr3", "cubic"):
        Path(f"{folder}/far-{cc}.toml").write_text(f"""[pair]
key = "{folder}/far.key"
listen = "0.0.0.0:4433"
peers.near = {{ key = "{keys['near']}", cc = "{cc}" }}
upstreams.main = {{ servers = "{FAR}:7000" }}
""")


def interface_bytes(sent):
    """IP bytes that this namespace's interfaces have sent, or received."""
    total = 0
    for line in Path("/proc/net/dev").read_text().splitlines()[2:]:
        name, numbers = line.split(":")
        if name.strip() != "lo":
            total += int(numbers.split()[8 if sent else 0])
    return total


def serve():
    """Sends as many bytes as the requested line says (0: until the other end closes); `?` returns the bytes sent so far."""
    listener = socket.create_server(("0.0.0.0", 7000), backlog=100)
    block = os.urandom(1 << 16)

    def serve_one(connection):
        with connection:
            line = b""
            while not line.endswith(b"\n"):
                more = connection.recv(64)
                if not more:
                    return
                line += more
            if line == b"?\n":
                connection.sendall(str(interface_bytes(sent=True)).encode())
                return
            left = int(line) or 1 << 60
            try:
                while left:
                    left -= connection.send(block[: min(left, len(block))])
            except OSError:
                pass

    while True:
        threading.Thread(target=serve_one, args=(listener.accept()[0],), daemon=True).start()


def request(to, line):
    connection = socket.create_connection(to, timeout=30)
    connection.sendall(f"{line}\n".encode())
    return connection


def sent_by_server():
    with request((FAR, 7000), "?") as connection:
        return int(connection.recv(64))


def download(to, seconds, skip):
    """Bytes in the counted part, the interfaces' sent and received bytes during it, and its length in s."""
    got, start, before = 0, time.monotonic(), None
    with request(to, 0) as connection:
        connection.settimeout(2)
        while (now := time.monotonic()) < start + seconds:
            try:
                n = len(connection.recv(1 << 18))
            except TimeoutError:
                n = 0
            if before is None and now >= start + skip:
                before = (sent_by_server(), interface_bytes(sent=False))
                got, since = 0, time.monotonic()
            got += n
        out, into = sent_by_server() - before[0], interface_bytes(sent=False) - before[1]
    return got, out, into, time.monotonic() - since


def fetch(port):
    to = (FAR, 7000) if port == "direct" else ("127.0.0.1", 7001)
    start = time.monotonic()
    while True:
        try:
            with request(to, 1) as connection:
                if connection.recv(1):
                    break
        except OSError:
            pass
        if time.monotonic() > start + 15:
            sys.exit(f"no answer from {to[0]}:{to[1]} within 15 s")
        time.sleep(0.2)
    times = []
    for _ in range(3):
        start = time.monotonic()
        with request(to, 1_000_000) as connection:
            left = 1_000_000
            while left:
                n = len(connection.recv(1 << 18))
                if not n:
                    sys.exit("a download of 1 MB ended early")
                left -= n
        times.append(time.monotonic() - start)
    got, out, into, span = download(to, SECONDS, SKIP)
    time.sleep(1)
    result = {"mbps": got * 8e-6 / span, "sent_per_byte": out / got, "lost": max(0, 1 - into / out), "wire_mbps": into * 8e-6 / span, "s_1mb": sorted(times)[1]}
    shared = {}
    threads = [threading.Thread(target=lambda w=w, t=t: shared.update({w: download(t, SHARED_SECONDS, 2)})) for w, t in (("tool", to), ("tcp", (FAR, 7000)))]
    [t.start() for t in threads]
    [t.join() for t in threads]
    for flow, (got, _, _, span) in shared.items():
        result[f"shared_{flow}"] = got * 8e-6 / span
    print(json.dumps(result))


def measure(longfat, folder, cell, far, near, seed):
    path = Path(folder) / "path.toml"
    path.write_text(scenario(*CELLS[cell]))
    script = Path(__file__).resolve()
    command = [longfat, "shell", str(path), "--host", "near", "--seed", str(seed), "--serve", f"far=exec python3 {script} serve"]
    if far:
        command += ["--serve", f"far=exec {far} 2>{folder}/far.log", "--serve", f"near=sleep 1; exec {near} 2>{folder}/near.log"]
    test = f"sleep 2; exec python3 {script} fetch {'tool' if far else 'direct'}"
    done = subprocess.run(command + ["--", "sh", "-c", test], capture_output=True, text=True, timeout=120)
    try:
        return json.loads(done.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        return {"failed": (done.stdout + done.stderr)[-300:].replace("\n", " ")}


def main():
    longfat, hysteria = (str(Path(p).resolve()) for p in sys.argv[1:3])
    end = f"{longfat}-pair"
    selected = [a.split(";") if a else [""] for a in (sys.argv[3:5] + ["", ""])[:2]]
    print("| path | tool | goodput Mbit/s | out of the link Mbit/s | lost in it % | sent per byte | 1 MB s | with TCP: tool Mbit/s | TCP Mbit/s |")
    print("|---|---|---:|---:|---:|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o777)
        configure(folder, end)
        for number, cell in enumerate(CELLS):
            for name, (far, near) in tools(folder, end, hysteria).items():
                if not (cell.startswith(tuple(selected[0])) and name.startswith(tuple(selected[1]))):
                    continue
                r = measure(longfat, folder, cell, far, near, 1 + number)
                if "failed" in r:
                    print(f"| {cell} | {name} | failed: {r['failed']} |", flush=True)
                    continue
                print(f"| {cell} | {name} | {r['mbps']:.2f} | {r['wire_mbps']:.2f} | {100 * r['lost']:.2f} | {r['sent_per_byte']:.3f} | {r['s_1mb']:.2f} | {r['shared_tool']:.2f} | {r['shared_tcp']:.2f} |", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["serve"]:
        serve()
    elif sys.argv[1:2] == ["fetch"]:
        fetch(sys.argv[2])
    else:
        main()
