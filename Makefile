# Two commands do all the set-up: `make demo` and `make test`. Python 3.11 or newer is all they need.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
LIBRARY := $(VENV)/.library
READY := $(VENV)/.ready

.PHONY: demo test lint types layers tests docs bench clean

demo: $(LIBRARY)
	$(BIN)/enstruct demo

test: lint types layers docs tests

lint: $(READY)
	$(BIN)/ruff format --check src tests bench examples conftest.py
	$(BIN)/ruff check src tests bench examples conftest.py

types: $(READY)
	$(BIN)/mypy

layers: $(READY)
	$(BIN)/lint-imports

tests: $(READY)
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2

docs: $(READY)
	$(BIN)/sphinx-build -W -q -b html docs docs/_build/html

# ten to twenty minutes on an idle machine; a peer that is not installed is named as such (`pip install --group peers`)
bench: $(READY)
	$(BIN)/enstruct-bench costs --measure

# torch is pinned and comes first: a plain `torch` would bring several GB of CUDA packages
$(LIBRARY): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet torch==2.13.0
	$(BIN)/python -m pip install --quiet --editable '.[plots]'
	touch $(LIBRARY)

# what the tests and the laboratory need besides
$(READY): $(LIBRARY) bench/pyproject.toml
	$(BIN)/python -m pip install --quiet --editable '.[plots]' --editable bench --group dev
	touch $(READY)

clean:
	rm -rf $(VENV) docs/_build demo-output
