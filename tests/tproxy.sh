#!/bin/sh
# Tests longfat proxy in transparent mode in three namespaces: client - proxy - server, as root, with nft's tproxy.
#   tests/tproxy.sh LONGFAT
# The client connects to the server's address and sees that as its peer; the server sees the client's address. A destination
# that is not in the configuration is reset, and so is a connection to the proxy itself. The proxy runs as nobody.
set -eu
longfat=$1
[ "$(id -u)" = 0 ] || { echo "tproxy: SKIPPED, not root" >&2; exit 0; }
command -v nft >/dev/null || { echo "tproxy: SKIPPED, no nft" >&2; exit 0; }
c=lfc$$ p=lfp$$ s=lfs$$
work=$(mktemp -d)
proxy= server=
cleanup() {
	[ -z "$proxy" ] || kill "$proxy" 2>/dev/null || true
	[ -z "$server" ] || kill "$server" 2>/dev/null || true
	for n in $c $p $s; do ip netns del "$n" 2>/dev/null || true; done
	rm -rf "$work"
}
trap cleanup EXIT
for n in $c $p $s; do
	ip netns add "$n"
	ip -n "$n" link set lo up
done
ip -n $p link add p0 type veth peer name c0 netns $c
ip -n $p link add p1 type veth peer name s0 netns $s
ip -n $c addr add 10.77.1.2/24 dev c0; ip -n $c link set c0 up
ip -n $p addr add 10.77.1.1/24 dev p0; ip -n $p link set p0 up
ip -n $p addr add 10.77.2.1/24 dev p1; ip -n $p link set p1 up
ip -n $s addr add 10.77.2.2/24 dev s0; ip -n $s link set s0 up
ip -n $s addr add 203.0.113.5/32 dev lo; ip -n $s addr add 198.51.100.5/32 dev lo
ip -n $c route add default via 10.77.1.1; ip -n $s route add default via 10.77.2.1
ip -n $p route add 203.0.113.0/24 via 10.77.2.2; ip -n $p route add 198.51.100.0/24 via 10.77.2.2
for f in all p0 p1; do ip netns exec $p sysctl -qw net.ipv4.conf.$f.rp_filter=0; done
ip -n $p rule add fwmark 1 lookup 100; ip -n $p route add local default dev lo table 100
ip netns exec $p nft -f - <<'N'
table ip longfat {
	chain pre {
		type filter hook prerouting priority mangle;
		iifname "p0" tcp dport 80 tproxy to :1080 meta mark set 1 accept
		iifname "p1" tcp sport 80 meta mark set 1 accept
	}
}
N
cat > "$work/proxy.toml" <<'T'
user = "nobody"
[listeners.through]
listen = "0.0.0.0:1080"
transparent = ["203.0.113.0/24", "10.77.1.1"]
keep_client_address = true
T
chmod 755 "$work"; chmod 644 "$work/proxy.toml"
ip netns exec $p "$longfat" proxy --config "$work/proxy.toml" 2> "$work/log" & proxy=$!
ip netns exec $s python3 -c '
import socket
l = socket.create_server(("0.0.0.0", 80))
print("listening", flush=True)
while True:
    c, peer = l.accept()
    c.sendall((peer[0] + "\n").encode())
    while data := c.recv(65536): c.sendall(data)
    c.close()
' > "$work/server" & server=$!
for _ in $(seq 100); do grep -q started "$work/log" && grep -q listening "$work/server" && break; sleep 0.1; done
ip netns exec $c python3 -c '
import socket
s = socket.create_connection(("203.0.113.5", 80), 10)
f = s.makefile("rb")
assert s.getpeername() == ("203.0.113.5", 80), s.getpeername()
assert f.readline() == b"10.77.1.2\n"
block = bytes(range(256)) * 4000
s.sendall(block); s.shutdown(socket.SHUT_WR)
assert f.read() == block
for to in (("198.51.100.5", 80), ("10.77.1.1", 1080)):
    try:
        s = socket.create_connection(to, 10)
        assert s.recv(1) == b"", to
        raise SystemExit(f"{to}: ended, not reset")
    except ConnectionResetError:
        pass
'
grep -q "^CapEff:.*0000000000001000" /proc/$proxy/status || { grep Cap /proc/$proxy/status; exit 1; }
grep -q "^Uid:.65534" /proc/$proxy/status
echo "tproxy: ok"
