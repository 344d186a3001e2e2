# Two commands do all the set-up: `make demo` and `make test`. Python 3.11 or newer is all they need.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
LIBRARY := $(VENV)/.library
READY := $(VENV)/.ready
CUDA := cuda-bindings cuda-pathfinder cuda-toolkit nvidia-cublas nvidia-cuda-cccl nvidia-cuda-cupti nvidia-cuda-nvrtc \
	nvidia-cuda-runtime nvidia-cudnn-cu13 nvidia-cufft nvidia-cufile nvidia-cusolver nvidia-cusparse nvidia-cusparselt-cu13 \
	nvidia-nccl-cu13 nvidia-nvjitlink nvidia-nvshmem-cu13 nvidia-nvtx

# where an image forbids Python to keep what it compiles, each of some hundred processes would compile torch anew
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test lint types layers tests docs bench lock clean

demo: $(LIBRARY)
	$(BIN)/enstruct demo

# types and docs take one processor each
test: $(READY)
	$(MAKE) --jobs 2 types lint docs layers
	$(MAKE) tests

lint: $(READY)
	$(BIN)/ruff format --check src tests bench examples conftest.py
	$(BIN)/ruff check src tests bench examples conftest.py

types: $(READY)
	$(BIN)/mypy

layers: $(READY)
	$(BIN)/lint-imports

# two processors are kept busy by three workers, some of which wait for processes of their own
tests: $(READY)
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 3

docs: $(READY)
	$(BIN)/sphinx-build -W -q -b html docs docs/_build/html

# half an hour on an idle machine; a peer that is not installed is named as such (`pip install --group peers`)
bench: $(READY)
	$(BIN)/enstruct-bench costs --measure

# torch is pinned and comes first: a plain `torch` would bring several GB of CUDA packages; Python compiles what is used when it is
$(LIBRARY): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --no-compile --upgrade pip
ifdef LOCKED
	$(BIN)/python -m pip install --quiet --no-compile --no-deps --require-hashes --requirement requirements.lock
endif
	$(BIN)/python -m pip install --quiet --no-compile torch==2.13.0
ifndef LOCKED
	$(BIN)/python -m pip install --quiet --no-compile --editable '.[plots]'
endif
	touch $(LIBRARY)

# what the tests and the laboratory need besides; `make test LOCKED=1` takes it by the hashes in requirements.lock
$(READY): $(LIBRARY) bench/pyproject.toml
ifdef LOCKED
	$(BIN)/python -m pip install --quiet --no-compile --no-deps --no-build-isolation --editable . --editable bench
else
	$(BIN)/python -m pip install --quiet --no-compile --editable '.[plots]' --editable bench --group dev
endif
	touch $(READY)

# all but torch, which is pinned above, and the CUDA packages that a plain torch would bring
lock:
	$(PYTHON) -m venv $(VENV)-lock
	$(VENV)-lock/bin/python -m pip install --quiet uv
	$(VENV)-lock/bin/uv pip compile pyproject.toml --group dev --extra plots --universal --python-version 3.11 \
		--generate-hashes --no-annotate --quiet --no-header --no-emit-package torch --no-emit-package triton \
		$(foreach name,$(CUDA),--no-emit-package $(name)) --output-file requirements.lock
	rm -rf $(VENV)-lock

clean:
	rm -rf $(VENV) docs/_build demo-output
