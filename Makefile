# make demo   build, repeat six experiments of a published study in a short form, and say where the report is
# make test   all tests
# make bench  measure speed
# make docs   pages made from the declarations
# make lint   style
#
# One release build serves tests, demo and the installed package: the same profile, the same target directory.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# The newest of these decides whether the extension has to be built again.
SOURCES := Cargo.toml Cargo.lock pyproject.toml $(shell find crates -name '*.rs' -o -name Cargo.toml)

.PHONY: all demo test test-rust test-python bench docs lint build clean
all: build

$(VENV)/.tools: requirements-dev.txt
	$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or later is needed, this is " + sys.version.split()[0] if sys.version_info < (3, 11) else 0)'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	touch $@

# The package is installed from this directory (editable): its Python is used as it stands, only Rust is built.
$(VENV)/.built: $(VENV)/.tools $(SOURCES)
	VIRTUAL_ENV="$(CURDIR)/$(VENV)" $(BIN)/maturin develop --release --quiet
	touch $@

build: $(VENV)/.built

demo: build
	$(BIN)/tailback reproduce kantawala-2005/fig-2.1,table-2.4,fig-3.3,fig-3.4,fig-3.5,fig-3.8 --quick --out out/demo
	@echo "The report is out/demo/report.html; 'make demo' again takes what is stored."

test: test-rust test-python

test-rust:
	cargo test --release --locked --workspace --exclude tailback-python

test-python: build
	$(BIN)/python -m pytest tests/python

bench: build
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python benches/run.py

# Pages that are made from the program's own declarations.
docs: build
	$(BIN)/tailback describe --markdown > docs/reference.md

lint: $(VENV)/.tools
	$(BIN)/ruff check python tests/python
	cargo fmt --all --check

clean:
	rm -rf $(VENV) target out
