# make apply   patched SGLang in build/      make test    all tests
# make lint    style, types, the house       make bench   speed, as ratios against git and unzip
# make emulated   the test matrix on the pin, with torch on the CPU (1.5 GB); TORCH chooses the torch, TORCH_INDEX an index
# Nothing here needs root. PYTHON=python3.12 chooses the Python that .venv is made with.
SHELL := /bin/sh
BIN := .venv/bin
export PYTHON ?= python3
TORCH ?= torch>=2.8
TORCH_INDEX ?=

.PHONY: apply test lint bench emulated clean
.DELETE_ON_ERROR:

apply: .venv/ready-run
	$(BIN)/patchtool apply

test: .venv/ready-dev
	$(BIN)/python -m pytest -n auto $(TESTS)

lint: .venv/ready-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
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

# PyPI's torch brings CUDA packages on Linux: with PyTorch's index for CPUs as TORCH_INDEX it does not.
.venv/ready-emulated: .venv/ready-dev
	PIP_EXTRA_INDEX_URL="$(TORCH_INDEX)" ci/setup ready-emulated '$(TORCH)' '.[dev,emulated]'
	$(BIN)/python -m pip install --quiet --no-deps xgrammar

clean:
	rm -rf .venv build
