# `make app` and `make test` work on a fresh checkout: they create .venv and install what is
# pinned, and install again only when a requirements file changed.

.DEFAULT_GOAL := help
# An environment whose creation failed half-way must not pass for a finished one.
.DELETE_ON_ERROR:
.PHONY: app model test lint bench clean help

# Set PYTHON to choose one: make app PYTHON=/path/to/python3.12
PYTHON ?=
CANDIDATES := $(if $(PYTHON),$(PYTHON),python3.13 python3.12 python3.11 python3)
# Options handed on to the tool behind a target, e.g. ARGS="--server.port 8600" or ARGS="-k scores"
ARGS ?=

VENV := .venv
RUN := $(VENV)/bin/python
INSTALL := $(RUN) -m pip install --disable-pip-version-check
# Empty files whose date says when the requirements were last installed.
APP := $(VENV)/.installed-app
DEV := $(VENV)/.installed-dev
BENCH_REQUIREMENTS := $(wildcard tools/bench/requirements.txt)

app: $(APP) ## start Ripple on this computer and print its address
	@exec $(RUN) -m streamlit run app.py $(ARGS)

model: $(APP) ## fetch SmolLM2, a small real language model (98 MB)
	@$(RUN) -m tools.fetch_smollm2

test: $(DEV) ## run every test (browser tests skip without Chromium, unless CI=true)
	@$(RUN) -m pytest -n auto --dist loadfile $(ARGS)

lint: $(DEV) ## check style and formatting
	@$(RUN) -m ruff check .
	@$(RUN) -m ruff format --check .

bench: $(APP) ## measure speed and memory
	@$(if $(BENCH_REQUIREMENTS),$(INSTALL) -q -r $(BENCH_REQUIREMENTS))
	@$(RUN) -m tools.bench $(ARGS)

clean: ## remove caches and test leftovers (.venv stays: it may be hard to get back offline)
	@rm -rf .pytest_cache .ruff_cache .hypothesis
	@find . -path ./$(VENV) -prune -o -type d -name __pycache__ -exec rm -rf {} +

help: ## show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "make %-7s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(APP): requirements.txt | $(RUN)
	$(INSTALL) -r $<
	@touch $@

$(DEV): requirements-dev.txt $(APP)
	$(INSTALL) -r $<
	@touch $@

# A candidate counts only if it really runs (version managers leave stubs behind) and can make
# an environment with pip in it (some distributions split that off).
$(RUN):
	@for python in $(CANDIDATES); do \
	    if "$$python" -c 'import ensurepip, sys, venv; \
	sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null; then \
	        echo "Creating $(VENV) with $$python"; exec "$$python" -m venv $(VENV); \
	    fi; \
	done; \
	echo "Ripple needs Python 3.11, 3.12 or 3.13 with its venv module; none of these is one:" \
	    "$(CANDIDATES)." >&2; \
	echo "Install one (on Debian or Ubuntu also python3-venv) or name it:" \
	    "make $(or $(firstword $(MAKECMDGOALS)),app) PYTHON=/path/to/python3" >&2; \
	exit 1
