#!/usr/bin/env python3
"""Records the decisions of the running kernel's congestion control, call by call.

Registers a congestion control (eBPF struct_ops) with callbacks that only call the kernel's
own functions (the kfuncs cubictcp_*, bbr_*, tcp_reno_*) and copy the socket before and after into
a ring buffer; sends a bulk flow through it between two network namespaces, over a veth with a
token bucket (tc tbf); writes one CSV row per call. Layouts come from the kernel's BTF, programs
are assembled here, so only Python, iproute2 and root are needed (Linux >= 6.1 with BTF).

    record.py cubic out.csv --rate 5mbit --limit 40000 --seconds 8 [--pause 0.9]

A cell is empty if it has the same value as in the previous row. Times and sequence numbers count from
the first row. Columns after `|` are the result.
"""
import argparse, ctypes, mmap, os, struct, subprocess, time

libc = ctypes.CDLL(None, use_errno=True)


def bpf(cmd, *attr):
    buf = ctypes.create_string_buffer(b"".join(attr).ljust(152, b"\0"), 152)
    result = libc.syscall(321, cmd, buf, 152)  # x86-64
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def addr(buf):
    return ctypes.addressof(buf)


class Btf:
    """Type ids, function ids and struct layouts of the kernel."""

    def __init__(self):
        data = open("/sys/kernel/btf/vmlinux", "rb").read()
        _, _, _, header, types, types_len, strings, _ = struct.unpack_from("<HBBIIIII", data)
        strings += header

        def name(offset):
            return data[strings + offset : data.index(b"\0", strings + offset)].decode()

        self.types, self.ids = [None], {}
        at, end = header + types, header + types + types_len
        while at < end:
            name_off, info, size = struct.unpack_from("<III", data, at)
            kind, count, at = info >> 24 & 31, info & 0xFFFF, at + 12
            t = dict(name=name(name_off), kind=kind, size=size)
            if kind in (4, 5):  # struct, union
                t["members"] = []
                for i in range(count):
                    n, ty, off = struct.unpack_from("<III", data, at + 12 * i)
                    bits = off >> 24 if info >> 31 else 0
                    t["members"].append((name(n), ty, off & 0xFFFFFF if info >> 31 else off, bits))
            elif kind == 3:
                t["array"] = struct.unpack_from("<III", data, at)
            each = {3: 12, 4: 12, 5: 12, 6: 8, 13: 8, 15: 12, 19: 12}.get(kind, 0)
            at += 12 if kind == 3 else 4 if kind in (1, 14, 17) else each * count
            self.ids.setdefault((t["name"], kind), len(self.types))
            self.types.append(t)

    def strip(self, i):
        while self.types[i]["kind"] in (8, 9, 10, 11, 18):
            i = self.types[i]["size"]
        return i

    def size(self, i):
        t = self.types[self.strip(i)]
        if t["kind"] == 3:
            return self.size(t["array"][0]) * t["array"][2]
        return 8 if t["kind"] == 2 else t["size"]

    def fields(self, struct_name):
        """Maps the last component of a (nested) member's name to (bit offset, bits); the outermost wins."""
        found = {}

        def walk(i, base, depth):
            for n, ty, off, bits in self.types[self.strip(i)]["members"]:
                if n and (n not in found or found[n][2] > depth):
                    found[n] = (base + off, bits or self.size(ty) * 8, depth)
                if self.types[self.strip(ty)]["kind"] in (4, 5):
                    walk(ty, base + off, depth + 1)

        walk(self.ids[(struct_name, 4)], 0, 0)
        return {n: f[:2] for n, f in found.items()}


