#!/usr/bin/env python3
"""`longfat watch` over thousands of connections: does its memory stay flat, and what does it cost?

    sudo python3 tests/live/many.py LONGFAT [--connections 5000] [--minutes 60] [--mode json|prometheus]

Each connection, over a veth pair between two namespaces, sends 200 bytes a second. Prints longfat's resident memory and its share
of a core for each minute. Needs root and ip. Exit code 1 if memory grew by more than 5 % between the first tenth of the time (at
least 5 minutes) and the end, if a connection was missing in a report, or if longfat failed.
"""
import argparse, json, os, pathlib, resource, signal, subprocess, sys, tempfile, threading, time

NEAR, FAR, PORT = "10.78.0.1", "10.78.0.2", 5000
TICKS = os.sysconf("SC_CLK_TCK")
SERVER = """
import selectors, socket
listener = socket.create_server(("{far}", {port}), backlog=4096)
events = selectors.DefaultSelector()
events.register(listener, selectors.EVENT_READ)
while True:
    for key, _ in events.select():
        if key.fileobj is listener:
            events.register(listener.accept()[0], selectors.EVENT_READ)
        elif not key.fileobj.recv(65536):
            events.unregister(key.fileobj)
            key.fileobj.close()
"""
CLIENT = """
import socket, time
connections = [socket.create_connection(("{far}", {port})) for _ in range({count})]
print("connected", flush=True)
begin, slots = time.monotonic(), 100
for tick in range(10**9):
    time.sleep(max(0, begin + tick / slots - time.monotonic()))
    for connection in connections[tick % slots::slots]:
        connection.send(b"x" * 200)
"""


def must(*command):
    subprocess.run(command, check=True)


def usage(pid):
    """Resident bytes, and seconds of CPU of all threads until now."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return int(fields[21]) * resource.getpagesize(), (int(fields[11]) + int(fields[12])) / TICKS


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("longfat", type=pathlib.Path)
    parser.add_argument("--connections", type=int, default=5000)
    parser.add_argument("--minutes", type=int, default=60)
    parser.add_argument("--mode", choices=["json", "prometheus"], default="json")
    o = parser.parse_args()
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, o.connections + 100), most))
    near, far = f"lfmany-near-{os.getpid()}", f"lfmany-far-{os.getpid()}"
    started = []

    def start(namespace, *command, **more):
        started.append(subprocess.Popen(["ip", "netns", "exec", namespace, *map(str, command)], **more))
        return started[-1]

    try:
        for name in (near, far):
            must("ip", "netns", "add", name)
        must("ip", "link", "add", "near", "netns", near, "type", "veth", "peer", "name", "far", "netns", far)
        for name, device, address in ((near, "near", NEAR), (far, "far", FAR)):
            must("ip", "-n", name, "address", "add", f"{address}/24", "dev", device)
            must("ip", "-n", name, "link", "set", device, "up")
            must("ip", "-n", name, "link", "set", "lo", "up")
        words = dict(far=FAR, port=PORT, count=o.connections)
        start(far, sys.executable, "-c", SERVER.format(**words))
        time.sleep(0.5)
        client = start(near, sys.executable, "-c", CLIENT.format(**words), stdout=subprocess.PIPE)
        client.stdout.readline()

        mode = ["--live", "json"] if o.mode == "json" else ["--prometheus", "127.0.0.1:9417"]
        with tempfile.TemporaryFile() as end:
            watch = start(near, o.longfat, "watch", "--for", f"{o.minutes}min", *mode, stdout=subprocess.PIPE, stderr=end)
            counts = []

            def read():
                for line in watch.stdout:
                    report = json.loads(line)
                    counts.append((report["count"], report["missed_packets"]))

            reader = threading.Thread(target=read)
            reader.start()
            memory, begin, cpu_before = [], time.monotonic(), 0
            for minute in range(1, o.minutes + 1):
                time.sleep(max(0, begin + 60 * minute - 2 - time.monotonic()))
                if watch.poll() is not None:
                    break
                resident, cpu = usage(watch.pid)
                memory.append(resident)
                print(f"{minute:3} min  {resident / 1e6:6.1f} MB  {100 * (cpu - cpu_before) / 60:5.2f} % of a core", flush=True)
                cpu_before = cpu
            end_of_watch = time.monotonic()
            code = watch.wait()
            reader.join()
            end.seek(0)
            print(f"ended {time.monotonic() - end_of_watch:.1f} s later with code {code}: {end.read().decode().splitlines()[:1]}")
            early = max(memory[: max(5, o.minutes // 10)])
            print(f"memory {early / 1e6:.1f} MB at first, {max(memory) / 1e6:.1f} MB at most")
            if o.mode == "json":
                whole = counts[5:-5]
                print(f"{len(counts)} reports of {min(c for c, _ in whole)} to {max(c for c, _ in whole)} connections, "
                      f"{max(m for _, m in counts)} packets missed")
                if min(c for c, _ in whole) < o.connections:
                    sys.exit("a report lacks connections")
            if code != 0 or max(memory) > 1.05 * early:
                sys.exit("memory grew" if code == 0 else "longfat failed")
    finally:
        for process in reversed(started):
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
                process.wait()
        for name in (near, far):
            subprocess.run(["ip", "netns", "del", name], stderr=subprocess.DEVNULL)


main()
