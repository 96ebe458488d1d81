# The command book: `make` lists it. Nothing needs to be prepared but Python 3.11 or newer, make and git.

PYTHON ?= python3
VENV ?= .venv
TENSORFLOW ?= .venv-tensorflow
RAY ?= .venv-ray
SERVERS ?= .venv-servers
TRANSFORMERS ?= .venv-transformers
BIN := $(VENV)/bin
NODE := dashboard/node_modules/.ready
DEMO ?= demo
INSTALL := $(BIN)/python scripts/install.py
PYTEST := $(BIN)/python -m pytest
WORKERS ?= $(shell $(PYTHON) -c "import os; print((os.cpu_count() or 1) + 2)")  # two more: many tests wait for children
# Rules of the house that a new verb, reader or module breaks first.
HOUSE := cli/test_cli_flags.py system/test_system_locks.py stats/test_stats_imports.py \
  readers/test_readers_fuzz.py::test_every_importer_is_in_the_table \
  readers/test_readers_fuzz.py::test_every_module_that_parses_is_in_the_table \
  worker/test_main.py::test_the_packed_worker_holds_what_it_imports_and_the_same_bytes_every_time \
  execution/outposts/test_outposts_archive.py
# What `make check` tests: what is computed, not what is started. Models, containers, browsers and servers take longer.
QUICK := $(addprefix tests/,analysis exchange/test_*.py machine/environment pages/test_*.py records report \
  schema targets units worker/engine worker/tasks test_config.py test_decorator.py test_errors.py test_house.py \
  test_layers.py test_plugins.py test_project.py $(HOUSE))
# Images of containers like to set it, and then each of some thousand processes compiles every library anew.
unexport PYTHONDONTWRITEBYTECODE
export BENCHWRIGHT_TENSORFLOW_PYTHON ?= $(abspath $(TENSORFLOW))/bin/python
export BENCHWRIGHT_RAY_PYTHON ?= $(abspath $(RAY))/bin/python
export BENCHWRIGHT_SERVERS_PYTHON ?= $(abspath $(SERVERS))/bin/python
export BENCHWRIGHT_TRANSFORMERS_PYTHON ?= $(abspath $(TRANSFORMERS))/bin/python

.DEFAULT_GOAL := help
.PHONY: help demo check test soak test-pages test-pythons test-adbd lint bench dashboard types docs pictures schema clean

help:  ## List these commands.
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 12 | sed 's/^/  make /'

demo: $(VENV)/.demo  ## Build a small model, measure it, show a table, write an HTML report.
	@mkdir -p $(DEMO)
	@$(BIN)/python examples/make_model.py tiny $(DEMO)/model.onnx
	$(BIN)/benchwright run $(DEMO)/model.onnx --runtime onnxruntime --batch-size 1,8,32 --report $(DEMO)/report.html
	@echo "Open $(DEMO)/report.html in a browser. Next: docs/quickstart.md"

check: lint  ## What to run before a commit: lint, and the tests that start next to nothing.
	@$(PYTEST) -n $(WORKERS) --dist worksteal -m "not serial and not soak" $(QUICK) --ignore tests/report/test_browser.py

test: | $(BIN)/python  ## Check everything: lint, parallel tests, those that measure, the store on PostgreSQL.
	@$(MAKE) --no-print-directory --jobs 6 --output-sync=target \
	  dashboard $(VENV)/.collected $(VENV)/.test $(TENSORFLOW)/.ready $(SERVERS)/.ready $(VENV)/.programs
	@$(BIN)/python -m compileall -q src  # tests start Python some thousand times
	@$(BIN)/python scripts/run_tests.py $(WORKERS)

soak: $(VENV)/.test $(TENSORFLOW)/.ready $(RAY)/.ready $(SERVERS)/.ready $(TRANSFORMERS)/.ready $(VENV)/.programs  ## The long hunts: thousands of mutations, kills at many instants. For a release.
	@$(PYTEST) -n $(WORKERS) --dist worksteal --timeout 1800 -m soak
	@BENCHWRIGHT_TEST_TIMES=10 $(PYTEST) -n $(WORKERS) --dist worksteal --timeout 1800 $$(grep -rl --include "test_*.py" "from hunting import" tests)