btf = Btf()
TCP = btf.fields("tcp_sock")
RATE = btf.fields("rate_sample")
TCP_SIZE = btf.size(btf.ids[("tcp_sock", 4)])
OPS_ID = btf.ids[("tcp_congestion_ops", 4)]
OPS = {m[0]: (i, m[2] // 8) for i, m in enumerate(btf.types[OPS_ID]["members"])}
VALUE_ID = btf.ids[("bpf_struct_ops_tcp_congestion_ops", 4)]
VALUE = {m[0]: m[2] // 8 for m in btf.types[VALUE_ID]["members"]}
HEADER = 128  # call, jiffies, four arguments, result, 72 bytes of what an argument points to
RECORD = HEADER + TCP_SIZE
RING = 256 << 20


def ins(op, dst=0, src=0, off=0, imm=0):
    return struct.pack("<BBhi", op, dst | src << 4, off, imm)


def copy_out(ring, call, args, pointee):
    """Reserves a record, fills it (context in r6, result in r8) and submits it."""
    fill = ins(0xBF, 7, 0) + ins(0x85, imm=118) + ins(0x7B, 7, 0, 8)  # bpf_jiffies64
    fill += ins(0xB7, 1, imm=call) + ins(0x7B, 7, 1, 0)
    for i in range(4):
        fill += ins(0x79, 1, 6, 8 * i) if i < args else ins(0xB7, 1)
        fill += ins(0x7B, 7, 1, 16 + 8 * i)
    fill += ins(0x7B, 7, 8, 48) + ins(0xB7, 1)
    fill += b"".join(ins(0x7B, 7, 1, o) for o in range(56, HEADER, 8))
    for arg, at, size in ([(pointee[0], 56, pointee[1])] if pointee else []) + [(0, HEADER, TCP_SIZE)]:
        fill += ins(0xBF, 1, 7) + ins(0x07, 1, imm=at) + ins(0xB7, 2, imm=size)
        fill += ins(0x79, 3, 6, 8 * arg) + ins(0x85, imm=113)  # bpf_probe_read_kernel
    fill += ins(0xBF, 1, 7) + ins(0xB7, 2) + ins(0x85, imm=132)  # bpf_ringbuf_submit
    reserve = ins(0x18, 1, 1, imm=ring) + ins(0) + ins(0xB7, 2, imm=RECORD) + ins(0xB7, 3)
    return reserve + ins(0x85, imm=131) + ins(0x15, off=len(fill) // 8) + fill


def program(ring, member, kfunc, call, args, returns=False, pointee=None):
    code = ins(0xBF, 6, 1) + ins(0xB7, 8) + copy_out(ring, call, args, pointee)
    code += b"".join(ins(0x79, 1 + i, 6, 8 * i) for i in range(args))
    code += ins(0x85, src=2, imm=btf.ids[(kfunc, 12)])
    code += ins(0xBF, 8, 0) if returns else b""
    code += copy_out(ring, call + 1, args, pointee)
    code += (ins(0xBF, 0, 8) if returns else ins(0xB7)) + ins(0x95)
    text, gpl = ctypes.create_string_buffer(code), ctypes.create_string_buffer(b"GPL")
    return bpf(
        5,
        struct.pack("<IIQQIIQII16s", 27, len(code) // 8, addr(text), addr(gpl), 0, 0, 0, 0, 0, b"record"),
        struct.pack("<IIIIQIIQIII", 0, OPS[member][0], 0, 0, 0, 0, 0, 0, 0, OPS_ID, 0),
    )


CALLS = {1: "init", 11: "ssthresh", 21: "ack", 31: "state", 41: "event", 51: "acked", 61: "undo"}
PREFIX = {"cubic": "cubictcp", "bbr": "bbr", "reno": "tcp_reno"}


def programs(cc, ring):
    p = PREFIX[cc]
    made = {"undo_cwnd": ("bbr_undo_cwnd" if cc == "bbr" else "tcp_reno_undo_cwnd", 61, 1, True)}
    made["ssthresh"] = ({"cubic": "cubictcp_recalc_ssthresh"}.get(cc, p + "_ssthresh"), 11, 1, True)
    if cc != "reno":
        made["init"] = (p + "_init", 1, 1)
        made["set_state"] = ({"cubic": "cubictcp_state"}.get(cc, p + "_set_state"), 31, 2)
        made["cwnd_event"] = (p + "_cwnd_event", 41, 2)
    if cc == "bbr":
        made["cong_control"] = ("bbr_main", 21, 4, False, (3, 72))
        made["sndbuf_expand"] = ("bbr_sndbuf_expand", 71, 1, True)
        made["min_tso_segs"] = ("bbr_min_tso_segs", 81, 1, True)
    else:
        made["cong_avoid"] = (p + "_cong_avoid", 21, 3)
    if cc == "cubic":
        made["pkts_acked"] = ("cubictcp_acked", 51, 2, False, (1, 12))
    return {member: program(ring, member, *spec) for member, spec in made.items()}


def register(name, fds):
    strings, types = b"\0int\0", struct.pack("<IIII", 1, 1 << 24, 4, 32 | 1 << 24)
    own = struct.pack("<HBBIIIII", 0xEB9F, 1, 0, 24, 0, 16, 16, len(strings)) + types + strings
    blob = ctypes.create_string_buffer(own)
    own_btf = bpf(18, struct.pack("<QQIII", addr(blob), 0, len(own), 0, 0))
    size = btf.size(VALUE_ID)
    head = struct.pack("<IIIIIII16s", 26, 4, size, 1, 0, 0, 0, name)
    table = bpf(0, head, struct.pack("<IIIIIQ", 0, own_btf, 0, 0, VALUE_ID, 0))
    value = bytearray(size)
    for member, fd in fds.items():
        struct.pack_into("<Q", value, VALUE["data"] + OPS[member][1], fd)
    struct.pack_into("16s", value, VALUE["data"] + OPS["name"][1], name)
    key, buf = ctypes.create_string_buffer(4), ctypes.create_string_buffer(bytes(value), size)
    bpf(2, struct.pack("<IIQQQ", table, 0, addr(key), addr(buf), 0))
    return lambda: bpf(3, struct.pack("<IIQQQ", table, 0, addr(key), 0, 0))


def records(ring):
    head = mmap.mmap(ring, 4096, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE, offset=0)
    data = mmap.mmap(ring, 4096 + 2 * RING, mmap.MAP_SHARED, mmap.PROT_READ, offset=4096)
    at, end = struct.unpack_from("<Q", head)[0], struct.unpack_from("<Q", data)[0]
    while at < end:
        place = 4096 + at % RING
        yield data[place + 8 : place + 8 + RECORD]
        at += (8 + (struct.unpack_from("<I", data, place)[0] & 0x3FFFFFFF) + 7) & ~7


def bits(record, field, base, signed=False):
    at, size = field
    at += base * 8
    raw = int.from_bytes(record[at // 8 : (at + size + 7) // 8], "little") >> at % 8
    raw &= (1 << size) - 1
    return raw - (1 << size) if signed and raw >> (size - 1) else raw


RS = "prior_delivered delivered interval_us losses acked_sacked prior_in_flight is_app_limited is_ack_delayed"
COLUMNS = (
    "call arg rtt_us mss now_us jiffies snd_una snd_nxt srtt_us min_rtt_us inflight tcp_delivered delivered_us"
    " lost state limited app_limited departs_in_ns last_sent cwnd ssthresh cwnd_cnt prior_cwnd pacing_rate"
    f" pacing {RS} | cwnd ssthresh cwnd_cnt pacing_rate app_limited result"
).split()


def rows(ring, cc):
    zero, before = None, None
    for record in records(ring):
        call, jiffies, *args, result = struct.unpack_from("<7Q", record)
        if call % 10 == 1:
            before = record
            continue
        if call - 1 not in CALLS or before is None:
            continue
        name = CALLS[call - 1]
        x = lambda field, r=before: bits(r, TCP[field], HEADER)
        arg, rtt, rs = args[1] & 0xFFFFFFFF, -1, [0] * 8
        if name == "acked":
            arg, rtt = struct.unpack_from("<Ii", before, 56)
        if name == "ack" and cc == "bbr":
            q = lambda field: bits(before, RATE[field], 56, signed=True)
            arg, rtt, rs = 0, q("rtt_us"), [int(q(field)) for field in RS.split()]
            rs[6:] = [int(rs[6] != 0), int(rs[7] != 0)]
        elif name == "ack":
            arg = args[2] & 0xFFFFFFFF
        zero = zero or (x("tcp_mstamp") // 1000 * 1000, x("snd_una"))  # whole ms: lt_bw counts in them
        limited = x("is_cwnd_limited") or x("snd_cwnd") < min(x("snd_ssthresh"), 2 * x("max_packets_out"))
        min_rtt = struct.unpack_from("<I", before, HEADER + TCP["rtt_min"][0] // 8 + 4)[0]
        flight = x("packets_out") - x("sacked_out") - x("lost_out") + x("retrans_out")
        departs = max(x("tcp_wstamp_ns") - x("tcp_clock_cache"), 0)
        window = lambda r: [x(f, r) for f in ("snd_cwnd", "snd_ssthresh", "snd_cwnd_cnt")]
        yield [
            name, arg, rtt, x("mss_cache"), x("tcp_mstamp") - zero[0], jiffies & 0xFFFFFFFF,
            x("snd_una") - zero[1] & 0xFFFFFFFF, x("snd_nxt") - zero[1] & 0xFFFFFFFF,
            x("srtt_us") >> 3, min_rtt, flight, x("delivered"), x("delivered_mstamp") - zero[0],
            x("lost"), x("icsk_ca_state"), int(limited), x("app_limited"), departs, x("lsndtime"),
            *window(before), x("prior_cwnd"), x("sk_pacing_rate"), int(x("sk_pacing_status") != 0),
            *rs, "|", *window(record), x("sk_pacing_rate", record), x("app_limited", record),
            result & 0xFFFFFFFF if name in ("ssthresh", "undo") else 0,
        ]


RECEIVER = "import socket;c=socket.create_server(('10.77.0.2',9000)).accept()[0]\nwhile c.recv(1<<20):pass"
SENDER = """
import socket,sys,time
cc,seconds,pause=sys.argv[1],float(sys.argv[2]),float(sys.argv[3])
s=socket.socket();s.setsockopt(6,13,cc.encode());s.connect(('10.77.0.2',9000))
end,rest=time.time()+seconds,time.time()+2
while time.time()<end:
    s.send(bytes(65536))
    if pause and time.time()>rest:time.sleep(pause);rest=time.time()+pause+0.4
"""


def flow(cc, o):
    a, b = f"rec-a{os.getpid()}", f"rec-b{os.getpid()}"
    run = lambda *words: subprocess.run(" ".join(words).split(), check=True)
    try:
        run("ip netns add", a), run("ip netns add", b)
        run("ip link add v0 netns", a, "type veth peer name v1 netns", b)
        for ns, dev, ip in ((a, "v0", "10.77.0.1/24"), (b, "v1", "10.77.0.2/24")):
            run("ip -n", ns, "addr add", ip, "dev", dev), run("ip -n", ns, "link set", dev, "up")
        run("ip netns exec", a, "sysctl -qw net.ipv4.tcp_no_metrics_save=1")
        run("tc -n", a, "qdisc add dev v0 root tbf rate", o.rate, "burst 6000 limit", str(o.limit))
        receiver = subprocess.Popen(["ip", "netns", "exec", b, "python3", "-c", RECEIVER])
        time.sleep(0.7)
        enter = ["ip", "netns", "exec", a, "python3", "-c", SENDER]
        subprocess.run([*enter, cc, str(o.seconds), str(o.pause)], check=True)
        receiver.wait(20)
    finally:
        for ns in (a, b):
            subprocess.run(["ip", "netns", "del", ns])


def main():
    p = argparse.ArgumentParser()
    p.add_argument("cc", choices=PREFIX)
    p.add_argument("out")
    p.add_argument("--rate", default="5mbit")
    p.add_argument("--limit", type=int, default=40_000)
    p.add_argument("--seconds", type=float, default=8)
    p.add_argument("--pause", type=float, default=0)
    p.add_argument("--calls", type=int, default=10**9, help="maximum number of calls to keep")
    o = p.parse_args()
    ring = bpf(0, struct.pack("<IIIII", 27, 0, 0, RING, 0))
    name = f"rec_{o.cc}"
    unregister = register(name.encode(), programs(o.cc, ring))
    try:
        flow(name, o)
    finally:
        unregister()
    kernel, last, kept = os.uname().release.split("-")[0], [None] * len(COLUMNS), 0
    with open(o.out, "w") as out:
        out.write(f"# {o.cc}, Linux {kernel}, {o.rate}, queue {o.limit} B, {o.seconds:g} s, pause {o.pause:g} s\n")
        out.write(",".join(COLUMNS) + "\n")
        for row in rows(ring, o.cc):
            if kept == 0 and row[0] != "init" and o.cc != "reno":
                continue  # the handshake's ACK comes before init
            out.write(",".join("" if v == w else str(v) for v, w in zip(row, last)) + "\n")
            last, kept = row, kept + 1
            if kept == o.calls:
                break
    print(f"{kept} calls")


if __name__ == "__main__":
    main()
