# The front door. `make test` checks everything and installs what that needs (Debian, as root).

CARGO ?= cargo
# The command line unoptimised, and what makes up captures for the page's tests: of the whole workspace, whose features `unit`
# has built already.
DEBUG = $(CARGO) build -q --workspace --bin longfat --example capture
# The command line optimised, of the features that its dependencies have in the Python package too, which then builds little more.
RELEASE = $(CARGO) build -q --release -p longfat -p longfat-python --bin longfat
# By itself: its dependencies' features would have the command line's built twice.
PAIR = $(CARGO) build -q --release -p longfat-pair

# What others can use without the rest.
ENGINE = units path congestion transport sim

.PHONY: test quick setup lint build unit web wasm site same-bytes atomic examples parquet python browser netns bench fuzz docs pictures objects desk types dist dist-check

# All stages; at the end stands how long each took. What needs no compiler is made ready while one works.
test:
	@MAKE="$(MAKE)" sh tests/stages.sh "lint build" "setup web" "unit wasm same-bytes atomic examples parquet python browser netns"

# The inner loop: no root, no network, no real seconds.
quick: lint unit web

# tshark checks our captures; Python's packages read our Parquet files; node and Chromium are for the report page. What is there is
# not installed again.
setup:
	sh tests/setup.sh

lint:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets -- -D warnings
	# The kernel's tests are no part of `--all-targets`: their manifests say `test = false`.
	$(CARGO) clippy --workspace --test kernel -- -D warnings
	# The engine is a library: its public documentation has no dead links.
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc -q --no-deps $(ENGINE:%=-p longfat-%)
	python3 tests/licenses.py --check
	command -v cargo-deny >/dev/null || { echo "lint: cargo-deny SKIPPED, not installed" >&2; exit 0; }; \
	$(CARGO) deny --locked check --hide-inclusion-graph licenses bans sources && \
	if $(CARGO) deny fetch db 2>/dev/null; then $(CARGO) deny --locked check --disable-fetch advisories; \
	else echo "lint: advisories SKIPPED, their list cannot be fetched" >&2; fi

# All that the stages run, compiled: the tests, those of the kernel too, the command line optimised and not.
build:
	$(CARGO) test -q --workspace --no-run
	$(CARGO) test -q --workspace --test kernel --no-run
	$(DEBUG)
	$(RELEASE)
	$(PAIR)

# Property tests draw the same cases every time; `make fuzz` is for new ones.
unit:
	PROPTEST_RNG_SEED=20261121 $(CARGO) test --workspace

# The report page: its types, its units, and whether the committed page is what the sources give.
web:
	command -v npm >/dev/null || { echo "web: SKIPPED, no npm" >&2; exit 0; }; \
	cd web && { [ -d node_modules ] || npm ci --silent; } && npm run -s check && npm run -s fresh && npm test -s

# The pure crates take time and randomness as arguments: they build where there is neither, as the explorer's engine, which
# gives the command line's numbers.
wasm: site
	$(CARGO) check -q -p longfat-sim --target wasm32-unknown-unknown
	command -v npm >/dev/null || { echo "wasm: the engine's numbers SKIPPED, no npm" >&2; exit 0; }; \
	cd web && { [ -d node_modules ] || npm ci --silent; } && npm run -s wasm

# The explorer as a page that needs no server, into target/site.
site:
	rustup target list --installed | grep -q wasm32-unknown-unknown || rustup target add wasm32-unknown-unknown
	$(RELEASE)
	$${CARGO_TARGET_DIR:-target}/release/longfat explore --write $${CARGO_TARGET_DIR:-target}/site

# The command line's types are right where there is no Unix, and with musl; what is built and run there, and macOS: `make desk`.
types:
	rustup target list --installed | grep -q x86_64-pc-windows-gnu || rustup target add x86_64-pc-windows-gnu
	$(CARGO) check -q -p longfat --target x86_64-pc-windows-gnu
	command -v musl-gcc >/dev/null || { echo "types: musl SKIPPED, no musl-gcc (Debian: musl-tools)" >&2; exit 0; }; \
	{ rustup target list --installed | grep -q x86_64-unknown-linux-musl || rustup target add x86_64-unknown-linux-musl; } && \
	$(CARGO) check -q -p longfat --target x86_64-unknown-linux-musl