test-pages: $(NODE)  ## Unit tests of the dashboard's TypeScript, in seconds; make test runs them too.
	@npm --prefix dashboard run --silent test

test-pythons:  ## The core, and what is computed, on every supported Python that is found on this machine.
	@$(PYTHON) scripts/test_pythons.py

test-adbd: $(VENV)/.test  ## The device tests against a real adbd, which is built first. Needs root and apt.
	@scripts/adbd build/adbd
	@unshare -n sh -c 'ip link set lo up; BENCHWRIGHT_ADBD=$(abspath build/adbd/adbd) \
	  exec $(PYTEST) -n 0 tests/machine/devices/test_devices_adb.py tests/execution/hosts/test_hosts_adb.py \
	  tests/execution/hosts/test_hosts_phones.py'

lint: $(VENV)/.test $(NODE)  ## Formatting, lint, types, layers.
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check --quiet . || { echo "run: $(BIN)/ruff format ."; exit 1; }
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo --no-cache
	@node scripts/lint_workflows.mjs .github/workflows/*.yml examples/ci/github.yml
	@$(BIN)/zizmor --offline --no-progress --quiet .
	@$(BIN)/shellcheck --severity warning scripts/ci/* scripts/need scripts/podman scripts/make-venv .ci/run
	@npm --prefix dashboard run --silent lint || { echo "formatting alone: npm --prefix dashboard run format"; exit 1; }

bench: $(VENV)/.bench  ## Compare with peers: cost per call, memory, punctuality, start-up, store.
	@status=0; for script in benchmarks/[a-z]*.py; do \
	  echo; echo "== $$script"; $(BIN)/python $$script || status=1; \
	done; exit $$status

dashboard: $(NODE)  ## Build the dashboard's pages; needs Node, which users of a released package do not.
	@$(PYTHON) dashboard/build.py

types: $(VENV)/.core  ## Write the dashboard's types anew from pages/shapes.py.
	@$(BIN)/python dashboard/generate.py

docs: $(VENV)/.docs schema  ## Build the documentation into site/.
	@$(BIN)/zensical build --clean --strict
	@$(BIN)/python scripts/check_site.py site

pictures: $(VENV)/.test $(VENV)/.programs dashboard  ## Make the documentation's pictures anew; look at them before you commit.
	@$(BIN)/python tests/support/doc_pictures.py docs/pictures

schema: $(VENV)/.core  ## Write what is generated: JSON Schema and the command line's reference.
	@$(BIN)/python -c "from pathlib import Path; from benchwright.schema.json_schema import write_all; write_all(Path('docs/schema'))"
	@$(BIN)/python -c "from pathlib import Path; from benchwright.targets.specs.form import write; write(Path('docs/schema'))"
	@$(BIN)/python docs/generate_cli.py

clean:  ## Remove what these commands made, the environment included.
	rm -rf $(VENV) $(TENSORFLOW) $(RAY) $(SERVERS) $(TRANSFORMERS) $(DEMO) site build dist dashboard/node_modules src/benchwright/pages/dashboard/bundle .benchwright .mypy_cache .ruff_cache .pytest_cache .hypothesis .benchmarks

# ---- the environment: one stamp for each extra, made anew when pyproject.toml changes ----

$(BIN)/python:
	@scripts/make-venv $(PYTHON) $(VENV)

$(VENV)/.core: pyproject.toml | $(BIN)/python
	@echo "installing benchwright"
	@$(INSTALL) -e .
	@touch $@

$(VENV)/.bench: pyproject.toml | $(BIN)/python
	@echo "installing benchwright[bench]"
	@# torch by itself first: what optimum-benchmark asks for must not choose another build of it
	@{ $(INSTALL) torch==2.13.0 && $(INSTALL) -e '.[bench]'; } || $(BIN)/python scripts/install_each.py bench
	@touch $@

$(VENV)/.test: pyproject.toml | $(BIN)/python
	@echo "installing benchwright[test]"
	@$(INSTALL) -e '.[test]'
	@$(INSTALL) --no-deps basic-pitch==0.4.0  # for the models in it; what it imports itself is not needed
	@touch $@

$(VENV)/.%: pyproject.toml | $(BIN)/python
	@echo "installing benchwright[$*]"
	@$(INSTALL) -e '.[$*]'
	@touch $@

# Compiled once, and not by each worker at the same time.
$(VENV)/.collected: $(VENV)/.test
	@$(PYTEST) --collect-only -q >/dev/null 2>&1 || true
	@touch $@

# Programs of the system that tests need; never a file, so they are looked for each time.
$(VENV)/.programs:
	@scripts/need chromium-headless-shell chromium-headless-shell 2>/dev/null || scripts/need chromium chromium
	@PATH="$$PATH:/usr/sbin" scripts/need sshd openssh-server
	@PATH="$$PATH:/usr/sbin" scripts/need slurmctld slurm-wlm || true  # its tests say why they are skipped
	@PATH="$$PATH:/usr/sbin" scripts/need munged munge || true
	@scripts/need podman podman || true  # its tests say why they are skipped
	@scripts/need crun crun || true
	@# Who may install them has them, so that no test of completion is skipped unseen.
	@scripts/need zsh zsh || [ "$$(id -u)" -ne 0 ]
	@scripts/need fish fish || [ "$$(id -u)" -ne 0 ]

# Linter, formatter and test runner too, which a build alone (dashboard/build.py) does not fetch. It asks npm's own record
# whether what it needs is there: npm leaves that as it was when nothing was missing.
$(NODE): dashboard/package.json dashboard/package-lock.json
	@scripts/need npm npm
	@echo "installing the dashboard's packages"
	@npm --prefix dashboard install --no-save --no-audit --no-fund --loglevel error >/dev/null
	@touch dashboard/node_modules/.package-lock.json $@

# TensorFlow apart from the rest: it is large, and it decides which numpy and protobuf there are.
$(TENSORFLOW)/.ready: pyproject.toml
	@echo "installing benchwright[tensorflow] into $(TENSORFLOW)"
	@test -x $(TENSORFLOW)/bin/python || scripts/make-venv $(PYTHON) $(TENSORFLOW)
	@$(TENSORFLOW)/bin/python scripts/install.py -e '.[tensorflow]'
	@touch $@

# For the tests of a Ray cluster, whose nodes need nothing of ours.
$(RAY)/.ready: pyproject.toml
	@echo "installing ray into $(RAY)"
	@test -x $(RAY)/bin/python || scripts/make-venv $(PYTHON) $(RAY)
	@$(RAY)/bin/python scripts/install.py ray==2.60.0
	@touch $@

# Servers of models that tests measure. MLServer holds FastAPI and protobuf back, so they live apart from the rest. What
# they import is compiled here, once, and not while a test waits for them.
$(SERVERS)/.ready: Makefile
	@echo "installing servers of models into $(SERVERS)"
	@test -x $(SERVERS)/bin/python || scripts/make-venv $(PYTHON) $(SERVERS)
	@$(SERVERS)/bin/python scripts/install.py mlserver==1.7.1 litserve==0.2.19 xllamacpp==2026.10.11549 gguf==0.19.0 tokenizers==0.23.3
	@$(SERVERS)/bin/python -c "import mlserver.cli, litserve, xllamacpp, gguf, tokenizers"
	@touch $@

# For the long tests alone: a gigabyte, and slow to start.
$(TRANSFORMERS)/.ready: Makefile
	@echo "installing transformers into $(TRANSFORMERS)"
	@test -x $(TRANSFORMERS)/bin/python || scripts/make-venv $(PYTHON) $(TRANSFORMERS)
	@$(TRANSFORMERS)/bin/python scripts/install.py torch==2.13.0 'transformers[serving]==5.22.2'
	@touch $@
