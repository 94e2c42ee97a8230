"""Whether crates/faces/explore/assets/engine.deflate is what its sources give: the crate for wasm32, deflated.

    python3 tests/explore.py           fails when it is not
    python3 tests/explore.py --bless   makes it anew (make explore)

All of the engine is built: that is how the pure crates are known to build where there is neither clock nor file. With the
rustc that made it bytes are compared; with another one, or without the target, a digest of the sources.
"""

import hashlib
import os
import pathlib
import subprocess
import sys
import tomllib
import zlib

ROOT = pathlib.Path(__file__).resolve().parent.parent
ASSETS = ROOT / "crates/faces/explore/assets"
ENGINE = ASSETS / "engine.deflate"
# What it was made by and of.
MADE = ASSETS / "engine.txt"
TARGET = "wasm32-unknown-unknown"
# Raw deflate (RFC 1951), which browsers inflate.
RAW = -15


def crate_folder(name: str) -> pathlib.Path | None:
    """The folder of the workspace's crate NAME, on whichever floor it is."""
    return next(iter(ROOT.glob(f"crates/*/{name}/")), None)


def crates(name="explore", known=None):
    """The crates of the workspace that a crate's own code is made of."""
    known = known if known is not None else set()
    if name not in known:
        known.add(name)
        manifest = tomllib.loads((crate_folder(name) / "Cargo.toml").read_text())
        uses = set(manifest.get("dependencies", {}))
        for dependency in uses:
            if crate_folder(dependency):
                crates(dependency, known)
    return known


def digest():
    """A number for all that the engine depends on but the compiler."""
    files = [ROOT / "Cargo.lock"]
    for name in sorted(crates()):
        crate = crate_folder(name)
        files += [crate / "Cargo.toml", *sorted(crate.glob("*.json")), *sorted((crate / "src").rglob("*.rs"))]
    whole = hashlib.sha256()
    for file in files:
        whole.update(str(file.relative_to(ROOT)).encode() + b"\0" + file.read_bytes().replace(b"\r\n", b"\n"))
    profile = tomllib.loads((ROOT / "Cargo.toml").read_text())["profile"]
    whole.update(repr((profile["release"], profile["wasm"])).encode())
    return whole.hexdigest()


def compiler():
    """The compiler's name where it has the target; else None."""
    try:
        sysroot = subprocess.run(["rustc", "--print", "sysroot"], capture_output=True, text=True, check=True).stdout.strip()
        name = subprocess.run(["rustc", "--version"], capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None
    return name if (pathlib.Path(sysroot) / "lib/rustlib" / TARGET).is_dir() else None


def build():
    """The module's bytes: nothing in them tells of the machine."""
    env = dict(os.environ)
    home = pathlib.Path(env.get("CARGO_HOME", pathlib.Path.home() / ".cargo"))
    flags = [f"--remap-path-prefix={home}=cargo", f"--remap-path-prefix={ROOT}=longfat"]
    env["CARGO_ENCODED_RUSTFLAGS"] = "\x1f".join(flags)
    cargo = env.get("CARGO", "cargo")
    build = ["rustc", "-q", "-p", "longfat-explore", "--lib", "--crate-type", "cdylib", "--target", TARGET, "--profile", "wasm"]
    subprocess.run([cargo, *build], cwd=ROOT, env=env, check=True)
    target = pathlib.Path(env.get("CARGO_TARGET_DIR", ROOT / "target"))
    return (target / TARGET / "wasm" / "explore.wasm").read_bytes()


def bless():
    rustc = compiler()
    if rustc is None:
        sys.exit(f"this needs rustc with its target {TARGET}: rustup target add {TARGET}")
    module = build()
    deflate = zlib.compressobj(9, zlib.DEFLATED, RAW)
    ENGINE.write_bytes(deflate.compress(module) + deflate.flush())
    MADE.write_text(f"What engine.deflate was made by and of (make explore).\n{rustc}\n{digest()}\n")
    print(f"{ENGINE.relative_to(ROOT)}: {ENGINE.stat().st_size} bytes, {len(module)} inflated")


def check():
    _, by, of = MADE.read_text().splitlines()
    rustc = compiler()
    built = build() if rustc else None
    if rustc == by:
        if zlib.decompress(ENGINE.read_bytes(), RAW) != built:
            sys.exit(f"{ENGINE.relative_to(ROOT)} is not what {by} makes of its sources: make explore")
        return
    print(f"explore: made by {by}, here is {rustc or 'none with ' + TARGET}: sources are compared, not bytes", file=sys.stderr)
    if of != digest():
        sys.exit("the sources of crates/faces/explore/assets/engine.deflate have changed: make explore")


if __name__ == "__main__":
    bless() if "--bless" in sys.argv[1:] else check()
