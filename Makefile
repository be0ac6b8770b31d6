# make apply   patched SGLang in build/      make test    all tests
# make lint    style, types, the house       make bench   speed, as ratios against git and unzip
# Nothing here needs root. PYTHON=python3.12 chooses the Python that .venv is made with.
SHELL := /bin/sh
BIN := .venv/bin
export PYTHON ?= python3

.PHONY: apply test lint bench clean
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

# Both stamps are written last, so that a set-up that failed is made anew.
.venv/ready-run: pyproject.toml ci/setup
	ci/setup ready-run .

.venv/ready-dev: pyproject.toml ci/setup
	ci/setup ready-dev '.[dev]'

clean:
	rm -rf .venv build
