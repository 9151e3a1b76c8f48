# Two commands are all a newcomer needs: `make demo` and `make test`. Needs python3 >= 3.11, pip, git and make.
.DEFAULT_GOAL := help
SHELL := /bin/bash

# uv from the PATH, or our own copy in .tools (works where the system Python refuses `pip install`, PEP 668).
UV := $(or $(shell command -v uv 2>/dev/null),.tools/bin/uv)
export UV_SYSTEM_CERTS ?= true
export PYTHONPATH :=
RUN := .venv/bin/
STAMP := .venv/.installed

.PHONY: help install format check test browser images bench phoenix demo clean

help: ## this list
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

.tools/bin/uv:
	python3 -m pip install --quiet --disable-pip-version-check --target .tools uv

$(STAMP): pyproject.toml uv.lock $(filter .tools/bin/uv,$(UV))
	$(UV) sync --locked --all-extras
	@touch $@

install: $(STAMP) ## everything into .venv

format: $(STAMP) ## rewrite the sources in the house format
	$(RUN)ruff format .
	$(RUN)ruff check --fix-only --quiet .

check: $(STAMP) ## lint, types, import contracts, layout
	$(RUN)ruff check .
	$(RUN)ruff format --check .
	$(RUN)mypy
	$(RUN)lint-imports
	$(RUN)python -m pytest -q tests/layout

# Every worker has its own servers. Much of the suite waits for them, so two suit two cores, each with one or two stacks.
WORKERS ?= 2

test: $(STAMP) browser ## the whole suite, on a real Kafka broker and a real ClickHouse server
	$(RUN)python -m pytest -n $(WORKERS) --dist loadfile

# Debian's own package, if it is missing and we may install one. Without it the browser tests are skipped, and say so.
CHROMIUM := $(shell command -v chromium 2>/dev/null || command -v chromium-browser 2>/dev/null)
SUDO := $(shell [ "$$(id -u)" = 0 ] || echo sudo -n)
browser: ## Chromium for the console's tests in a browser
ifeq ($(CHROMIUM),)
	-@command -v apt-get >/dev/null && $(SUDO) true 2>/dev/null && $(SUDO) apt-get update -qq \
	  && $(SUDO) env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium >/dev/null \
	  || echo "no Chromium here: the tests in a browser are skipped; install the package chromium to run them" >&2
endif

images: $(STAMP) browser ## the README's screenshots, made by the console's tests
	TACHOGRAPH_IMAGES=docs/images $(RUN)python -m pytest -q tests/console/web/test_browser.py

BENCH_STAMP := .venv-bench/.installed
$(BENCH_STAMP): pyproject.toml uv.lock $(filter .tools/bin/uv,$(UV))
	UV_PROJECT_ENVIRONMENT=.venv-bench $(UV) sync --locked --all-extras --group bench
	@touch $@

# A peer that export sends to. It wants versions that our own tests do not, so it has an environment to itself.
PHOENIX_STAMP := .venv-phoenix/.installed
$(PHOENIX_STAMP): pyproject.toml uv.lock $(filter .tools/bin/uv,$(UV))
	UV_PROJECT_ENVIRONMENT=.venv-phoenix $(UV) sync --locked --only-group phoenix
	@touch $@

phoenix: $(PHOENIX_STAMP) ## Arize Phoenix (600 MB), which `make bench` then sends to

bench: $(BENCH_STAMP) ## ratios against a reference measured in the same run
	.venv-bench/bin/python -m benchmarks $(ARGS)

demo: $(STAMP) ## start everything, run a scripted agent, show what landed
	$(RUN)tachograph demo $(ARGS)

clean: ## remove what the commands above made
	rm -rf .venv .venv-bench .venv-phoenix .tools .tachograph dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
