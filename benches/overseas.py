#!/usr/bin/env python3
"""The overseas office with real processes on the kernel: what a download carries through each kind of proxy at the VPN node.

    benches/overseas.py LONGFAT [REPEATS]

LONGFAT is the release build, as root; Debian's haproxy, nginx with libnginx-mod-stream and iperf3 are on the machine. The path is
scenarios/overseas-office.toml (`longfat shell`), the servers run in its namespaces, without privileges. Each case is measured REPEATS
times with seeds of its own, in turn; medians with the smallest and the largest are printed.

The loss-based control is CUBIC where net.ipv4.tcp_allowed_congestion_control has it, else Reno. nginx 1.22 and HAProxy 2.6 have no
keyword for a control: theirs is their namespace's default, which `shell` takes from the variant's flows. A layer-4 forwarder ends no
connection: its line is the direct one.
"""

import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

SECONDS = 12
SCENARIO = "scenarios/overseas-office.toml"
VPN, SERVER = "10.0.0.2", "10.0.0.3"

NGINX = f"""daemon off; worker_processes 1; error_log stderr; pid /tmp/nginx-overseas.pid;
load_module /usr/lib/nginx/modules/ngx_stream_module.so;
events {{ worker_connections 1000; }}
stream {{ server {{ listen 5301; proxy_pass {SERVER}:5201; tcp_nodelay on; }} }}
"""
HAPROXY = f"""global
    maxconn 1000
defaults
    mode tcp
    timeout connect 5s
    timeout client 1h
    timeout server 1h
    option splice-auto
listen l
    bind :5301
    server s {SERVER}:5201
"""


def carry(longfat, seed, server, node, proxy):
    """Mbit/s of a download, without its first two seconds."""
    variant = "direct-bbr" if node == "bbr" else "direct-cubic"
    command = [longfat, "shell", SCENARIO, "--variant", variant, "--host", "office", "--seed", str(seed)]
    command += ["--serve", "data-centre=exec iperf3 -s"]
    if proxy:
        command += ["--serve", f"vpn-node=exec {proxy}"]
    to, port = (VPN, "5301") if proxy else (SERVER, "5201")
    test = f"sleep 1.5; exec iperf3 -c {to} -p {port} -R -C {server} -t {SECONDS} -O 2 -J"
    done = subprocess.run(command + ["--", "sh", "-c", test], capture_output=True, text=True)
    try:
        return json.loads(done.stdout)["end"]["sum_received"]["bits_per_second"] / 1e6
    except (KeyError, ValueError):
        sys.exit(f"{server}, {proxy}: {done.stderr[-2000:]}{done.stdout[-500:]}")


def main():
    longfat = str(Path(sys.argv[1]).resolve())
    repeats = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    allowed = Path("/proc/sys/net/ipv4/tcp_allowed_congestion_control").read_text().split()
    lossy = "cubic" if "cubic" in allowed else "reno"
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        (Path(folder) / "nginx.conf").write_text(NGINX)
        (Path(folder) / "haproxy.cfg").write_text(HAPROXY)
        nginx, haproxy = f"nginx -c {folder}/nginx.conf -e stderr", f"haproxy -db -f {folder}/haproxy.cfg"
        ours = f"{longfat} proxy --listen :5301 --upstream {SERVER}:5201"
        cases = [
            (f"direct, {lossy}", lossy, lossy, None),
            ("direct, bbr", "bbr", lossy, None),
            (f"nginx, {lossy}", lossy, lossy, nginx),
            (f"nginx, {lossy}; bbr on the server", "bbr", lossy, nginx),
            ("nginx, bbr", lossy, "bbr", nginx),
            (f"HAProxy, {lossy}", lossy, lossy, haproxy),
            ("HAProxy, bbr", lossy, "bbr", haproxy),
            (f"longfat, {lossy}", lossy, lossy, f"{ours} --client-cc {lossy} --upstream-cc {lossy}"),
            ("longfat, bbr", lossy, lossy, f"{ours} --client-cc bbr --upstream-cc bbr"),
        ]
        found = {name: [] for name, *_ in cases}
        for repeat in range(repeats):
            for name, *how in cases:
                found[name].append(carry(longfat, 1000 + repeat, *how))
    print("| download, Mbit/s | median | smallest | largest |\n|---|---:|---:|---:|")
    for name, values in found.items():
        print(f"| {name} | {statistics.median(values):.1f} | {min(values):.1f} | {max(values):.1f} |")


if __name__ == "__main__":
    main()
