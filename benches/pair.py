#!/usr/bin/env python3
"""longfat's pair beside Hysteria and kcptun, on the same emulated paths with real processes: a download over one link.

    benches/pair.py LONGFAT HYSTERIA [CELLS] [TOOLS]

LONGFAT is a release build with `longfat-pair` next to it, as root; HYSTERIA what `go build` makes of benches/hysteria;
kcptun is Debian's. CELLS and TOOLS choose by the beginnings of names, separated by semicolons.

Each case is one run of `longfat shell`. In it: three downloads of 1 MB, one after the other, by connections of their own (the median
is printed); one long download, of which the first 3 s do not count; the same beside one TCP flow of the kernel's, which goes over the
same link without any tool (CUBIC where net.ipv4.tcp_allowed_congestion_control has it, else Reno). What goes into the link and what
comes out is counted at the interfaces of the two namespaces: IP bytes, all packets.
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
SECONDS, SKIP, BESIDE = 11, 3, 8

POLICED = '{{ kind = "policer", name = "limiter", rate = "20Mbit/s", burst = "{burst}kB" }}, {{ kind = "delay", delay = "{half}ms" }}'
LOSSY = '{{ kind = "link", rate = "100Mbit/s", delay = "70ms", queue = {{ kind = "fifo", packets = 1000 }} }}, {{ kind = "loss", probability = {loss} }}'
JITTER = '{{ kind = "link", rate = "100Mbit/s", queue = {{ kind = "fifo", packets = 1000 }} }}, {{ kind = "jitter", delay = "{middle}ms", jitter = "{width}ms" }}'

CELLS = {f"policed {burst} kB {rtt} ms": (POLICED.format(burst=burst, half=rtt / 2), rtt / 2) for burst in (9, 62.5, 250) for rtt in (30, 140)}
CELLS |= {f"loss {loss * 100:.0f} % 140 ms": (LOSSY.format(loss=loss), 70) for loss in (0.01, 0.05)}
# One way between 10 and 90 ms: the same centre, half the width and all of it.
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
    """What runs at the far end, at the near end, and the near port; the server itself listens on far:7000."""
    ours = {cc: (f"{end} --config {folder}/far-{cc}.toml", f"{end} --config {folder}/near.toml") for cc in ("contract", "bbr3", "cubic")}
    kcp = "--nocomp --crypt aes-128 --key bench"
    return {
        "pair, contract": ours["contract"],
        "pair, BBR v3": ours["bbr3"],
        "pair, CUBIC": ours["cubic"],
        "Hysteria told 20 Mbit/s": (f"{hysteria} server :4433", f"{hysteria} client 127.0.0.1:7001 {FAR}:4433 {FAR}:7000 20"),
        "Hysteria told 30 Mbit/s": (f"{hysteria} server :4433", f"{hysteria} client 127.0.0.1:7001 {FAR}:4433 {FAR}:7000 30"),
        "Hysteria, BBR": (f"{hysteria} server :4433", f"{hysteria} client 127.0.0.1:7001 {FAR}:4433 {FAR}:7000 0"),
        "kcptun": (f"kcptun-server -l :4433 -t {FAR}:7000 {kcp}", f"kcptun-client -l 127.0.0.1:7001 -r {FAR}:4433 {kcp}"),
        "TCP of the kernel": (None, None),
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


def carried(way):
    """IP bytes of the interfaces of this namespace: 0 received, 1 sent."""
    total = 0
    for line in Path("/proc/net/dev").read_text().splitlines()[2:]:
        name, numbers = line.split(":")
        if name.strip() != "lo":
            total += int(numbers.split()[8 if way else 0])
    return total


def serve():
    """Sends as many bytes as a line asks for (0: until the other end has enough); `?` is answered by what was sent."""
    listener = socket.create_server(("0.0.0.0", 7000), backlog=100)
    block = os.urandom(1 << 16)

    def one(connection):
        with connection:
            asked = b""
            while not asked.endswith(b"\n"):
                more = connection.recv(64)
                if not more:
                    return
                asked += more
            if asked == b"?\n":
                connection.sendall(str(carried(1)).encode())
                return
            left = int(asked) or 1 << 60
            try:
                while left:
                    left -= connection.send(block[: min(left, len(block))])
            except OSError:
                pass

    while True:
        threading.Thread(target=one, args=(listener.accept()[0],), daemon=True).start()


def ask(to, asked):
    connection = socket.create_connection(to, timeout=30)
    connection.sendall(f"{asked}\n".encode())
    return connection


def sent():
    with ask((FAR, 7000), "?") as connection:
        return int(connection.recv(64))


def download(to, seconds, skip):
    """Bytes in the counted part, and what was sent and received by the interfaces meanwhile."""
    got, begun, before = 0, time.monotonic(), None
    with ask(to, 0) as connection:
        connection.settimeout(2)
        while (now := time.monotonic()) < begun + seconds:
            try:
                n = len(connection.recv(1 << 18))
            except TimeoutError:
                n = 0
            if before is None and now >= begun + skip:
                before = (sent(), carried(0))
                got, since = 0, time.monotonic()
            got += n
        out, into = sent() - before[0], carried(0) - before[1]
    return got, out, into, time.monotonic() - since


def fetch(port):
    to = (FAR, 7000) if port == "direct" else ("127.0.0.1", 7001)
    begun = time.monotonic()
    while True:
        try:
            with ask(to, 1) as connection:
                if connection.recv(1):
                    break
        except OSError:
            pass
        if time.monotonic() > begun + 15:
            sys.exit("does not answer")
        time.sleep(0.2)
    times = []
    for _ in range(3):
        begun = time.monotonic()
        with ask(to, 1_000_000) as connection:
            left = 1_000_000
            while left:
                n = len(connection.recv(1 << 18))
                if not n:
                    sys.exit("ends early")
                left -= n
        times.append(time.monotonic() - begun)
    got, out, into, span = download(to, SECONDS, SKIP)
    time.sleep(1)
    result = {"mbps": got * 8e-6 / span, "sent_per_byte": out / got, "lost": max(0, 1 - into / out), "wire_mbps": into * 8e-6 / span, "s_1mb": sorted(times)[1]}
    beside = {}
    threads = [threading.Thread(target=lambda w=w, t=t: beside.update({w: download(t, BESIDE, 2)})) for w, t in (("tool", to), ("tcp", (FAR, 7000)))]
    [t.start() for t in threads]
    [t.join() for t in threads]
    for who, (got, _, _, span) in beside.items():
        result[f"beside_{who}"] = got * 8e-6 / span
    print(json.dumps(result))


def measure(longfat, folder, cell, far, near, seed):
    path = Path(folder) / "path.toml"
    path.write_text(scenario(*CELLS[cell]))
    me = Path(__file__).resolve()
    command = [longfat, "shell", str(path), "--host", "near", "--seed", str(seed), "--serve", f"far=exec python3 {me} serve"]
    if far:
        command += ["--serve", f"far=exec {far} 2>{folder}/far.log", "--serve", f"near=sleep 1; exec {near} 2>{folder}/near.log"]
    test = f"sleep 2; exec python3 {me} fetch {'tool' if far else 'direct'}"
    done = subprocess.run(command + ["--", "sh", "-c", test], capture_output=True, text=True, timeout=120)
    try:
        return json.loads(done.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        return {"failed": (done.stdout + done.stderr)[-300:].replace("\n", " ")}


def main():
    longfat, hysteria = (str(Path(p).resolve()) for p in sys.argv[1:3])
    end = f"{longfat}-pair"
    chosen = [a.split(";") if a else [""] for a in (sys.argv[3:5] + ["", ""])[:2]]
    print("| path | tool | goodput Mbit/s | out of the link Mbit/s | lost in it % | sent per byte | 1 MB s | beside TCP: tool Mbit/s | TCP Mbit/s |")
    print("|---|---|---:|---:|---:|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o777)
        configure(folder, end)
        for number, cell in enumerate(CELLS):
            for name, (far, near) in tools(folder, end, hysteria).items():
                if not (cell.startswith(tuple(chosen[0])) and name.startswith(tuple(chosen[1]))):
                    continue
                r = measure(longfat, folder, cell, far, near, 1 + number)
                if "failed" in r:
                    print(f"| {cell} | {name} | failed: {r['failed']} |", flush=True)
                    continue
                print(f"| {cell} | {name} | {r['mbps']:.2f} | {r['wire_mbps']:.2f} | {100 * r['lost']:.2f} | {r['sent_per_byte']:.3f} | {r['s_1mb']:.2f} | {r['beside_tool']:.2f} | {r['beside_tcp']:.2f} |", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["serve"]:
        serve()
    elif sys.argv[1:2] == ["fetch"]:
        fetch(sys.argv[2])
    else:
        main()
