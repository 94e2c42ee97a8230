#!/usr/bin/env python3
"""The overseas office with real processes on the kernel: goodput of a download through each kind of proxy, and in the simulator.

    benches/overseas.py LONGFAT [REPEATS [CASES]]

Run as root. LONGFAT is the release build with `longfat-pair` next to it; Debian's haproxy, nginx with libnginx-mod-stream, openssl and
iperf3 must be installed. The path is scenarios/overseas-office.toml (`longfat shell`); the servers run in its namespaces without
privileges. CASES selects by the beginnings of names, separated by semicolons. The cases are measured in turn, REPEATS times with
different seeds; the output has medians with the smallest and the largest value. The simulator gets the same seeds and the same
duration, and models every proxy program as the same relay.

The loss-based control is CUBIC where net.ipv4.tcp_allowed_congestion_control has it, else Reno. nginx 1.22 and HAProxy 2.6 have no
keyword for the congestion control: they use their namespace's default, which `shell` takes from the variant's flows. longfat runs with
the same default besides its own settings, because the default also decides whether the server's Reno is paced (a socket created with
BBR stays paced when it is switched). A layer-4 forwarder that ends no connection has the result of the direct line; one that does, such
as a cloud load balancer in front of a server, is HAProxy at the data centre. If TLS ends at a proxy, a second HAProxy at the office
encrypts for iperf3, which cannot. The pair runs at the data centre and at the VPN node, or at the office itself; the simulator has no
pair.
"""

import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

SECONDS, OMITTED = 12, 2
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


# A load balancer in front of the server; proxies where TLS ends, and the TLS client at the office.
BALANCER = HAPROXY.replace(SERVER, "127.0.0.1")
TLS = HAPROXY.replace("bind :5301", "bind :5443 ssl crt {folder}/both.pem")
TLS_BALANCER = TLS.replace(SERVER, "127.0.0.1")
CLIENT = """defaults
    mode tcp
    timeout connect 5s
    timeout client 1h
    timeout server 1h
listen l
    bind 127.0.0.1:5301
    server s {to}:5443 ssl verify none
"""


def published(name):
    """Mbit/s from the engineering note that the scenario follows."""
    known = {"direct": "40", "direct, bbr": "150", "nginx, bbr": "64 to 72"}
    return known.get(name, "–")


def carry(longfat, seed, server, node, serve, to):
    """Mbit/s of a download on the kernel, without its first two seconds."""
    variant = "direct-bbr" if node == "bbr" else "direct-cubic"
    command = [longfat, "shell", SCENARIO, "--variant", variant, "--host", "office", "--seed", str(seed)]
    command += ["--serve", "data-centre=exec iperf3 -s"]
    for place in serve:
        command += ["--serve", place]
    host, port = to
    test = f"sleep 1.5; exec iperf3 -c {host} -p {port} -R -C {server} -t {SECONDS} -O {OMITTED} -J"
    for _ in range(3):
        done = subprocess.run(command + ["--", "sh", "-c", test], capture_output=True, text=True)
        try:
            return json.loads(done.stdout)["end"]["sum_received"]["bits_per_second"] / 1e6
        except (KeyError, ValueError):
            failure = f"{server}, {serve}: {done.stderr[-1500:]}{done.stdout[-500:]}"
    sys.exit(f"iperf3 failed three times: {failure}")


def simulated(longfat, folder, lossy, seeds):
    """Mbit/s of the same downloads in the simulator, by variant."""
    text = Path(SCENARIO).read_text().replace('cc = "cubic"', f'cc = "{lossy}"')
    text = text.replace("[flows.down]\n", f'[flows.down]\ncc = "{lossy}"\n')
    span = f'duration = "{SECONDS + OMITTED}s"\nmeasure = "{OMITTED}s..{SECONDS + OMITTED}s"'
    path = Path(folder) / "sim.toml"
    path.write_text(text.replace('duration = "15s"', span))
    found = {}
    for seed in seeds:
        command = [longfat, "run", str(path), "--seed", str(seed), "--repeat", "1", "--json", "--force", "--out", f"{folder}/out"]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        for variant in json.loads(done.stdout)["variants"]:
            flow = next(f for f in variant["flows"] if f["name"] == "down")
            found.setdefault(variant["name"], []).append(flow["goodput_mbps"])
    return found


