# `make test` checks everything and installs what it needs (Debian, as root).

CARGO ?= cargo
# The command line unoptimised, and the example that writes captures for the page's tests. Built with the features of the whole
# workspace, for which `unit` has built the dependencies already.
DEBUG = $(CARGO) build -q --workspace --bin longfat --example capture
# The command line optimised, built together with the Python package so that the dependencies have the same features and are
# built once.
RELEASE = $(CARGO) build -q --release -p longfat -p longfat-python --bin longfat
# Built separately: its features would make cargo build the command line's dependencies a second time.
PAIR = $(CARGO) build -q --release -p longfat-pair

# The crates that other projects can use as libraries.
ENGINE = units path congestion transport sim

.PHONY: test quick setup lint build unit web wasm site same-bytes atomic examples parquet python browser netns bench fuzz docs pictures objects desk types dist dist-check

# All stages, with a list of their times at the end. Stages that need no compiler run while another stage compiles.
test:
	@MAKE="$(MAKE)" sh tests/stages.sh "lint build" "setup web" "unit wasm same-bytes atomic examples parquet python browser netns"

# The checks for the daily work: no root, no network, no tests in real time.
quick: lint unit web

# tshark checks longfat's captures; Python packages read its Parquet files; node and Chromium test the report page. Programs that
# are already there are not installed again.
setup:
	sh tests/setup.sh

lint:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets -- -D warnings
	# `--all-targets` does not include the kernel tests: their manifests have `test = false`.
	$(CARGO) clippy --workspace --test kernel -- -D warnings
	# The engine is a library, so its public documentation must not have dead links.
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc -q --no-deps $(ENGINE:%=-p longfat-%)
	python3 tests/licenses.py --check
	command -v cargo-deny >/dev/null || { echo "lint: cargo-deny SKIPPED, not installed" >&2; exit 0; }; \
	$(CARGO) deny --locked check --hide-inclusion-graph licenses bans sources && \
	if $(CARGO) deny fetch db 2>/dev/null; then $(CARGO) deny --locked check --disable-fetch advisories; \
	else echo "lint: advisories SKIPPED, their list cannot be fetched" >&2; fi

# Compiles everything that the stages run: the tests, including those on the kernel, and the command line, optimised and not.
build:
	$(CARGO) test -q --workspace --no-run
	$(CARGO) test -q --workspace --test kernel --no-run
	$(DEBUG)
	$(RELEASE)
	$(PAIR)

# Property tests draw the same cases every time; `make fuzz` tries new ones.
unit:
	PROPTEST_RNG_SEED=20261121 $(CARGO) test --workspace

# The report page: its types, its unit tests, and whether the committed page equals a build from the sources.
web:
	command -v npm >/dev/null || { echo "web: SKIPPED, no npm" >&2; exit 0; }; \
	cd web && { [ -d node_modules ] || npm ci --silent; } && npm run -s check && npm run -s fresh && npm test -s

# The pure crates get time and randomness as arguments, so they build for a target that has neither. That build is the explorer's
# engine, and its numbers must equal the command line's.
wasm: site
	$(CARGO) check -q -p longfat-sim --target wasm32-unknown-unknown
	command -v npm >/dev/null || { echo "wasm: the engine's numbers SKIPPED, no npm" >&2; exit 0; }; \
	cd web && { [ -d node_modules ] || npm ci --silent; } && npm run -s wasm

# Writes the explorer as a page that needs no server into target/site.
site:
	rustup target list --installed | grep -q wasm32-unknown-unknown || rustup target add wasm32-unknown-unknown
	$(RELEASE)
	$${CARGO_TARGET_DIR:-target}/release/longfat explore --write $${CARGO_TARGET_DIR:-target}/site

# Type checks of the command line for Windows and for musl. `make desk` builds and runs it there, and checks macOS.
types:
	rustup target list --installed | grep -q x86_64-pc-windows-gnu || rustup target add x86_64-pc-windows-gnu
	$(CARGO) check -q -p longfat --target x86_64-pc-windows-gnu
	command -v musl-gcc >/dev/null || { echo "types: musl SKIPPED, no musl-gcc (Debian: musl-tools)" >&2; exit 0; }; \
	{ rustup target list --installed | grep -q x86_64-unknown-linux-musl || rustup target add x86_64-unknown-linux-musl; } && \
	$(CARGO) check -q -p longfat --target x86_64-unknown-linux-musl

# Windows under Wine, arm64 under QEMU, type checks for macOS: the tests pass, and every example gives the same bytes as here.
desk:
	sh tests/desk.sh

# Writes a release into dist/: programs for Linux and Windows, wheel, Debian package, licences, checksums. See docs/install.md.
dist:
	sh packaging/dist.sh

# Checks that each part of the release works, and that a clone in another folder gives the same bytes.
dist-check:
	sh tests/dist.sh

# The same seed gives the same bytes: in a second run, and in debug and release builds.
same-bytes:
	$(DEBUG)
	$(RELEASE)
	sh tests/same-bytes.sh

