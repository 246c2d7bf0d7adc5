# `make help` lists the targets. Each installs what it needs and is missing
# (scripts/setup.sh), so that on a new machine one target is one command.

# Without this, Go builds without libvips, silently, where it finds no compiler.
export CGO_ENABLED := 1

# Where scripts/setup.sh puts Go and the tools written in it.
CACHE := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/spillway
export PATH := $(CACHE)/go1.26.8/bin:$(CACHE)/bin:$(PATH)

# Only the binary is stamped with its revision, and only where git tells it:
# in a checkout owned by another user (containers) git refuses, and so would Go.
export GOFLAGS := $(strip $(GOFLAGS) -buildvcs=false)
VCS = $(shell git status --porcelain >/dev/null 2>&1 && echo true || echo false)

ARGS ?=
FUZZTIME ?= 1m
BENCH ?= .
PKG ?= ./...

.DEFAULT_GOAL := help
.PHONY: help run build test test-heavy soak test-conformance-heavy test-crash-cache bench bench-micro bench-pools bench-jobs bench-h2 demo-pool demo-cluster demo-schedule fuzz lint vuln nocgo vet screenshots clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## /{printf "  make %-24s %s\n", $$1, $$2}' Makefile

# setup-NAME installs what NAME needs; it does nothing when nothing is missing.
setup-%:
	@scripts/setup.sh $*

run: build ## install what is missing, build, serve on http://127.0.0.1:8080 (ARGS="--listen :80")
	exec bin/spillway up $(ARGS)

# Without the tables of a debugger: a quarter less to ship. Stack traces and
# profiles have their own.
build: setup-build ## write bin/spillway
	go build -trimpath -buildvcs=$(VCS) -ldflags '-s -w' -o bin/spillway ./cmd/spillway

test: setup-test ## install what the tests need and run all of them (ARGS="-run Name ./internal/vips" for some)
	@scripts/versitygw.sh >/dev/null
	@scripts/test.sh $(ARGS)

test-heavy: setup-test ## what is too slow for every run, the heavy corpus files included
	@scripts/versitygw.sh >/dev/null
	@SPILLWAY_HEAVY=1 scripts/test.sh

soak: setup-test ## three times what the server can do, of all kinds at once, for an hour (SPILLWAY_SOAK=10m)
	@SPILLWAY_SOAK=$(or $(SPILLWAY_SOAK),1h) scripts/test.sh -timeout=24h ./bench/soak

test-conformance-heavy: setup-test ## the heavy files of the corpus only
	@SPILLWAY_HEAVY=1 scripts/test.sh ./internal/conformance/...

test-crash-cache: setup-build ## kill -9 a process in the middle of cache writes a hundred times, and read what is left
	@SPILLWAY_HEAVY=1 scripts/test.sh -run KilledInTheMiddle ./internal/cache

bench: build ## measure the server against its bars for a quarter of an hour (ARGS=-short for three minutes; -doc and -plot write docs/performance.md)
	@go run ./bench/load $(ARGS)

bench-micro: setup-build ## run the benchmarks of the packages (BENCH=regexp PKG=./internal/vips)
	go test -run '^$$' -bench '$(BENCH)' -benchmem -timeout 60m $(PKG)

bench-pools: setup-build ## compare worker pools for six minutes (ARGS=-short for one; -doc and -plot write docs/pools.md)
	cd bench/pools && go run . $(ARGS)

bench-jobs: setup-demo-cluster ## measure the job stores beside River and asynq (ARGS as bench/jobs takes them)
	cd bench/jobs && go run . $(ARGS)

bench-h2: setup-bench-h2 build ## load pages of pictures over a slow link, beside Go's server (root; ARGS=-short for two minutes; -doc writes docs/h2.md)
	@go run ./bench/h2 $(ARGS)

demo-pool: build ## watch the worker pool grow under 64 clients for 20 s, and shrink again
	@scripts/demo-pool.sh

demo-cluster: setup-demo-cluster build ## start Postgres, Redis, a server and two workers, run jobs on them, and stop it all
	@scripts/demo-cluster.sh

demo-schedule: build ## print what the scheduler would do about a backlog, in vps_only and in hybrid, and why
	@scripts/demo-schedule.sh

fuzz: setup-build ## run each fuzz target for FUZZTIME (1m)
	@scripts/fuzz.sh $(FUZZTIME)

lint: setup-lint ## golangci-lint, shellcheck, and the house's own limits
	@scripts/lint.sh

vuln: setup-vuln ## look for known vulnerabilities in what is used
	@scripts/vuln.sh

nocgo: setup-build ## check that everything but libvips builds without a C compiler
	CGO_ENABLED=0 go build ./...

vet: setup-build ## go vet
	go vet ./...

screenshots: setup-screenshots build ## take the playground's pictures in a headless browser
	@scripts/screenshots.sh

clean: ## remove what was built here (not the cache of tools)
	rm -rf bin