def cases(longfat, folder, lossy, keys):
    """Name, the simulator's variant, the server's congestion control, that of the VPN node, commands, the address for the client."""

    def write(name, text):
        (Path(folder) / name).write_text(text.replace("{folder}", folder))
        return f"{folder}/{name}"

    def pair(place, address):
        """Both ends of a pair: one in front of the server, one at `place`, which listens on `address`."""
        far = f"exec {longfat}-pair --pair-listen 0.0.0.0:4433 --upstream 127.0.0.1:5201 --key {folder}/far.key --peer-key {keys['near']}"
        near = f"exec {longfat}-pair --listen {address} --pair {SERVER}:4433 --key {folder}/near.key --peer-key {keys['far']}"
        return [f"data-centre={far}", f"{place}=sleep 0.5; {near}"]

    def haproxy(name, text):
        return f"exec haproxy -db -f {write(name, text)}"

    nginx = f"vpn-node=exec nginx -c {write('nginx.conf', NGINX)} -e stderr"
    node = f"vpn-node={haproxy('haproxy.cfg', HAPROXY)}"
    ours = f"vpn-node=exec {longfat} proxy --listen :5301 --upstream {SERVER}:5201"
    balancer = f"data-centre={haproxy('balancer.cfg', BALANCER)}"
    tls = [f"data-centre={haproxy('tls-balancer.cfg', TLS_BALANCER)}"]
    tls += [f"office={haproxy('to-balancer.cfg', CLIENT.replace('{to}', SERVER))}"]
    tls_node = [f"vpn-node={haproxy('tls.cfg', TLS)}", f"office={haproxy('to-node.cfg', CLIENT.replace('{to}', VPN))}"]
    direct, far, near, own = (SERVER, 5201), (SERVER, 5301), (VPN, 5301), ("127.0.0.1", 5301)
    both = f"{ours} --client-cc {{0}} --upstream-cc {{0}}"
    return [
        ("direct", "direct-cubic", lossy, lossy, [], direct),
        ("direct, bbr", "direct-bbr", "bbr", lossy, [], direct),
        ("load balancer at the data centre", "direct-cubic", lossy, lossy, [balancer], far),
        ("the same, TLS ends there", "direct-cubic", lossy, lossy, tls, own),
        ("nginx", "proxy-cubic", lossy, lossy, [nginx], near),
        ("nginx; bbr on the server", "proxy-server-bbr", "bbr", lossy, [nginx], near),
        ("nginx, bbr", "proxy-bbr", lossy, "bbr", [nginx], near),
        ("HAProxy", "proxy-cubic", lossy, lossy, [node], near),
        ("HAProxy, TLS ends there", "proxy-cubic", lossy, lossy, tls_node, own),
        ("HAProxy, bbr", "proxy-bbr", lossy, "bbr", [node], near),
        ("longfat", "proxy-cubic", lossy, lossy, [both.format(lossy)], near),
        ("longfat, bbr", "proxy-bbr", lossy, "bbr", [both.format("bbr")], near),
        ("longfat pair, VPN node to data centre", None, lossy, lossy, pair("vpn-node", "0.0.0.0:5301"), near),
        ("longfat pair, office to data centre", None, lossy, lossy, pair("office", "127.0.0.1:5301"), own),
    ]


def main():
    longfat = str(Path(sys.argv[1]).resolve())
    repeats = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    allowed = Path("/proc/sys/net/ipv4/tcp_allowed_congestion_control").read_text().split()
    lossy = "cubic" if "cubic" in allowed else "reno"
    seeds = range(1000, 1000 + repeats)
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        both = f"{folder}/both.pem"
        make = f"openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=overseas -keyout {both}.key -out {both}.crt"
        subprocess.run(make.split(), check=True, capture_output=True)
        Path(both).write_text(Path(f"{both}.key").read_text() + Path(f"{both}.crt").read_text())
        Path(both).chmod(0o644)
        keys = {}
        for end in ("near", "far"):
            made = subprocess.run([f"{longfat}-pair", "--make-key", f"{folder}/{end}.key"], check=True, capture_output=True, text=True)
            keys[end] = made.stdout.strip()
            # The servers run as the user nobody.
            Path(f"{folder}/{end}.key").chmod(0o644)
        chosen = tuple(sys.argv[3].split(";")) if len(sys.argv) > 3 else ("",)
        all_cases = [case for case in cases(longfat, folder, lossy, keys) if case[0].startswith(chosen)]
        found = {name: [] for name, *_ in all_cases}
        for seed in seeds:
            for name, _, *how in all_cases:
                found[name].append(carry(longfat, seed, *how))
                print(f"seed {seed}, {name}: {found[name][-1]:.1f}", file=sys.stderr, flush=True)
        model = simulated(longfat, folder, lossy, seeds)
    print(f"{repeats} runs each; the loss-based control is {lossy}\n")
    print("| download, Mbit/s | published | simulator | kernel |\n|---|---:|---:|---:|")
    for name, variant, *_ in all_cases:
        both = (model.get(variant), found[name])
        columns = [f"{statistics.median(v):.1f} ({min(v):.1f} to {max(v):.1f})" if v else "–" for v in both]
        print(f"| {name} | {published(name)} | {' | '.join(columns)} |")


if __name__ == "__main__":
    main()