# Checks that the output shown in README and docs/ is what the commands print; `cargo xtask bless examples` writes it.
examples:
	$(RELEASE)
	$(PAIR)
	python3 tests/examples.py $${CARGO_TARGET_DIR:-target}/release/longfat

# Runs that are killed, run at the same time as others, or find the disk full while they write (many of them:
# `python3 tests/atomic.py LONGFAT 200 50`). Damaged scenarios, captures and result folders (many of them:
# `python3 tests/hostile.py LONGFAT 5000 5000 10000`).
atomic:
	$(RELEASE)
	python3 tests/atomic.py $${CARGO_TARGET_DIR:-target}/release/longfat
	python3 tests/hostile.py $${CARGO_TARGET_DIR:-target}/release/longfat 100 100 100

# Reads the time series with pandas and other programs.
parquet:
	$(DEBUG)
	$(RELEASE)
	sh tests/parquet.sh

# The Python package in a virtual environment: its tests, its notebooks, its types.
python:
	$(RELEASE)
	sh tests/python.sh

# Reports of real runs in a headless browser; screenshots are left in target/shots.
browser: setup site
	$(DEBUG)
	$(RELEASE)
	{ command -v npm && command -v chromium; } >/dev/null || { echo "browser: SKIPPED, no npm or no chromium" >&2; exit 0; }; \
	cd web && npm run -s browser

# Delivered data packets per CPU second, compared with ns-3 on the same dumbbells; the diagnosis, compared with tcptrace and
# tshark on the same captures; the proxy, compared with HAProxy and nginx; the report page.
bench: setup
	$(CARGO) build -q --release -p longfat-bench -p longfat -p longfat-diagnose-test
	$(MAKE) -C benches/ns3
	python3 benches/compare.py
	python3 benches/diagnose.py
	$(CARGO) build -q --release -p longfat-proxy --example load
	python3 benches/proxy.py $${CARGO_TARGET_DIR:-target}/release/longfat $${CARGO_TARGET_DIR:-target}/release/examples/load
	$(CARGO) build -q --release -p longfat-app --example capture
	node benches/page.mjs

# The lab: namespaces and the kernel's own TCP, programs inside, kill -9, a few cells compared with the simulator; eBPF congestion
# controls. In real time, one test at a time, as root; without root each test reports that it was skipped.
netns:
	$(CARGO) test --workspace --test kernel -- --test-threads=1
	$(DEBUG)
	sh tests/tproxy.sh $${CARGO_TARGET_DIR:-target}/debug/longfat

# Compiles the eBPF programs (crates/machine/kernel-cc/bpf) again, after a change to them: needs clang and llvm-strip.
objects:
	$(CARGO) xtask bless objects

# Each target, and `import` for each format, for ten minutes; needs `cargo install cargo-fuzz` and a nightly toolchain. The thread that
# unpacks a half-read capture ends a moment after its reader, which a leak detector takes for a leak.
fuzz:
	cd fuzz && cargo +nightly fuzz run scenario -- -max_total_time=600
	cd fuzz && cargo +nightly fuzz run qlog -- -max_total_time=600
	$(CARGO) run -q -p longfat-import --example seeds fuzz/corpus
	for d in fuzz/corpus/import-*/; do f=$$(basename $$d); \
	(cd fuzz && LONGFAT_IMPORT_FORMAT=$${f#import-} cargo +nightly fuzz run import corpus/$$f -- -dict=corpus/$$f.dict \
	-max_total_time=600 -rss_limit_mb=1024 -timeout=10) || exit 1; done
	for f in config header hello; do \
	(cd fuzz && cargo +nightly fuzz run proxy_$$f -- -max_total_time=600 -rss_limit_mb=512 -timeout=10) || exit 1; done
	cd fuzz && cargo +nightly fuzz run pair_frames -- -max_total_time=600 -rss_limit_mb=512 -timeout=10
	cd fuzz && cargo +nightly fuzz run chain -- -max_total_time=600
	cd fuzz && cargo +nightly fuzz run tracker -- -max_total_time=600 -rss_limit_mb=512 -timeout=10
	cd fuzz && cargo +nightly fuzz run capture -- -max_total_time=600 -rss_limit_mb=512 -timeout=10 -detect_leaks=0

# Takes the pictures for the pages in docs/ with a headless browser.
pictures: setup
	$(RELEASE)
	node docs/pictures.mjs

# Everything in docs/ that is generated. JUDGE is the seed and the size of the corpus on which the diagnosis is judged.
JUDGE = 20261215 1000
docs: pictures
	$(CARGO) run -q --release -p longfat-twin -- fidelity > docs/measured/fidelity.md
	$(CARGO) run -q --release -p longfat-twin -- pairs > docs/measured/fairness.md
	$(CARGO) run -q --release -p longfat-diagnose-test -- doc $(JUDGE) tests/diagnose/lab.csv \
		tests/diagnose/usc.csv > docs/measured/diagnosis-accuracy.md
	$(CARGO) xtask bless
	# Takes an hour of real time, as root; exit code 1 means that a claim does not hold.
	$(CARGO) run -q --release -p longfat -- reproduce --on both --markdown docs/measured/reproduction.md || [ $$? = 1 ]
