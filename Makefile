# Every command of the project. `make help` lists the targets; each does its own set-up first.
PYTHON ?= python3
ADDRESS ?= 127.0.0.1:8000
RUN ?= runs/mine
ARGS ?=

VENV := .venv
PY := $(VENV)/bin/python
SITE := $(VENV)/site.stamp
TEST := $(VENV)/test.stamp
NPM := site_assets/node_modules/.package-lock.json
WANTED := Python 3.11 or newer is needed: install it, or name one you have: make PYTHON=/path/to/python3

# Material for MkDocs announces at every start that MkDocs 2 will differ; pyproject.toml pins MkDocs 1.
export NO_MKDOCS_2_WARNING := 1

.PHONY: help serve build test lint bench train clean
.DELETE_ON_ERROR:

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## /make \1	/p' Makefile

serve: $(SITE) $(NPM) ## build the site and show it at http://ADDRESS/ (127.0.0.1:8000), following your edits
	exec $(PY) -m mkdocs serve --livereload --dev-addr "$(ADDRESS)"

build: $(SITE) $(NPM) ## build the site into site/; any warning stops it
	$(PY) -m mkdocs build --strict

test: $(TEST) $(NPM) lint ## check style and types, then run all tests (ARGS="-k word" picks some)
	$(PY) tests/browser_setup.py
	$(PY) -m pytest $(ARGS)

lint: $(TEST) ## check style and types only
	$(PY) -m ruff check . && $(PY) -m ruff format --check . && $(PY) -m mypy

bench: $(TEST) $(NPM) ## time the live map of chapter 8 against Python (ARGS=--help lists settings)
	PYTHONPATH=tests $(PY) tests/browser/bench_map.py $(ARGS)

train: $(SITE) ## train a model in RUN (runs/mine); ARGS=--resume goes on after a stop
	$(PY) -m tiny_gpt.train --run "$(RUN)" $(ARGS)

clean: ## delete all that these targets made, except runs/
	rm -rf $(VENV) site site_assets/node_modules site_assets/generated build *.egg-info .cache .*_cache .hypothesis

# Set-up. A step runs again when the file it depends on changes, and continues after an interruption.
# A .venv whose Python is gone is made anew, so its stamps must go before make looks at them.
$(shell test -x $(PY) || rm -f $(SITE) $(TEST))

$(PY):
	@command -v "$(PYTHON)" >/dev/null && "$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo '$(WANTED)' >&2; exit 1; }
	@"$(PYTHON)" -c 'import ensurepip, venv' 2>/dev/null || { echo 'This Python cannot make virtual environments: install its venv package (on Debian and Ubuntu: apt install python3-venv).' >&2; exit 1; }
	"$(PYTHON)" -m venv --clear --without-pip $(VENV)

$(SITE): pyproject.toml $(PY)
	$(PY) -m ensurepip --upgrade >/dev/null
	$(PY) -m pip install --disable-pip-version-check --editable ".[site]" && touch $@

$(TEST): $(SITE)
	$(PY) -m pip install --disable-pip-version-check --editable ".[site,test]" && touch $@

$(NPM): site_assets/package.json site_assets/package-lock.json site_assets/.npmrc | $(SITE)
	PATH="$(CURDIR)/$(VENV)/bin:$$PATH" npm --prefix site_assets ci --ignore-scripts --no-audit --no-fund && touch $@
