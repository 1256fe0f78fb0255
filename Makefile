# make check        formatters, linters, types, fast tests; before every commit (docs/times.md: how long)
# make test         all tests, the statistical and slow ones too
# make demo         a page with three pictures of what the program computes
# make wheel        a wheel that installs without Rust, in dist/, and its size; make wheel-test installs and tries it
# make wheel PGO=1  the same, optimised for what tools/train.py runs; needs `rustup component add llvm-tools`
# make cross        the crates checked for Windows, macOS and Linux on ARM, and a wheel for the last in out/cross
# make lowest       the Python tests with the oldest libraries that pyproject.toml declares; make newest: with the newest
# make checked      the Rust tests with overflow checks and debug assertions; a build of its own
# make times        measure how long commands take, for docs/times.md; needs a machine without other work
# make bench        measure speed; make bench BASE=path compares with a checkout of another version
# make docs         the site of all pages in out/site: those in docs/, the reference, the verdicts of studies, the code
# make web          the same with the simulator in it: the lab, tours, and values to move under the figures; for any browser
# make stacks       quinn, noq, smoltcp and aioquic as flows of scenarios: what works, sentences of RFCs, tables beside CUBIC
# make figures      the pictures on the pages of transports, of disciplines and of media, from runs
# make engine       the engine for web pages, by WebAssembly: what `tailback lab --export` puts into its file
# make wasm         the crates that a page runs compile for WebAssembly, if rustup can get it
# make lint         style alone
# make workflows    the workflows of .github checked, by zizmor and, where it or Go is, actionlint
# make msrv         the crates with the oldest Rust that is supported, if rustup can get it
# make new KIND=discipline NAME=my-aqm   a new discipline, scheduler, conditioner, control, source, study or crate from a template
#
# One release build serves tests, demo and the installed package: the same profile, the same target directory.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# The newest of these decides whether the extension has to be built again.
SOURCES := Cargo.toml Cargo.lock pyproject.toml $(shell find crates -name '*.rs' -o -name Cargo.toml)
PYTHON_FILES := python tests benches validation tools docs/lessons stacks/aioquic stacks/smoltcp
# Two workers: many tests wait for processes.
PYTEST := $(BIN)/python -m pytest tests/python --numprocesses 2 --dist loadfile

.PHONY: all demo engine engine-if-possible check msrv wasm test test-rust test-python stacks bench times references docs web figures lint types build wheel \
	wheel-test cross workflows new clean lowest newest checked
all: build

$(VENV)/.tools: requirements-dev.txt
	$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or later is needed, this is " + sys.version.split()[0] if sys.version_info < (3, 11) else 0)'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Installing the tools of requirements-dev.txt in $(VENV) ..."
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	touch $@

# The package is installed from this directory (editable): its Python is used as it stands, only Rust is built. Cargo
# shows how far it is, also without a terminal; pip would list what is there already.
$(VENV)/.built: $(VENV)/.tools $(SOURCES)
	VIRTUAL_ENV="$(CURDIR)/$(VENV)" PIP_QUIET=1 $(BIN)/maturin develop --release
	touch $@

build: $(VENV)/.built

# The engine in web pages. It is built where a compiler for WebAssembly can be had; elsewhere tools/web_engine.py says what
# to install, and everything else works without it.
ENGINE := python/tailback/apps/lab/static/engine.wasm.gz
$(ENGINE): $(VENV)/.tools tools/web_engine.py Cargo.toml Cargo.lock $(shell find crates -name '*.rs' -o -name Cargo.toml)
	$(BIN)/python tools/web_engine.py
engine: $(ENGINE)

# The same where it is possible; elsewhere the reason is printed. An engine that does not compile is an error in both.
engine-if-possible: $(VENV)/.tools
	@if $(BIN)/python tools/web_engine.py --possible; then $(MAKE) --no-print-directory engine; fi

demo: build
	$(BIN)/tailback demo

check: lint types
	cargo test --release --locked --quiet -p tailback-base -p tailback-queue -p tailback-conditioner -p tailback-transport
	$(PYTEST) -m "not slow"

