# make apply       write the patched SGLang to build/
# make test        run all tests
# make test-fast   run the tests that are neither slow nor emulated, without downloads; under two minutes on two cores
# make lint        check style, types, import contracts, JSON schemas and patches
# make bench       measure speed, as ratios to git and unzip, and for a long series to git am, git rebase, quilt and wiggle
# make crash       kill and fail every verb that writes at every change of a file; hours, of which CI runs a sample
#                  and `make crash SHARE=3/8` an eighth
# make fuzz        judge 10,000 random mutants of the patches' targets, and give every reader mutated input, 100,000 in
#                  all; some hours on one core
# make carry       carry series of Debian's patches to newer upstreams, beside git am -3; fetches some 200 MB
# make emulated    run the test matrix on the pinned release; `make test TESTS="tests/emulation tests/matrix"` tests the tool itself
#
# No target needs root. Variables:
#   PYTHON=python3.11   the interpreter that creates .venv
#   TESTS=tests/domain  what `make test` and `make test-fast` pass to pytest
#   EMULATED=no         skip the emulated tests; they need torch (CPU build, 1.5 GB in .venv) and Python 3.10 or 3.11
#   MUTANTS=10000 SEED=1   how many mutants `make fuzz` judges, and which
#   SHARE=1/1 JOBS=2       which share of the faults `make crash` runs, in how many processes; shares add up
#   INPUTS=100000          how many inputs `make fuzz` gives to readers
#   TORCH, TORCH_INDEX  the torch requirement, and the package index to try first (empty for none)
SHELL := /bin/sh
BIN := .venv/bin
export PYTHON ?= python3
EMULATED ?= yes
MUTANTS ?= 10000
SEED ?= 1
INPUTS ?= 100000
SHARE ?= 1/1
JOBS ?= 2
TORCH ?= torch==2.13.0
# PyPI's torch for Linux depends on CUDA packages of several GB.
TORCH_INDEX ?= https://download.pytorch.org/whl/cpu

.PHONY: apply test test-fast lint bench carry crash fuzz emulated clean
.DELETE_ON_ERROR:

apply: .venv/ready-run
	$(BIN)/patchtool apply
	@echo "the command is $(BIN)/patchtool; $(BIN)/patchtool --install-completion completes its names"

test: .venv/ready-dev $(if $(filter yes,$(EMULATED)),.venv/ready-emulated)
	$(BIN)/python -m pytest -n auto $(TESTS)

test-fast: .venv/ready-dev
	PATCHTOOL_TEST_OFFLINE=1 $(BIN)/python -m pytest -n auto -m "not slow and not emulated" $(TESTS)

lint: .venv/ready-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python ci/schemas.py --check
	$(BIN)/patchtool check

bench: .venv/ready-dev
	$(BIN)/python ci/bench.py
	$(BIN)/python ci/bench_carry.py

carry: .venv/ready-dev
	$(BIN)/python ci/carry.py

fuzz: .venv/ready-emulated
	PATCHTOOL_FUZZ_MUTANTS=$(MUTANTS) PATCHTOOL_FUZZ_SEED=$(SEED) PATCHTOOL_FUZZ_READERS=$(INPUTS) $(BIN)/python -m pytest tests/fuzz

crash: .venv/ready-dev
	$(BIN)/python -m tests.faults.test_faults $(SHARE) $(JOBS)

emulated: .venv/ready-emulated
	$(BIN)/patchtool test

# A stamp is written last, so that a failed set-up runs again.
.venv/ready-run: pyproject.toml ci/setup
	ci/setup ready-run .

.venv/ready-dev: pyproject.toml ci/setup
	ci/setup ready-dev '.[dev]'

.venv/ready-emulated: ci/emulated.py .venv/ready-dev
	$(BIN)/python ci/emulated.py '$(TORCH)' '$(TORCH_INDEX)'
	touch $@

clean:
	rm -rf .venv build
