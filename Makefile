# make apply   patched SGLang in build/      make test    all tests
# make lint    style, types, the house       make bench   speed, as ratios against git and unzip
# make emulated   the test matrix on the pin
# The emulated tests need torch (CPU, 1.5 GB in .venv) and Python 3.10 or 3.11. TORCH chooses the torch, TORCH_INDEX the index
# that is asked for it first (empty for none); EMULATED=no leaves torch and those tests out.
# Nothing here needs root. PYTHON=python3.11 chooses the Python that .venv is made with.
SHELL := /bin/sh
BIN := .venv/bin
export PYTHON ?= python3
EMULATED ?= yes
TORCH ?= torch==2.13.0
# PyPI's torch for Linux brings CUDA packages of several GB.
TORCH_INDEX ?= https://download.pytorch.org/whl/cpu

.PHONY: apply test lint bench emulated clean
.DELETE_ON_ERROR:

apply: .venv/ready-run
	$(BIN)/patchtool apply

test: .venv/ready-dev $(if $(filter yes,$(EMULATED)),.venv/ready-emulated)
	$(BIN)/python -m pytest -n auto $(TESTS)

lint: .venv/ready-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python ci/schemas.py --check
	$(BIN)/patchtool check

bench: .venv/ready-dev
	$(BIN)/python ci/bench.py

emulated: .venv/ready-emulated
	$(BIN)/python -m pytest tests/matrix
	$(BIN)/patchtool test

# All stamps are written last, so that a set-up that failed is made anew.
.venv/ready-run: pyproject.toml ci/setup
	ci/setup ready-run .

.venv/ready-dev: pyproject.toml ci/setup
	ci/setup ready-dev '.[dev]'

.venv/ready-emulated: ci/emulated.py .venv/ready-dev
	$(BIN)/python ci/emulated.py '$(TORCH)' '$(TORCH_INDEX)'
	touch $@

clean:
	rm -rf .venv build
