#!/usr/bin/env python3
"""Results are complete or absent: runs are killed, raced and deprived of disk space while they write.

    python3 tests/atomic.py LONGFAT [N [M]]    N kills and N races (default 20), M full disks (default 5; as root)

Afterwards the folder is the old result or the new one, byte by byte, or `longfat report` rejects it; a folder with an old
result always contains a complete one. Prints counts of the outcomes; exit code 1 if a result was broken, mixed or lost.
"""
import hashlib, os, pathlib, random, shutil, signal, subprocess, sys, tempfile, time

LONGFAT = os.path.abspath(sys.argv[1])
N = int(sys.argv[2]) if len(sys.argv) > 2 else 20
M = int(sys.argv[3]) if len(sys.argv) > 3 else 5
SCENARIO = """name = "a"
duration = "4s"
sample = "1ms"
[links.wan]
between = ["a", "b"]
forward = [{ kind = "loss", probability = 0.001 }, { kind = "link", rate = "20Mbit/s", delay = "5ms" }]
backward = [{ kind = "delay", delay = "5ms" }]
[flows.up]
from = "a"
to = "b"
count = 20
"""
# Files with the same bytes in every run; provenance.json contains times.
SAME = ["result.json", "flows.parquet", "states.parquet", "elements.parquet", "retransmissions.parquet",
        "responses.parquet", "report.html", "scenario.toml"]
random.seed(20261124)


def run(folder, seed, **more):
    return subprocess.Popen([LONGFAT, "run", "s.toml", "--seed", str(seed), "--force", "--out", "o"], cwd=folder,
                            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, **more)


def digest(folder):
    whole = hashlib.sha256()
    for name in SAME:
        path = folder / "o" / name
        if not path.is_file():
            return None
        whole.update(path.read_bytes())
    return whole.hexdigest()


def accepted(folder):
    report = [LONGFAT, "report", "o", "-o", os.path.join(tempfile.gettempdir(), f"atomic-{os.getpid()}.html")]
    return subprocess.run(report, cwd=folder, capture_output=True).returncode == 0


def count_outcome(folder, whole, count):
    """Counts what a reader finds: the name of a complete result, or a rejected or broken one."""
    is_one = whole.get(digest(folder))
    if is_one is None and accepted(folder):
        is_one = "BROKEN, ACCEPTED"
    count[is_one or "refused"] = count.get(is_one or "refused", 0) + 1


def fresh(parent, old=None):
    folder = pathlib.Path(tempfile.mkdtemp(dir=parent))
    (folder / "s.toml").write_text(SCENARIO)
    if old:
        shutil.copytree(old, folder / "o")
    return folder


def main():
    work = pathlib.Path(tempfile.mkdtemp(prefix="longfat-atomic-"))
    whole, times, results = {}, [], {}
    for seed in (1, 2):
        folder = fresh(work)
        begun = time.time()
        process = run(folder, seed)
        process.communicate()
        assert process.returncode == 0
        times.append(time.time() - begun)
        whole[digest(folder)] = "old" if seed == 1 else "new"
        results[seed] = folder / "o"
    old = results[1]
    size = sum(f.stat().st_size for f in old.iterdir())
    failed = False

    # Killed: most of the writing is at the end, and so are most kills.
    count, left = {}, 0
    folder = fresh(work, old)
    for _ in range(N):
        process = run(folder, 2)
        time.sleep(max(times) * (random.random() if random.random() < 0.2 else 0.5 + 0.7 * random.random()))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        count_outcome(folder, whole, count)
        left += any(p.name.startswith(".") for p in folder.iterdir())
        if whole.get(digest(folder)) == "new":
            shutil.rmtree(folder)
            folder = fresh(work, old)
    process = run(folder, 2)
    process.communicate()
    hidden = [p.name for p in folder.iterdir() if p.name.startswith(".")]
    print(f"{N} killed: {count}; {left} left hidden files, after one more run: {hidden or 'none'}")
    failed |= bool(set(count) - {"old", "new"}) or bool(hidden)

    # Raced: two runs want the folder, one gets it.
    count, codes = {}, {}
    for _ in range(N):
        folder = fresh(work, old)
        both = [run(folder, 1)]
        time.sleep(random.random() * 0.02)
        both.append(run(folder, 2))
        stderr = [p.communicate()[1].decode() for p in both]
        ended = " ".join(sorted(str(p.returncode) for p in both))
        codes[ended] = codes.get(ended, 0) + 1
        failed |= any(p.returncode and "another run is writing" not in t for p, t in zip(both, stderr))
        count_outcome(folder, whole, count)
        shutil.rmtree(folder)
    print(f"{N} raced: {count}, exit codes {codes}")
    failed |= bool(set(count) - {"old", "new"})

    # Disk full: this many bytes are free at the start.
    if os.geteuid() != 0:
        print("disk full: SKIPPED, needs root")
    else:
        count, codes = {}, {}
        for _ in range(M):
            mount = pathlib.Path(tempfile.mkdtemp(dir=work))
            room = size + 65536 + int(random.random() * size * 1.1)
            subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={room}", "tmpfs", mount], check=True)
            try:
                folder = fresh(mount, old)
                process = run(folder, 2)
                stderr = process.communicate()[1].decode()
                kind = "0" if process.returncode == 0 else \
                    "refused before" if "nothing was run" in stderr else "failed while writing"
                codes[kind] = codes.get(kind, 0) + 1
                if process.returncode and "No space" not in stderr and "MB left" not in stderr:
                    print(stderr)
                    failed = True
                count_outcome(folder, whole, count)
                failed |= any(p.name.startswith(".") for p in folder.iterdir())
            finally:
                subprocess.run(["umount", mount], check=True)
        print(f"{M} disks full: {count}, {codes}")
        failed |= bool(set(count) - {"old", "new"})
    shutil.rmtree(work)
    return failed


if __name__ == "__main__":
    sys.exit(main())
