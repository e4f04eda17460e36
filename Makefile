# Targets for people; `make help` lists them. Everything runs in .venv, which is made from
# requirements.lock when it is missing or older than the lock.

SHELL := /bin/sh
.DEFAULT_GOAL := help
.PHONY: help results report test pythons faults fuzz lint format docs environment slurm slurmrun lock clean

VENV := .venv
ifneq ($(words $(CURDIR)),1)  # Snakemake cannot start a Python whose path has a space
VENV := $(HOME)/.cache/clqa/venv-$(shell pwd | cksum | cut -d ' ' -f 1)
endif
PYTHON := $(VENV)/bin/python
STAMP := $(VENV)/requirements.stamp
# Plugins for clusters ask for a cluster each time that Snakemake starts: not in the first one.
CLUSTER_VENV := $(VENV)-slurm
CLUSTER_STAMP := $(CLUSTER_VENV)/requirements.stamp
CORES ?= all
WORKERS ?= 3
MINUTES ?= 10
ARGS ?=

# Nothing from outside may leak into the environment. Bytecode is kept: a run is many short jobs.
unexport PYTHONPATH PYTHONHOME PYTHONDONTWRITEBYTECODE VIRTUAL_ENV CONDA_PREFIX
export PYTHONNOUSERSITE := 1
export MPLBACKEND := Agg

help: ## List the targets
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' Makefile | expand -t 14

results: $(STAMP) ## Run the workflow to results/runs/default/report.html (ARGS=... goes to snakemake)
	@$(PYTHON) -m snakemake --cores $(CORES) $(ARGS)

report: $(STAMP) ## Write report.html, Snakemake's own page about the run's jobs and results
	@$(PYTHON) -m snakemake --report report.html $(ARGS)

test: $(STAMP) ## Run the test suite (ARGS=... goes to pytest)
	@$(PYTHON) -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder $(ARGS)

faults: $(STAMP) ## Run the whole fault campaign and write docs/faults.md
	@PYTHONPATH=scripts:tests $(PYTHON) tests/fault_table.py

fuzz: $(STAMP) ## Read changed files with every parser for MINUTES=10 (ARGS=... goes to fuzz.py)
	@$(PYTHON) tests/fuzz.py --minutes $(MINUTES) $(ARGS)
	@CLQA_FUZZ=$(MINUTES) $(PYTHON) -m pytest -n $(WORKERS) tests/test_fuzz.py

pythons: ## Run the test suite under each Python from 3.11 to 3.13 that there is
	@for version in 3.11 3.12 3.13; do \
	  python$$version -c '' 2>/dev/null || { echo "no python$$version: skipped"; continue; }; \
	  python$$version -m venv build/venv-$$version \
	    && $(MAKE) --no-print-directory test VENV=build/venv-$$version || exit 1; \
	done

lint: $(STAMP) ## Check formatting and style
	@$(PYTHON) -m ruff format --check .
	@$(PYTHON) -m ruff check .
	@$(VENV)/bin/snakefmt --check Snakefile workflow
	@$(PYTHON) -m snakemake --lint

format: $(STAMP) ## Format the code
	@$(PYTHON) -m ruff format .
	@$(PYTHON) -m ruff check --fix .
	@$(VENV)/bin/snakefmt Snakefile workflow

docs: $(STAMP) ## Write the tables of keys, of metrics (docs/metrics.md) and of modules (docs/library.md)
	@$(PYTHON) scripts/document_config.py
	@$(PYTHON) scripts/document_metrics.py
	@$(PYTHON) scripts/document_library.py

environment: $(STAMP) ## Make .venv, or bring it up to date with requirements.lock

slurm: $(CLUSTER_STAMP) ## Make .venv-slurm, which has Snakemake with plugins for clusters

SITE := --slurm-status-command squeue --slurm-no-account --slurm-init-seconds-before-status-checks 5
slurmrun: $(STAMP) $(CLUSTER_STAMP) ## Compare the default run with one through a Slurm of this machine
	@$(PYTHON) -m snakemake --cores $(CORES) $(ARGS)
	@mkdir -p build/slurm
	@$(PYTHON) tests/private_slurm.py $(CLUSTER_VENV)/bin/python -m snakemake --cores 2 \
	  --workflow-profile slurm --directory build/slurm --configfile config/config.yaml $(SITE) $(ARGS)
	diff -r results/runs/default build/slurm/results/runs/default

FIND_PYTHON = \
  for python in python3 python3.14 python3.13 python3.12 python3.11 python; do \
    "$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || continue; \
    command -v "$$python"; exit; \
  done; \
  echo "error: no Python 3.11 or newer on PATH; found $$(python3 --version 2>&1)" >&2; exit 1

# uv takes seconds where pip takes half a minute; where it cannot be had, pip does the same work.
$(STAMP): requirements.lock requirements-uv.lock
	@echo "Making the environment in $(VENV) from requirements.lock"
	@$(PYTHON) -m pip --version >/dev/null 2>&1 || { \
	  python=$$($(FIND_PYTHON)) || exit 1; \
	  "$$python" -m venv --clear $(VENV) || { \
	    echo "error: $$python cannot make $(VENV); Debian has venv in python3-venv" >&2; exit 1; }; }
	@$(PYTHON) -m pip install --quiet --require-hashes --requirement requirements-uv.lock \
	  && $(PYTHON) -m uv pip sync --quiet --python $(PYTHON) --require-hashes requirements.lock \
	  || $(PYTHON) -m pip install --quiet --require-hashes --requirement requirements.lock
	@touch $(STAMP)

$(CLUSTER_STAMP): $(STAMP) requirements-slurm.lock
	@$(PYTHON) -m venv --clear $(CLUSTER_VENV)
	@$(PYTHON) -m uv pip sync --quiet --python $(CLUSTER_VENV)/bin/python --require-hashes \
	  requirements-slurm.lock \
	  || $(CLUSTER_VENV)/bin/python -m pip install --quiet --require-hashes \
	    --requirement requirements-slurm.lock
	@touch $(CLUSTER_STAMP)

COMPILE = $(PYTHON) -m uv pip compile --quiet --universal --generate-hashes --fork-strategy fewest \
  --python-version 3.11 --custom-compile-command "make lock"

lock: $(STAMP) ## Pin the newest versions that pyproject.toml allows
	@$(PYTHON) -m pip install --quiet --require-hashes --requirement requirements-uv.lock
	$(COMPILE) --upgrade --extra test pyproject.toml --output-file requirements.lock
	$(COMPILE) --upgrade --extra slurm --constraints requirements.lock pyproject.toml \
	  --output-file requirements-slurm.lock
	echo uv | $(COMPILE) --upgrade - --output-file requirements-uv.lock
	@for lock in requirements requirements-slurm; do for python in 3.11 3.12 3.13; do \
	  for machine in x86_64 aarch64; do \
	    $(PYTHON) -m uv pip install --quiet --dry-run --require-hashes --requirement $$lock.lock \
	      --python-version $$python --python-platform $$machine-unknown-linux-gnu --target build/none \
	      --only-binary :all: --no-binary connection-pool || exit 1; \
	done; done; done

clean: ## Remove results, caches and the environment
	rm -rf $(VENV) $(CLUSTER_VENV) build .snakemake .pytest_cache .ruff_cache .hypothesis
	find results -mindepth 1 ! -name README.md -delete
