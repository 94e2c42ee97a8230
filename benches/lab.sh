#!/bin/sh
# Measures how punctual and how fast the lab is on this machine. Run as root while nothing else runs; takes a minute.
set -eu
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-target}
longfat=$target/release/longfat
[ -x "$longfat" ] || cargo build -q --release -p longfat
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

scenario() { # FILE FORWARD FLOW
    cat >"$work/$1.toml" <<END
duration = "5s"
[links.path]
between = ["a", "b"]
forward = [$2]
backward = [{ kind = "delay", delay = "20ms" }]
[flows.f]
from = "a"
to = "b"
$3
END
}
delay='{ kind = "delay", delay = "20ms" }'

scenario delay "$delay" 'max_pacing_rate = "50Mbit/s"'
sed -i 's/"5s"/"15s"/' "$work/delay.toml"
rtt() { # TITLE OPTION...
    title=$1
    shift
    "$longfat" shell "$work/delay.toml" "$@" -- ping -n -D -i 0.01 -c 1000 b 2>/dev/null |
        sed -n 's/.*time=\([0-9.]*\) ms.*/\1/p' | sort -n |
        awk -v t="$title" '{ v[NR] = $1 - 40 }
            END { printf "ping over 20 ms each way, %s: RTT above 40 ms: median %.2f, p99 %.2f, most %.2f ms\n", t, v[int((NR + 1) / 2)], v[int(NR * .99)], v[NR] }'
}
rtt idle
rtt "with a flow of 50 Mbit/s" --flows

run() { # TITLE FILE: prints goodput, and the engine's load and lateness
    "$longfat" run "$work/$2.toml" --on kernel --json --force --out "$work/out" 2>"$work/log" >"$work/json"
    python3 - "$1" "$work" <<'END'
import json, re, sys
title, work = sys.argv[1:]
flow = json.load(open(work + "/json"))["variants"][0]["flows"][0]
log = open(work + "/log").read()
cpu = float(re.search(r"([0-9.]+) s of CPU", log).group(1)) / 5
late = re.search(r"late median ([0-9.]+) ms, p99 ([0-9.]+)", log).groups()
got, sent = flow["goodput_mbps"], flow["sent_packets"]
text = f"{title}: {got:.3f} Mbit/s, {sent / 5:.0f} packets/s"
if flow["cc"] == "udp":
    size = 36 if "64 B" in title else 1472
    text += f", lost {100 * (1 - flow['delivered_bytes'] / size / sent):.3f} %"
print(f"{text}; engine {100 * cpu:.0f} % of a core, late {late[0]} / {late[1]} ms (median / p99)")
END
}
scenario udp '{ kind = "link", rate = "20Mbit/s" }' 'app = { kind = "udp", rate = "30Mbit/s" }'
run "UDP into a 20 Mbit/s link" udp
scenario rate '{ kind = "link", rate = "100Mbit/s" }, '"$delay" ''
run "TCP over 100 Mbit/s and 20 ms each way" rate
scenario open '' ''
sed -i 's/^backward.*//' "$work/open.toml"
run "TCP without a limit" open
scenario limited '{ kind = "policer", rate = "40Gbit/s", burst = "100MB" }' ''
sed -i 's/^backward.*//' "$work/limited.toml"
run "TCP through a policer that never drops" limited
scenario small '' 'app = { kind = "udp", rate = "76.8Mbit/s", size = 64 }'
sed -i 's/^backward.*//' "$work/small.toml"
run "UDP, 64 B packets" small
