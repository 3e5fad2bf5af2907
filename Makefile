# 'make run' measures the main job. 'make test' checks the code and tests one real path through everything there is, in
# minutes, on two cores at once; 'make test-all' runs all the other tests, those that judge what they measure one at a
# time. Each sets up .venv first.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: run test test-all lint clean

run: $(VENV)/ready
	$(BIN)/python -m lab run delay --users 4000

test: $(VENV)/ready lint
	$(BIN)/python -m pytest -m 'not thorough' -n 2 --dist loadfile

test-all: $(VENV)/ready
	$(BIN)/python -m pytest -m 'thorough and not alone' -n 2 --dist loadfile
	$(BIN)/python -m pytest -m 'thorough and alone'

lint: $(VENV)/ready
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

$(VENV)/ready: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "error: $(PYTHON) is older than Python 3.11; use 'make run PYTHON=python3.12' or the like"; exit 2; }
	@echo "Setting up $(VENV): fetching and installing some hundred packages takes a minute or two, once."
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $@

clean:
	@$(PYTHON) -c 'import fcntl; fcntl.flock(open("services/.in-use.lock", "a"), fcntl.LOCK_EX | fcntl.LOCK_NB)' 2> /dev/null || { \
	  echo "error: a run of this checkout is going on, and uses what would be removed; try again when it is over"; exit 2; }
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache services/target services/*/target
