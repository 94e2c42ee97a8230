#!/usr/bin/env python3
"""nebby.py DIR [--from GITDIR]: downloads the labelled traces of NUS-SNL/Nebby into DIR, as DIR/sensitivity/PATH/CONTROL.csv.

The repository is fetched at COMMIT, or read from GITDIR; the traces are unpacked only if their tree hash is TREE.
Exit codes: 0 the traces are present, 1 fetching or unpacking failed, 2 bad arguments.
"""

import argparse
import pathlib
import subprocess
import sys
import tempfile

URL = "https://github.com/NUS-SNL/Nebby"
COMMIT = "e21e193af884375e3cf0b8abcca3fa147f5a5993"
FOLDER = "sensitivity"
TREE = "5b0beef89f8759a318a5f2bfbc2765b156e94645"


def git(gitdir, *args):
    done = subprocess.run(["git", "--git-dir", gitdir, *args], check=False, capture_output=True)
    if done.returncode != 0:
        raise ValueError(f"git {args[0]}: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout


def unpack(gitdir, folder):
    tree = git(gitdir, "rev-parse", f"{COMMIT}:{FOLDER}").decode().strip()
    if tree != TREE:
        raise ValueError(f"{gitdir}: the tree of {FOLDER} is {tree}, expected {TREE}")
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(["tar", "-x", "-C", folder], input=git(gitdir, "archive", COMMIT, FOLDER), check=True)


def fetch(folder):
    with tempfile.TemporaryDirectory() as scratch:
        git(scratch, "init", "--quiet", "--bare")
        git(scratch, "fetch", "--quiet", "--depth", "1", URL, COMMIT)
        unpack(scratch, folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", metavar="DIR", type=pathlib.Path)
    parser.add_argument("--from", dest="gitdir", metavar="GITDIR", help="a local git directory of the repository")
    args = parser.parse_args()
    try:
        unpack(args.gitdir, args.folder) if args.gitdir else fetch(args.folder)
    except (OSError, ValueError, subprocess.CalledProcessError) as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{len(list(args.folder.glob(f'{FOLDER}/*/*.csv')))} traces are in {args.folder / FOLDER}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
