#!/usr/bin/env python3
"""Hostile input: scenarios, captures and result folders, corrupted from a seed and given to `longfat`.

    python3 tests/hostile.py LONGFAT SCENARIOS CAPTURES FOLDERS [FIRST]    this many of each, starting with number FIRST

The input is made from the repository's own scenarios, from captures that `longfat` wrote of them (also compressed and as
pcapng), and from its result folders. A number always gives the same case, whatever the counts. Each case runs under limits.
Failures are: a signal, a panic, an undocumented exit code (0, 1, 2; 130 for an interrupted run, which long ones are), more
than MAX_MEMORY or MAX_SECONDS, terminal control characters in the output, a temporary file left behind, or access to a file
outside the folder. Failed cases are kept, and the command to repeat them is printed; exit code 1.
"""
import concurrent.futures, gzip, json, lzma, os, pathlib, random, re, resource, shutil, signal, struct, subprocess, sys
import tempfile, threading, time

LONGFAT = os.path.abspath(sys.argv[1])
COUNTS = dict(zip(("scenarios", "captures", "folders"), map(int, sys.argv[2:5])))
FIRST = int(sys.argv[5]) if len(sys.argv) > 5 else 0
ROOT = pathlib.Path(__file__).resolve().parent.parent
SEED = 20261124
MAX_SECONDS = 30       # for a capture or a folder; a scenario is interrupted after INTERRUPT_AFTER
INTERRUPT_AFTER = 3            # seconds until a scenario is interrupted
MAX_ENDING = 30             # seconds in which it must end then
MAX_MEMORY = 2 << 30   # peak, bytes; address space is limited to four times as much
CONTROL_CHARACTERS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]")
CONTROLS = ["\x1b]0;t\x07", "\u202e", "\x9b31m", "\u200b", "\x00", "\r", "\u2028", "\U000e0041", "a" * 70_000]
NUMBERS = ["0", "-1", "1", "99999999999999999999", "-9223372036854775808", "18446744073709551615", "1e308", "-1e308", "nan",
           "inf", "0.1e-300", "4294967296", "2147483648", "65536"]
UNITS = ["ms", "s", "us", "h", "Mbit/s", "Gbit/s", "bit/s", "kB", "MB", "B", "%", ""]


def corrupt_bytes(r, data):
    """Corrupts bits, bytes and lengths."""
    data = bytearray(data)
    for _ in range(1 + int(r.expovariate(0.5))):
        if not data:
            break
        at, kind = r.randrange(len(data)), r.randrange(9)
        if kind == 0:
            data[at] ^= 1 << r.randrange(8)
        elif kind == 1:
            del data[at:]
        elif kind == 2:
            data[at:at + 4] = struct.pack(r.choice("<>") + "I", r.choice([0, 1, 0x7fffffff, 0x80000000, 0xffffffff, 1 << 20]))
        elif kind == 3:
            del data[at:at + r.randrange(1, 64)]
        elif kind == 4:
            data[at:at] = r.randbytes(r.randrange(1, 64))
        elif kind == 5:
            other, size = r.randrange(len(data)), r.randrange(1, 256)
            data[at:at + size] = data[other:other + size]
        elif kind == 6:
            size = r.randrange(1, 4096)
            data[at:at + size] = bytes([r.choice([0, 0xff])]) * size
        elif kind == 7:
            data[at] = r.randrange(256)
        else:
            data[:r.randrange(min(64, len(data)))] = r.randbytes(r.randrange(64))
    return bytes(data)


