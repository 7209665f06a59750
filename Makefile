# Every target makes the virtual environment it needs. PYTHON may name the interpreter.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: demo test test-all test-browser test-lowest lint format check bench-candidates bench-smoke docs clean help

help:
	@echo "make demo      cluster real data under 100 pairs"
	@echo "make test      run the tests, without the slow ones"
	@echo "make test-all  run all tests"
	@echo "make test-browser  run the tests of pages in Chromium"
	@echo "make test-lowest  run the tests with the lowest versions that are allowed"
	@echo "make check     lint, types, layers, then the tests"
	@echo "make format    format the code"
	@echo "make docs      build the guide into build/docs; all its examples are executed"
	@echo "make bench-smoke  the paper's experiments in small, with every figure"

$(STAMP): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --editable . --group test --group lint
	touch $@

demo: $(STAMP)
	$(BIN)/linkwise demo

# Two workers; BLAS and the like on one thread each, so that they do not fight. Each gets
# whole files, and so makes what the tests of a file share only once.
test: $(STAMP)
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist worksteal -m "not slow and not browser"

test-all: $(STAMP)
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist worksteal -m "not browser"

# The page in Chromium. Debian's packages are installed if they can be; a browser that
# cannot be had is an error here, and the tests are not run.
BROWSER_PACKAGES := chromium chromium-driver
$(VENV)/.browser: $(STAMP)
	@command -v chromium >/dev/null && command -v chromedriver >/dev/null || \
		{ apt-get update -qq && apt-get install -y -qq --no-install-recommends $(BROWSER_PACKAGES); } || \
		{ echo "NO BROWSER: install $(BROWSER_PACKAGES) by hand; the page is NOT TESTED."; exit 1; }
	$(BIN)/python -m pip install --quiet --group browser
	touch $@

test-browser: $(VENV)/.browser
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -m browser tests/label/browser \
		tests/plots/test_report_in_browser.py

# Old packages warn of what newer ones, which they use, have deprecated.
LOWEST := build/lowest
test-lowest:
	rm -rf $(LOWEST) && $(PYTHON) -m venv $(LOWEST)
	$(PYTHON) tests/lowest_versions.py > $(LOWEST)/versions.txt
	$(LOWEST)/bin/python -m pip install --quiet --upgrade "pip>=25.1"
	$(LOWEST)/bin/python -m pip install --quiet --editable . --group test \
		--constraint $(LOWEST)/versions.txt
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(LOWEST)/bin/python -m pytest -n 2 --dist worksteal \
		-m "not slow and not browser" -W default::DeprecationWarning

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

check: lint test

# Warnings are errors, and so are links that lead nowhere. No network is needed.
GUIDE := build/docs
$(VENV)/.docs: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --editable . --group docs
	touch $@

docs: $(VENV)/.docs
	rm -rf $(GUIDE) docs/api docs/gallery
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/sphinx-build -q -W --keep-going docs $(GUIDE)
	$(BIN)/python docs/check_links.py $(GUIDE)

bench-candidates: $(STAMP)
	$(BIN)/python benchmarks/candidate_cost.py

# Data sets of scikit-learn only; under three minutes on two cores.
SMOKE := build/bench-smoke
bench-smoke: $(STAMP)
	rm -rf $(SMOKE) && mkdir -p $(SMOKE)
	$(BIN)/linkwise bench run smoke --jobs 2 --store $(SMOKE)/records.sqlite
	$(BIN)/linkwise bench report smoke --store $(SMOKE)/records.sqlite --out $(SMOKE)/report

clean:
	rm -rf $(VENV) build dist .pytest_cache .hypothesis .mypy_cache .ruff_cache