# Windows under Wine, arm64 under QEMU, macOS' types: their tests pass, and every example gives the same bytes as here.
desk:
	sh tests/desk.sh

# What is handed out, into dist/: programs for Linux and Windows, wheel, Debian package, licences, sums. docs/install.md
dist:
	sh packaging/dist.sh

# Whether each of these works, and whether a clone in another folder gives the same bytes.
dist-check:
	sh tests/dist.sh

# Same seed, same bytes: twice, and debug beside release.
same-bytes:
	$(DEBUG)
	$(RELEASE)
	sh tests/same-bytes.sh

# What README and docs/ show is what is printed; `cargo xtask bless examples` writes it.
examples:
	$(RELEASE)
	$(PAIR)
	python3 tests/examples.py $${CARGO_TARGET_DIR:-target}/release/longfat

# Runs killed, raced and starved of disk while they write; `python3 tests/atomic.py LONGFAT 200 50` for many. Spoilt
# scenarios, captures and result folders; `python3 tests/hostile.py LONGFAT 5000 5000 10000` for many.
atomic:
	$(RELEASE)
	python3 tests/atomic.py $${CARGO_TARGET_DIR:-target}/release/longfat
	python3 tests/hostile.py $${CARGO_TARGET_DIR:-target}/release/longfat 100 100 100

# The time series as pandas and others read them.
parquet:
	$(DEBUG)
	$(RELEASE)
	sh tests/parquet.sh

# The Python package in an environment of its own: its tests, its notebooks, its types.
python:
	$(RELEASE)
	sh tests/python.sh

# Reports of real runs in a headless browser; screenshots are left in target/shots.
browser: setup site
	$(DEBUG)
	$(RELEASE)
	{ command -v npm && command -v chromium; } >/dev/null || { echo "browser: SKIPPED, no npm or no chromium" >&2; exit 0; }; \
	cd web && npm run -s browser

# Delivered data packets a CPU second beside ns-3, on the same dumbbells, in one run; the diagnosis beside
# tcptrace and tshark, on the same captures; then the report page.
bench: setup
	$(CARGO) build -q --release -p longfat-bench -p longfat -p longfat-diagnose-test
	$(MAKE) -C benches/ns3
	python3 benches/compare.py
	python3 benches/diagnose.py
	$(CARGO) build -q --release -p longfat-proxy --example load
	python3 benches/proxy.py $${CARGO_TARGET_DIR:-target}/release/longfat $${CARGO_TARGET_DIR:-target}/release/examples/load
	$(CARGO) build -q --release -p longfat-app --example capture
	node benches/page.mjs

# The lab: namespaces and the kernel's own TCP, programs inside, kill -9, a few cells beside the
# simulator; eBPF congestion controls. In real seconds, one test at a time, as root; elsewhere each
# says that it was skipped.
netns:
	$(CARGO) test --workspace --test kernel -- --test-threads=1
	$(DEBUG)
	sh tests/tproxy.sh $${CARGO_TARGET_DIR:-target}/debug/longfat

# The eBPF programs (crates/machine/kernel-cc/bpf) compiled anew, for whoever changes them: needs clang and llvm-strip.
objects:
	$(CARGO) xtask bless objects

# Each target, and `import` for each format, for ten minutes; needs `cargo install cargo-fuzz` and a nightly toolchain. A capture left half read
# leaves its unpacking thread a moment to end, which a leak detector takes for a leak.
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

# The pictures of the pages in docs/, by a headless browser.
pictures: setup
	$(RELEASE)
	node docs/pictures.mjs

# Everything in docs/ that is made, not written. The diagnosis is judged on the corpus of this seed, so many cases.
JUDGE = 2026112813 1000
docs: pictures
	$(CARGO) run -q --release -p longfat-twin -- fidelity > docs/fidelity.md
	$(CARGO) run -q --release -p longfat-twin -- pairs > docs/fairness.md
	$(CARGO) run -q --release -p longfat-diagnose-test -- doc $(JUDGE) tests/diagnose/lab.csv \
		tests/diagnose/usc.csv > docs/diagnosis-accuracy.md
	$(CARGO) xtask bless
	# An hour of real seconds, as root; exit code 1 says that a claim does not hold.
	$(CARGO) run -q --release -p longfat -- reproduce --on both --markdown docs/reproduction.md || [ $$? = 1 ]