def corrupt_toml(r, text):
    for _ in range(1 + int(r.expovariate(0.6))):
        lines = text.split("\n")
        i, kind = r.randrange(len(lines)), r.randrange(13)
        numbers = list(re.finditer(r"\d+(?:\.\d+)?", text))
        strings = list(re.finditer(r'"[^"\n]*"', text))
        if kind <= 2 and numbers:
            m = r.choice(numbers)
            text = text[:m.start()] + r.choice(NUMBERS) + text[m.end():]
        elif kind == 3 and strings:
            m = r.choice(strings)
            value = r.choice(CONTROLS + [r.choice(NUMBERS) + r.choice(UNITS)] * 6)
            value = value if r.random() < 0.5 else json.dumps(value)[1:-1]
            text = text[:m.start()] + '"' + value + '"' + text[m.end():]
        elif kind == 4 and len(strings) > 1:
            a, b = sorted(r.sample(strings, 2), key=lambda m: m.start())
            text = text[:a.start()] + b[0] + text[a.end():b.start()] + a[0] + text[b.end():]
        elif kind == 5:
            lines.insert(r.randrange(len(lines)), lines[i])
            text = "\n".join(lines)
        elif kind == 6:
            del lines[i]
            text = "\n".join(lines)
        elif kind == 7 and "=" in lines[i]:
            deep = r.choice([10, 200, 20_000])
            wrong = r.choice(["[" * deep + "]" * deep, "{ a = " * deep + "1" + " }" * deep, "true", "1979-05-27", "[]", "{}", '""'])
            lines[i] = lines[i].split("=")[0] + "= " + wrong
            text = "\n".join(lines)
        elif kind == 8 and strings:
            m = r.choice(strings)
            file = r.choice(["/dev/zero", "../../../etc/passwd", "fifo", "link", "/proc/self/mem", "."])
            text = text[:m.start()] + json.dumps(file) + text[m.end():]
        elif kind == 9:
            text = text[:r.randrange(len(text) + 1)]
        elif kind == 10:
            at = r.randrange(len(text) + 1)
            text = text[:at] + r.choice(CONTROLS) + text[at:]
        elif kind == 11:
            lines[i] = r.choice(["[variants.a]\n[variants.a]", "[flows.x]", "a.b.c = 1", "[[links]]", '"\\u0000" = 1', "sample = \"1ns\"",
                                 "duration = \"1h\"", "count = 100000", "seed = -1"])
            text = "\n".join(lines)
        else:
            return corrupt_bytes(r, text.encode())
        text = text or "\n"
    return text.encode("utf-8", "surrogatepass")


def corrupt_json(r, value):
    """Replaces values somewhere in the tree."""
    places = []

    def walk(node):
        for key in (node.keys() if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else []):
            places.append((node, key))
            walk(node[key])
    walk(value)
    for _ in range(1 + int(r.expovariate(0.5))):
        node, key = r.choice(places)
        deep = None
        for _ in range(r.choice([5, 900])):
            deep = [deep]
        choice = r.randrange(8)
        if choice == 0 and isinstance(node, dict):
            node.pop(key, None)
        elif choice == 1:
            other = r.choice(places)
            if isinstance(other[0], list) and other[1] < len(other[0]) or isinstance(other[0], dict) and other[1] in other[0]:
                node[key] = json.loads(json.dumps(other[0][other[1]]))
        elif isinstance(node, dict) or key < len(node):
            node[key] = r.choice([None, True, "", [], {}, deep, 1e308, -1, 2**64, -2**63, 0.0, r.choice(CONTROLS), {"a": 1}])
    text = json.dumps(value)
    for word in ("1e308", "1e+308"):
        if r.random() < 0.2:
            text = text.replace(word, r.choice(["1e999", "NaN", "-0", "1" * 400]))
    return text.encode("utf-8", "surrogatepass")


def pcapng(data):
    """Converts a pcap (little-endian, nanoseconds or microseconds) to pcapng."""
    block = lambda kind, body: struct.pack("<II", kind, len(body) + 12) + body + struct.pack("<I", len(body) + 12)
    nano = data[:4] == bytes.fromhex("4d3cb2a1")
    link = struct.unpack_from("<I", data, 20)[0]
    options = struct.pack("<HHB3xHH", 9, 1, 9 if nano else 6, 0, 0)
    out = block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)) + block(1, struct.pack("<HHI", link, 0, 0) + options)
    at = 24
    while at + 16 <= len(data):
        s, part, kept, whole = struct.unpack_from("<IIII", data, at)
        stamp = s * (10**9 if nano else 10**6) + part
        packet = data[at + 16:at + 16 + kept]
        body = struct.pack("<IIIII", 0, stamp >> 32, stamp & 0xffffffff, len(packet), whole) + packet + b"\0" * (-len(packet) % 4)
        out += block(6, body)
        at += 16 + kept
    return out