# Crates that are held to no warning at all, and folders whose files are held to their sizes and sources.
LINTED ?= --workspace
HOUSE ?= python tests/python benches validation tools crates

lint: $(VENV)/.tools
	cargo fmt --all --check
	cargo clippy --release --locked --quiet $(LINTED) --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --release --locked --quiet --no-deps $(LINTED)
	$(BIN)/ruff check --quiet $(PYTHON_FILES)
	$(BIN)/ruff format --check --quiet $(PYTHON_FILES)
	$(BIN)/python tools/check_house.py $(HOUSE)

# The package, code as users write it, the facts that stand once, and the stub of the extension against the extension.
types: build
	$(BIN)/mypy python/tailback tests/typing
	$(BIN)/python tools/study_types.py
	$(BIN)/python tools/house_rules.py
	$(BIN)/basedpyright --warnings
	MYPYPATH=python $(BIN)/stubtest tailback._core --concise --allowlist tests/typing/stubtest-allowlist.txt

# The oldest Rust that Cargo.toml names. It is looked at, not tested: a build of its own, in a folder of its own.
MSRV := $(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
msrv:
	@if rustup toolchain install $(MSRV) --profile minimal > /dev/null 2>&1; \
	then CARGO_TARGET_DIR=target/msrv cargo +$(MSRV) check --locked --workspace; \
	else echo "Rust $(MSRV) cannot be installed here: make msrv was left out"; fi

# The simulator and the reader of scenarios, with all crates below them, need no files, threads or clocks of a system.
WASM := wasm32-unknown-unknown
wasm:
	@if rustup target add $(WASM) > /dev/null 2>&1; \
	then cargo check --locked -p tailback-sim -p tailback-scenario --target $(WASM); \
	else echo "rustup is not here, or cannot get $(WASM): make wasm was left out"; fi

test: test-rust test-python

test-rust:
	cargo test --release --locked --workspace --exclude tailback-python

# What is left out for lack of a tool or a privilege is listed at the end, with the reason.
test-python: build engine-if-possible
	$(PYTEST) -rs --durations 10

# The Python tests with other libraries than those of requirements-dev.txt, in an environment of their own: the oldest that
# pyproject.toml declares, or the newest that there are.
TRIED := maturin|pytest|pytest-xdist|hypothesis|markdown-it-py|nbclient|nbformat|ipykernel|selenium
lowest newest: build
	test -x .venv-$@/bin/python || $(PYTHON) -m venv .venv-$@
	grep -E '^($(TRIED))==' requirements-dev.txt > .venv-$@/requirements.txt
	$(PYTHON) tools/libraries.py $@ >> .venv-$@/requirements.txt
	.venv-$@/bin/python -m pip install --quiet --disable-pip-version-check --upgrade -r .venv-$@/requirements.txt
	VIRTUAL_ENV="$(CURDIR)/.venv-$@" PIP_QUIET=1 .venv-$@/bin/maturin develop --release
	@$(PYTHON) tools/libraries.py $@ | paste -sd ' '
	.venv-$@/bin/python -m pytest tests/python --numprocesses 2 --dist loadfile -rs -m "not slow"

# Stacks of others in simulated networks: quinn-proto, noq-proto and smoltcp are downloaded and built, aioquic is installed
# beside the build.
stacks: build
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade --target stacks/target/aioquic \
		-r stacks/aioquic/requirements.txt
	cd stacks && cargo build --release --locked
	cd stacks && PYTHONPATH=aioquic:target/aioquic ../$(BIN)/python aioquic/matrix.py > target/aioquic.seen
	cd stacks && target/release/matrix target/aioquic.seen && echo && target/release/lines && echo && \
		../$(BIN)/python smoltcp/lines.py && for each in quinn-stack noq-stack; do \
		echo && target/release/$$each || exit 1; done

# All Rust tests with overflow checks and debug assertions. Counts of instructions are of the usual build.
checked:
	CARGO_PROFILE_RELEASE_OVERFLOW_CHECKS=true CARGO_PROFILE_RELEASE_DEBUG_ASSERTIONS=true \
		CARGO_TARGET_DIR=target/checked \
		cargo test --release --locked --workspace --exclude tailback-python --no-fail-fast

# A fresh build, apart from the editable one. On Linux it serves systems whose C library is as new as this one's: auditwheel
# says which. The workflow `release` builds in containers, for older systems too.
wheel: $(VENV)/.tools engine-if-possible
	rm -rf dist
	$(BIN)/maturin build --release --locked --out dist $(if $(PGO),--pgo)
	$(BIN)/python tools/description.py dist/*.whl
	@du -h dist/*.whl
	@if [ "$$(uname)" = Linux ]; then $(BIN)/auditwheel show dist/*.whl | sed '/^The wheel references/,$$d'; fi

wheel-test: wheel
	$(PYTHON) tests/wheel/try_wheel.py dist/*.whl

$(VENV)/.release: requirements-release.txt $(VENV)/.tools
	@echo "Installing the tools of requirements-release.txt in $(VENV) ..."
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-release.txt
	touch $@

# What can be known here of other systems: that everything compiles for them, and that Zig links a wheel for Linux on ARM.
# For macOS it lacks Apple's SDK (CoreFoundation). For Windows maturin 1.16 asks it to export PyInit_tailback._core, a name
# that no module has. The workflow `release` builds both on their own systems.
LINKED := aarch64-unknown-linux-gnu
CROSS := x86_64-pc-windows-gnu aarch64-apple-darwin $(LINKED)
cross: $(VENV)/.release
	@rustup target add $(CROSS) || { echo "rustup cannot get $(CROSS): nothing was checked for other systems"; exit 1; }
	cargo check --locked --workspace $(addprefix --target ,$(CROSS))
	rm -rf out/cross
	PATH="$(CURDIR)/$(BIN):$$PATH" maturin build --release --locked --zig --target $(LINKED) --out out/cross
	@du -h out/cross/*.whl

workflows: $(VENV)/.release
	$(BIN)/zizmor --offline --no-progress --persona pedantic .github/workflows
	@if command -v actionlint > /dev/null; then actionlint; \
	elif command -v go > /dev/null && go install github.com/rhysd/actionlint/cmd/actionlint@v1.7.12; \
	then "$$(go env GOPATH)/bin/actionlint"; \
	else echo "actionlint is not here, and Go cannot get it: it was left out"; fi

# BASE: a checkout of another version to compare with, in one run. QUICK=1: one run each instead of five.
bench: build
ifdef BASE
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python benches/compare.py $(BASE)
else
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python benches/run.py
endif

# ROWS: a text that the rows have, to measure only these.
times: build
	$(BIN)/python tools/times.py $(if $(ROWS),"$(ROWS)")

# Connections that open and close beside ns-2.35. ARRIVALS: a folder with more recorded arrivals.
references: build
	$(BIN)/python validation/references.py $(if $(ARRIVALS),--arrivals $(ARRIVALS))
	$(BIN)/python validation/queue_references.py
	$(BIN)/python validation/coloured_references.py
	$(BIN)/python validation/meter_references.py

$(VENV)/.docs: requirements-docs.txt $(VENV)/.tools
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-docs.txt
	touch $@

# The site of all pages, with those that the program makes of itself; no network once its packages are there.
docs: build $(VENV)/.docs engine-if-possible
	$(BIN)/python tools/build_docs.py out/site
	@echo "The site is out/site/index.html."

# A folder that any server serves, or none: the site with the lab in it, and with values to move under the figures.
web: engine docs
	@echo "The lab is out/site/lab.html."

figures: build
	$(BIN)/python tools/figures/transports.py
	$(BIN)/python tools/figures/disciplines.py
	$(BIN)/python tools/figures/calls.py

new: build
	$(BIN)/python tools/new.py "$(KIND)" "$(NAME)"

clean:
	rm -rf $(VENV) target out dist
