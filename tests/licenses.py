#!/usr/bin/env python3
"""THIRD-PARTY-LICENSES.md: the third-party software in the program and in the page, with licences and their texts.

    python3 tests/licenses.py            writes it
    python3 tests/licenses.py --check    exit code 1 if the file differs from what would be written

It lists what is linked into `longfat`, `longfat-pair` and the Python package on any system: normal dependencies, but not build
or test dependencies, nor macros, which run in the compiler. If a package offers several licences, longfat takes the first one
in CHOICE.
"""
import hashlib, json, os, pathlib, re, subprocess, sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TARGET = ROOT / "THIRD-PARTY-LICENSES.md"
CHOICE = ["MIT", "Apache-2.0", "BSD-3-Clause", "BSD-2-Clause", "Unicode-3.0", "CC0-1.0", "Zlib", "ISC"]
# Names of files with a licence's text.
FILES = {"MIT": r"mit", "Apache-2.0": r"apache", "BSD-3-Clause": r"bsd", "BSD-2-Clause": r"bsd",
         "Unicode-3.0": r"unicode", "CC0-1.0": r"cc0", "Zlib": r"zlib", "ISC": r"isc|other-bits"}
LICENSE = re.compile(r"^(licen[cs]e|copying|unlicense)", re.I)


def linked():
    """Packages that are linked into the programs, by name."""
    cargo = os.environ.get("CARGO", "cargo")
    metadata = json.loads(subprocess.run([cargo, "metadata", "--locked", "--format-version=1"], cwd=ROOT, check=True,
                                         capture_output=True).stdout)
    packages = {p["id"]: p for p in metadata["packages"]}
    edges = {n["id"]: [d["pkg"] for d in n["deps"] if any(k["kind"] is None for k in d["dep_kinds"])]
             for n in metadata["resolve"]["nodes"]}
    is_macro = lambda p: any("proc-macro" in t["kind"] for t in p["targets"])
    seen, todo = set(), [i for i, p in packages.items() if p["name"] in ("longfat", "longfat-pair", "longfat-python")]
    while todo:
        one = todo.pop()
        if one not in seen and not is_macro(packages[one]):
            seen.add(one)
            todo += edges[one]
    own = set(metadata["workspace_members"])
    return sorted((packages[i] for i in seen - own), key=lambda p: (p["name"], p["version"]))


def chosen(expression):
    """The licences of an SPDX expression that longfat takes: one of each OR, all of each AND."""
    expression = expression.replace("/", " OR ")
    parts = [p.strip(" ()") for p in re.split(r"\bAND\b", expression)]
    taken = []
    for part in parts:
        offered = [o.strip(" ()") for o in re.split(r"\bOR\b", part)]
        fit = [c for c in CHOICE if c in offered]
        if not fit:
            sys.exit(f"none of {offered} is in CHOICE")
        taken.append(fit[0])
    return taken


def texts(package, licences):
    folder = pathlib.Path(package["manifest_path"]).parent
    files = sorted(f for f in folder.iterdir() if f.is_file() and LICENSE.match(f.name))
    found = []
    for licence in licences:
        named = [f for f in files if re.search(FILES[licence], f.name, re.I)]
        # A package with a single licence calls the file LICENSE.
        plain = [f for f in files if not any(re.search(word, f.name, re.I) for word in FILES.values())]
        found += (named or plain)[:1]
    if "Apache-2.0" in licences:
        # Section 4(d): the contents of a NOTICE are passed on.
        found += sorted(f for f in folder.iterdir() if f.name.upper().startswith("NOTICE"))
    return [f.read_text(errors="replace").replace("\r\n", "\n").strip() for f in found]


def packed():
    """The npm packages in the page, and the fonts: name, version, licence, text, place."""
    wanted = json.loads((ROOT / "web/package.json").read_text())["devDependencies"]
    imports = set()
    for source in (ROOT / "web/src").rglob("*.ts"):
        imports |= set(re.findall(r"""^import (?!type)[^'"]*from ["']([^./"':][^"':]*)["']""", source.read_text(), re.M))
    for name in sorted(imports):
        text = (ROOT / f"web/licenses/{name}.txt").read_text().strip()
        there = ROOT / f"web/node_modules/{name}/LICENSE"
        if there.exists() and there.read_text().strip() != text:
            sys.exit(f"web/licenses/{name}.txt is not the licence that npm has: copy it")
        yield name, wanted[name], "MIT", text, "the page's plots"
    fonts = ROOT / "crates/answers/report/assets/fonts"
    names = ", ".join(sorted(f.name for f in fonts.iterdir() if f.suffix in (".ttf", ".otf")))
    yield names, "subset", "OFL-1.1", (fonts / "OFL.txt").read_text().strip(), "fonts of plots as PNG and SVG"


def runtimes():
    """The C libraries in the programs that `make dist` builds: name, version, licence, text, place."""
    def text(name):
        return (ROOT / f"packaging/licenses/{name}.txt").read_text().strip()
    yield "musl", "of Rust's target", "MIT", text("musl"), "the program for Linux that is handed out"
    yield "mingw-w64", "of the builder", "ZPL-2.1", text("mingw-w64"), "the program for Windows"


def document():
    rows, bodies = [], {}
    for p in linked():
        licences = chosen(p["license"])
        rows.append((p["name"], p["version"], " AND ".join(licences), p["repository"] or ""))
        for text in texts(p, licences) or [None]:
            key = (text or f"{' AND '.join(licences)}; the package holds no text of it. "
                   f"Authors: {', '.join(p['authors']) or 'see the repository'}")
            bodies.setdefault(key, []).append(f"{p['name']} {p['version']}")
    for name, version, licence, text, what in [*packed(), *runtimes()]:
        rows.append((name, version, licence, what))
        bodies.setdefault(text, []).append(f"{name} {version}")
    out = ["# Third-party licences", "",
           "What of others is in `longfat`, in its Python package and in its pages. Made by `python3 tests/licenses.py`; `make lint` says when it is out",
           "of date. The Rust standard library, which is linked too, is under MIT or Apache-2.0 (rust-lang.org).", "",
           "| what | version | licence | where |", "|---|---|---|---|"]
    out += [f"| {' | '.join(row)} |" for row in rows]
    for text, whose in sorted(bodies.items(), key=lambda item: item[1]):
        out += ["", f"## {', '.join(whose)}", "", "```", text.replace("```", "'''"), "```"]
    return "\n".join(out) + "\n"


def main():
    text = document()
    if "--check" in sys.argv:
        if not TARGET.exists() or TARGET.read_text() != text:
            print("THIRD-PARTY-LICENSES.md is out of date: python3 tests/licenses.py", file=sys.stderr)
            return 1
        return 0
    TARGET.write_text(text)
    print(f"{TARGET.name}: {len(text)} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