def put_other_kind(r, path, pipes=True):
    """Replaces a file by something that is not a small regular file. `pipes`: whether it may be a pipe; not if `longfat`
    would wait for it, as for the pipe of `tcpdump -w`."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
    kind = r.randrange(7)
    if kind == 0 and pipes:
        os.mkfifo(path)
    elif kind == 1:
        path.symlink_to(r.choice(["/dev/zero", "/etc/passwd", path.name, "/dev/stdin", "nowhere"]))
    elif kind == 2:
        path.mkdir()
    elif kind == 3:
        path.touch()
    elif kind == 4:
        with open(path, "wb") as f:
            f.truncate(r.choice([1 << 20, 1 << 40]))
    elif kind == 5:
        os.close(os.open(path, os.O_CREAT, 0o000))
    else:
        path.write_bytes(r.randbytes(4096))


class Stock:
    """The files that are corrupted."""

    def __init__(self, folder):
        self.scenarios = {p.name: p.read_text() for p in sorted((ROOT / "scenarios").glob("*.toml"))}
        own = folder / "stock"
        own.mkdir()
        self.captures, self.folders = [], []
        jobs = [("home-line.toml", "600ms", []), ("policer-or-shaper.toml", "500ms", []), ("mtu.toml", "700ms", []),
                ("web-pages.toml", "2500ms", ["--repeat", "2"]), ("call.toml", "2s", [])]
        for name, duration, more in jobs:
            out, pcap = own / name / "o", own / name / "pcap"
            run = [LONGFAT, "run", ROOT / "scenarios" / name, "--set", f"duration={duration}", "--out", out, "--pcap", pcap,
                   "--no-progress"]
            done = subprocess.run(run + more, cwd=own, capture_output=True, text=True)
            if done.returncode not in (0, 1):
                sys.exit(f"{name}: {done.stderr}")
            self.folders.append(out)
            variant = sorted(pcap.iterdir())[0]
            self.captures += [p.read_bytes()[:200_000] for p in sorted(variant.glob("*.pcap"))[:2]]


def scenario_case(r, stock, folder):
    name = r.choice(list(stock.scenarios))
    path = folder / "s.toml"
    path.write_bytes(corrupt_toml(r, stock.scenarios[name]))
    os.mkfifo(folder / "fifo")
    (folder / "link").symlink_to("/etc/passwd")
    if r.random() < 0.02:
        put_other_kind(r, path)
    command = ["run", "s.toml", "--out", "o", "--no-progress", "--force", "--jobs", "1"]
    if r.random() < 0.75:
        # Short, so that errors in the middle of a run are reached.
        command += ["--set", f"duration={r.choice(['20ms', '200ms'])}", "--set", "sample=10ms"]
    if r.random() < 0.1:
        command += ["--json"]
    return command, True


def capture_case(r, stock, folder):
    data = r.choice(stock.captures)
    if r.random() < 0.4:
        data = pcapng(data)
    late = r.random() < 0.2
    data = data if late else corrupt_bytes(r, data)
    form = r.choice(["", "", "", "gz", "xz"])
    data = {"gz": lambda: gzip.compress(data, 1), "xz": lambda: lzma.compress(data, preset=0), "": lambda: data}[form]()
    if r.random() < 0.01:
        data = gzip.compress(b"\0" * (200 << 20), 9)
    path = folder / "c.pcap"
    path.write_bytes(corrupt_bytes(r, data) if late else data)
    if r.random() < 0.02:
        put_other_kind(r, path, pipes=False)
    command = ["diagnose", "c.pcap", "--no-progress"]
    command += r.choice([[], [], ["--json"], ["--out", "o"], ["--report", "r.html"], ["--lang", "zh"]])
    return command, False


def folder_case(r, stock, folder):
    shutil.copytree(r.choice(stock.folders), folder / "o")
    # Each file once: after that it may no longer be JSON.
    for path in r.sample([p for p in sorted((folder / "o").iterdir()) if p.is_file()], 1 if r.random() < 0.8 else 2):
        if r.random() < 0.04:
            put_other_kind(r, path)
        elif r.random() < 0.03:
            path.unlink()
        elif r.random() < 0.05:
            shutil.copy(r.choice(stock.folders) / path.name, path)
        elif path.suffix == ".json" and r.random() < 0.7:
            path.write_bytes(corrupt_json(r, json.loads(path.read_bytes())))
        else:
            path.write_bytes(corrupt_bytes(r, path.read_bytes()))
    command = ["report", "o", "-o", "page.html"]
    command += r.choice([[]] * 18 + [["--json"], ["--svg", "p"], ["--png", "p", "--lang", "zh"]])
    return command, False


MAKERS = {"scenarios": scenario_case, "captures": capture_case, "folders": folder_case}


def limits():
    resource.setrlimit(resource.RLIMIT_AS, (4 * MAX_MEMORY,) * 2)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 30,) * 2)


def play(kind, number, stock, work):
    """Plays a case. Returns exit code, seconds, peak memory, failures and number."""
    r = random.Random(f"{SEED} {kind} {number}")
    folder = work / f"{kind}-{number}"
    folder.mkdir()
    command, may_be_long = MAKERS[kind](r, stock, folder)
    begun, interrupted = time.monotonic(), None
    with open(folder / ".said", "wb") as said:
        process = subprocess.Popen([LONGFAT, *command], cwd=folder, stdin=subprocess.DEVNULL, stdout=said, stderr=said,
                                   preexec_fn=limits)
    ended = threading.Event()

    def watch():
        nonlocal interrupted
        if not ended.wait(INTERRUPT_AFTER if may_be_long else MAX_SECONDS):
            interrupted = time.monotonic()
            os.kill(process.pid, signal.SIGINT if may_be_long else signal.SIGKILL)
            if may_be_long and not ended.wait(MAX_ENDING):
                os.kill(process.pid, signal.SIGKILL)
    watcher = threading.Thread(target=watch)
    watcher.start()
    _, status, usage = os.wait4(process.pid, 0)
    ended.set()
    watcher.join()
    process.returncode = code = os.waitstatus_to_exitcode(status)
    seconds, memory = time.monotonic() - begun, usage.ru_maxrss * 1024
    text = (folder / ".said").read_bytes().decode(errors="replace")
    wrong = []
    if code not in (0, 1, 2) and not (code == 130 and interrupted):
        wrong.append(f"ended with {code}")
    if "panicked" in text:
        wrong.append("panicked")
    if memory > MAX_MEMORY:
        wrong.append(f"{memory >> 20} MiB")
    plain = re.sub("\x1b\\[(?:[012]|3[123])m", "", text)
    if CONTROL_CHARACTERS.search(plain):
        wrong.append(f"prints {CONTROL_CHARACTERS.search(plain)[0]!r}")
    left = [p.name for p in folder.rglob("*") if p.name.endswith(("longfat-new", "longfat-old", "longfat-lock"))]
    if left and code in (0, 1, 2, 130):
        wrong.append(f"left {left[0]}")
    if wrong:
        print(f"{kind} {number}: {', '.join(wrong)}\n  in {folder}: longfat {' '.join(command)}\n  {text[-600:]}", flush=True)
    else:
        shutil.rmtree(folder)
    code = f"{code}, interrupted" if interrupted else str(code)
    return code, seconds, memory, wrong, number


def main():
    work = pathlib.Path(tempfile.mkdtemp(prefix="longfat-hostile-"))
    stock = Stock(work)
    failed = 0
    for kind, count in COUNTS.items():
        begun = time.monotonic()
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            done = list(pool.map(lambda n: play(kind, n, stock, work), range(FIRST, FIRST + count)))
        codes = {}
        for one in done:
            codes[one[0]] = codes.get(one[0], 0) + 1
        if not done:
            continue
        slow, large = max(done, key=lambda d: d[1]), max(done, key=lambda d: d[2])
        wrong = sum(bool(one[3]) for one in done)
        failed += wrong
        print(f"{count} {kind}: {wrong} wrong; exit codes {dict(sorted(codes.items()))}; longest {slow[1]:.1f} s (number {slow[4]}), "
              f"most memory {large[2] / 2**20:.0f} MiB (number {large[4]}); {time.monotonic() - begun:.0f} s", flush=True)
    if not failed:
        shutil.rmtree(work)
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
