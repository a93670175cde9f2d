# The two commands of README: `make demo` and `make test`. Both set up all that they need, and are quick the second time.
PYTHON ?= python3
BIN := .venv/bin
RECVEIL := $(BIN)/recveil
DOCS := PYTHONPATH=docs .venv-docs/bin/python
# make LOCK=1 ...: the versions of requirements.lock, as CI takes them. make lock writes that file anew.
EXTRAS := measure serve sign spark tags
LOCKED := $(if $(LOCK),--constraint requirements.lock)

.PHONY: demo desk serve element test test-extras test-docs check format bench open-benchmark slow doors mutants docs atlas ledger lock install install-dev clean

demo: install
	$(RECVEIL) demo -o demo

# The release desk in a browser, on a sample; choose your own file on its first page.
desk: install
	$(BIN)/uv pip install --quiet --python $(BIN)/python -e '.[measure,serve,sign]'
	$(RECVEIL) desk sample:films

# The click advisor on a generated catalogue.
serve: install
	$(BIN)/uv pip install --quiet --python $(BIN)/python -e '.[serve]'
	$(RECVEIL) advisor serve sample:films

# <click-advisor> with its words in one file; what comes out is kept, and a test says when it is older than its sources.
ESBUILD := 0.28.2
element: install
	npm install --silent --no-save --prefix build/esbuild esbuild@$(ESBUILD)
	node src/recveil/advisor/element/build.mjs $$($(BIN)/python -c "import recveil; print(recveil.__version__)") \
		$(CURDIR)/build/esbuild/node_modules/esbuild/lib/main.js

# make test ROOM=dp: the tests of one room; a room may have none on Spark, or of kernels.
ROOM :=
TESTS := tests$(if $(ROOM),/$(ROOM))
NONE := $(if $(ROOM),|| [ $$? = 5 ])
# What runs on Spark, whose session waits as often as it works, and the kernels without numba run beside the others, in
# one process; their lines come last.
BESIDE := build/test-beside.txt
test: install-dev
	@mkdir -p build
	@{ $(BIN)/pytest -m "spark and not slow" --durations 10 $(TESTS) $(NONE); } >$(BESIDE) 2>&1 && \
		{ NUMBA_DISABLE_JIT=1 $(BIN)/pytest -m "kernel and not slow" \
			-W "ignore:overflow encountered:RuntimeWarning" $(TESTS) $(NONE); } >>$(BESIDE) 2>&1 & beside=$$!; \
	$(BIN)/pytest -n 2 -m "not slow and not spark and not extras" --durations 10 $(TESTS) $(NONE); others=$$?; \
	wait $$beside; there=$$?; cat $(BESIDE); [ $$others = 0 ] && [ $$there = 0 ]

check: install-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: install-dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# Tools of others (mlcroissant, datasets, frictionless) open our bundles, and Firefox the desk: large installs, in an
# environment of their own.
test-extras: .venv/bin/uv
	$(BIN)/uv venv --quiet --allow-existing .venv-extras
	$(BIN)/uv pip install --quiet --python .venv-extras/bin/python -e . --group extras
	.venv-extras/bin/pytest -m extras tests/cli/test_extras.py tests/cli/test_packaging.py tests/evaluation/test_neural.py \
		tests/court/test_court_network.py tests/governance/test_keys.py \
		tests/desk/test_desk_firefox.py tests/whole/test_open_benchmark.py

# Reproductions and oracles that take minutes.
slow: install-dev
	$(BIN)/pytest -m slow

# Every door, position and oddity (tests/doors.py), here and on Spark: it goes on where it stopped.
doors: install-dev
	$(BIN)/python tests/doors_whole.py --report .doors.json

# Small random changes to the code that privacy and truth hang on: which of them do the tests catch?
mutants: install-dev
	PYTHONPATH=tests $(BIN)/python tests/mutate.py --number 200 --seed 20261118 --report .mutants.json

# Speed and memory, as ratios in one run. The other scripts there measure what is learned; each says how to call it.
SPEED := attacks clicks compare dp_streams dp_tags foundation judge mask mbrw metrics noise reading referees shuffle_nnn spark advisor tags
bench: install-dev
	for name in $(SPEED); do echo "== $$name"; $(BIN)/python benchmarks/$$name.py || exit 1; done

# Every light method on every public data set that RECVEIL_DATA has, at most two hours on two cores: it goes on where it
# was interrupted. make open-benchmark KEY=FILE signs the results; MINUTES=60 ends earlier.
open-benchmark: install-dev
	$(BIN)/python benchmarks/open/run.py --minutes $(or $(MINUTES),120) $(if $(KEY),--sign $(KEY))
	PYTHONPATH=docs $(BIN)/python -m making.readme

# The site, into build/docs/html: warnings are errors, every internal link is followed, tutorials and how-to pages are run.
docs: .venv-docs/installed
	$(DOCS) -m making.run_pages & pages=$$!; $(DOCS) -m making.build; built=$$?; wait $$pages && exit $$built

# The built site in a browser, and every notebook.
test-docs: docs install-dev
	$(BIN)/pytest -n 2 --dist loadfile -m extras tests/whole/test_site.py tests/whole/test_examples.py

# Numbers that pages are made of, measured anew on the data sets that RECVEIL_DATA names: minutes, and an hour.
atlas: .venv-docs/installed
	$(DOCS) -m making.measure_atlas
	$(DOCS) -m making.readme
ledger: .venv-docs/installed
	$(DOCS) -m making.keep_claims
	$(DOCS) -m making.readme

# Every version, for all platforms, and no address of an index.
lock: .venv/bin/uv
	$(BIN)/uv pip compile --quiet --universal --upgrade --no-header --no-annotate --no-emit-index-url --no-emit-find-links \
		$(EXTRAS:%=--extra %) --group dev pyproject.toml -o requirements.lock

install: .venv/installed
install-dev: .venv/installed-dev

.venv/bin/uv:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "recveil needs Python 3.11 or newer; set PYTHON=python3.x")'
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet uv

.venv/installed: pyproject.toml | .venv/bin/uv
	$(BIN)/uv pip install --quiet --python $(BIN)/python -e '.[measure]' $(LOCKED)
	touch $@

.venv/installed-dev: pyproject.toml tests/install_browser.sh tests/install_java.sh tests/install_axe.sh | .venv/bin/uv
	$(BIN)/uv pip install --quiet --python $(BIN)/python -e '.[measure,serve,sign,spark,tags]' --group dev $(LOCKED)
	sh tests/install_browser.sh
	sh tests/install_java.sh
	sh tests/install_axe.sh .venv/axe
	touch $@ .venv/installed

.venv-docs/installed: pyproject.toml | .venv/bin/uv
	$(BIN)/uv venv --quiet --allow-existing .venv-docs
	$(BIN)/uv pip install --quiet --python .venv-docs/bin/python -e . --group docs $(LOCKED)
	touch $@

clean:
	rm -rf .venv .venv-extras .venv-docs build demo .pytest_cache .mypy_cache .ruff_cache .benchmarks
