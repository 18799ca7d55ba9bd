# Two words do everything on a fresh machine: `make audit` and `make test`. Everything else is for developers.
VENV := .venv
BIN := $(VENV)/bin
# Tests run on every core of small machines, in eight processes on large ones; what one of them is done with it takes from another's end,
# so that the tests of a file stay together and its fixtures are made once.
# One more than there are cores on small machines, for a quarter of the time a test waits for a process it started.
JOBS := $(shell n=$$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2); [ $$n -ge 8 ] && echo 8 || echo $$((n + 1)))
# Tests start a thousand Pythons: where nothing may be kept compiled, each compiles the product once more, a third of all seconds.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: audit test test-ci test-all test-lowest test-pythons mutants lint format bench docs packages test-packages clean \
	wheel pyz deb rpm sbom recipes dist lock

audit: packages $(VENV)/.installed
	$(BIN)/advisor audit $(ARGS)

test: packages $(VENV)/.installed-test
	$(BIN)/pytest -q -n $(JOBS) --dist worksteal -m "not slow" $(ARGS)

# What CI runs beside `make test`: the slow tests, and those that are tried more often there. Not the full matrix of launchers, and
# not MPI between emulated servers: they take longer than it has.
test-ci: packages test-packages $(VENV)/.installed-test $(VENV)/.installed-package
	ADVISOR_EXAMPLES=all $(BIN)/pytest -q -n $(JOBS) --dist worksteal -m "(slow or hypothesis or often) and not emulated and not matrix" $(ARGS)
	$(BIN)/pytest -q -m "emulated and not matrix" $(ARGS)

test-all: packages test-packages $(VENV)/.installed-test $(VENV)/.installed-package
	ADVISOR_EXAMPLES=all ADVISOR_DRAW=anew $(BIN)/pytest -q -n $(JOBS) --dist worksteal -m "not emulated" $(ARGS)
	$(BIN)/pytest -q -m emulated $(ARGS)

# The fast tests once more with the oldest releases that pyproject.toml allows: its floors are promises. What these releases
# say of newer ones below them is not ours. Examples are drawn anew: hypothesis 6.100 calls fixed ones flaky.
test-lowest: packages
	@sh prepare.sh lowest
	ADVISOR_DRAW=anew .venv-lowest/bin/pytest -q -n $(JOBS) --dist worksteal -m "not slow" -W ignore::DeprecationWarning $(ARGS)

# The wheel in a clean environment of every Python that is here: the oldest releases it may have, and the newest.
test-pythons: $(VENV)/.installed-package
	$(BIN)/nox -f packaging/noxfile.py $(ARGS)

# What is installed elsewhere goes to dist/: docs/install.md.
wheel pyz deb rpm sbom recipes: $(VENV)/.installed-package
	@PYTHON=$(BIN)/python sh packaging/packages.sh $@

# Newest releases of what is carried, with their hashes.
lock: $(VENV)/.installed-package
	@PYTHON=$(BIN)/python sh packaging/packages.sh lock

dist: wheel
	@$(MAKE) --no-print-directory pyz
	@$(MAKE) --no-print-directory deb rpm sbom recipes

# Changes the product at random, in a copy, and names what no test notices: CONTRIBUTING.md. Half an hour; not for CI.
mutants: $(VENV)/.installed-test
	$(BIN)/python -m benchmarks.mutants $(ARGS)

lint: $(VENV)/.installed-lint
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	if command -v shellcheck >/dev/null; then shellcheck prepare.sh packaging/*.sh tests/emulated/*.sh tests/fakenode/*.sh; fi

format: $(VENV)/.installed-lint
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# The kernels beside the best that others offer, by turns, on a machine that should have nothing else to do: docs/benchmarks.md.
bench: packages $(VENV)/.installed-test
	@sh prepare.sh bench-packages
	$(BIN)/python -m benchmarks.page $(ARGS)

docs: $(VENV)/.installed-test
	$(BIN)/python -m docs

packages:
	@sh prepare.sh packages

test-packages:
	@sh prepare.sh test-packages
	@sh prepare.sh launchers
	@sh prepare.sh redfish
	@sh prepare.sh exports
	@sh prepare.sh browser

LOCKS := $(wildcard packaging/lock*.txt)

$(VENV)/.installed: pyproject.toml prepare.sh $(LOCKS)
	@sh prepare.sh venv plots $@

$(VENV)/.installed-test: pyproject.toml prepare.sh $(LOCKS)
	@sh prepare.sh venv test $@

$(VENV)/.installed-lint: pyproject.toml prepare.sh $(LOCKS)
	@sh prepare.sh venv test,lint $@

$(VENV)/.installed-package: pyproject.toml prepare.sh $(LOCKS)
	@sh prepare.sh venv package $@

clean:
	rm -rf $(VENV) .nox .pytest_cache .mypy_cache .ruff_cache .hypothesis dist
