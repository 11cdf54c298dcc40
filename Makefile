# Magpie: `make` alone lists what there is.
SHELL := /bin/bash
.DEFAULT_GOAL := help

# What to test, and more flags of go test:
#   make test ARGS='-run Search -v' PKGS=./rest/...     or     make test ARGS='-run Search -v ./rest/...'
ARGS ?=
PKGS ?= $(if $(findstring ./,$(ARGS)),,./...)
# The packages that make test runs with the race detector too: those with the most goroutines of those that build
# quickly, without the generated code of ent. Left out are tests of results that take many times longer with it.
RACE := $(addprefix ./internal/,chat/answer connector/throttle httpx lease live/connection queue ratelimit request/... search/resident store/ttlcache)
RACE_SKIP := 'EqualBruteForce|CloseToExactSearch'
# How long each fuzz target runs.
FUZZTIME ?= 10s
# More flags of the search benchmark, such as fewer sizes: make bench BENCH='--passages 10000,100000'
BENCH ?=
# More flags of the soak: make soak SOAK='--minutes 60'
SOAK ?=
# What make release builds, and as which version: make release VERSION=v1.2.0 TARGETS=linux/amd64
TARGETS ?= linux/amd64,linux/arm64,darwin/amd64,darwin/arm64
VERSION ?=
# A program for this machine as make release builds it, which make test-packages packs and runs; without it, it is built.
PROGRAM ?=
# Judged sets that make eval measures; those that are not there are left out.
JUDGED ?= testdata/judged $(patsubst %/qrels.tsv,%,$(wildcard ../shared/retrieval/*/qrels.tsv))
SITE := cmd/magpie/web/dashboard
GOLANGCI_VERSION := v2.12.0
GOLANGCI := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)
DEADCODE_VERSION := v0.51.0
# Built once for each version, outside the checkout.
LINTER := $(shell go env GOCACHE)/magpie-golangci-$(GOLANGCI_VERSION)/golangci-lint
DEADCODE := $(shell go env GOCACHE)/magpie-deadcode-$(DEADCODE_VERSION)/deadcode
# What it remembers belongs to one checkout: its findings name files by where they
# stood, and the exclusions of .golangci.yml do not match the files of another one.
LINT_CACHE := $(shell go env GOCACHE)/magpie-lint$(subst /,-,$(CURDIR))
# The search engine of make test-engine, built once for each version too, which takes minutes.
ENGINE_VERSION := v1.39.0
ENGINE := $(shell go env GOCACHE)/magpie-engine-$(ENGINE_VERSION)/weaviate-server

# The packages whose tests have functions of a kind: $(call packages,Fuzz)
packages = $(shell grep -rl --include='*_test.go' '^func $(1)' . | xargs -n 1 dirname | sort -u)
# What a recipe with tests ends with: the servers that tests share stop, and the outcome stays.
finish = go run ./internal/tools/testservers && exit $$status

.PHONY: help setup setup-tests build man dashboard verify-dashboard demo up down run test test-race verify lint fmt gen bench soak eval fuzz test-mcp test-clickhouse test-engine release verify-packages test-packages test-upgrade npm clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

setup: ## install what is missing: PostgreSQL with pgvector, Redis, a C compiler
	@scripts/setup.sh

setup-tests:
	@scripts/setup.sh --tests

build: ## build bin/magpie
	@go build -o bin/magpie ./cmd/magpie

man: build ## write the manual pages to bin/share/man/man1
	@bin/magpie man bin/share/man/man1

dashboard: ## build the dashboard from its sources, with Node; what it writes is committed
	@cd $(SITE) && npm ci --no-audit --no-fund --loglevel=error && npm run lint && npm test && npm run build

verify-dashboard: ## fail when the committed dashboard is not, byte by byte, what its sources build; needs Node
	@$(MAKE) --no-print-directory dashboard
	@changed=$$(git status --porcelain -- $(SITE)/dist); test -z "$$changed" || { echo "the dashboard is not what its sources build; run make dashboard, and commit:"; echo "$$changed"; exit 1; }

demo: setup build ## sync a documentation folder and a bucket, search them, ask a question
	@bin/magpie demo

up: setup build ## start Magpie in the background; addresses and keys go to .magpie/dev.json
	@bin/magpie up

down: build ## stop what make up started
	@bin/magpie down

run: setup build ## run Magpie in the foreground, with servers of its own
	@bin/magpie dev

# With -short each call of a source meets a third of the faults of RunFaultInjection; ARGS=-short=false injects them all.
test: setup-tests ## run every test against private servers, the concurrent packages with the race detector too; ARGS and PKGS choose
	@status=0; go test -short -timeout 30m $(ARGS) $(PKGS) || status=$$?; \
	  $(if $(filter ./...,$(PKGS)),go test -race -timeout 20m -skip $(RACE_SKIP) $(ARGS) $(RACE) || status=$$?;) $(finish)

test-race: setup-tests ## run every test with the race detector
	@status=0; go test -race -timeout 40m $(ARGS) $(PKGS) || status=$$?; $(finish)

gen: ## generate the code
	@go run ./internal/tools/generate
	@go run ./internal/tools/generateclient

fmt: ## format the code
	@gofmt -w $$(git ls-files '*.go')

verify: gen ## fail when generated code, formatting or go vet are not in order
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); test -z "$$unformatted" || { echo "not formatted; run make fmt:"; echo "$$unformatted"; exit 1; }
	@go vet ./...
	@changed=$$(git status --porcelain -- client ent graph go.mod go.sum); test -z "$$changed" || { echo "generated code is not current; commit what make gen wrote:"; echo "$$changed"; exit 1; }

lint: $(LINTER) $(DEADCODE) ## the linters and unreachable functions; the first time builds golangci-lint, which takes minutes
	@GOLANGCI_LINT_CACHE=$(LINT_CACHE) $(LINTER) run ./...
	@dead=$$($(DEADCODE) -test ./...) || exit 1; test -z "$$dead" || { echo "no program or test calls:"; echo "$$dead"; exit 1; }

$(LINTER):
	@GOBIN=$(dir $(abspath $@)) go install $(GOLANGCI)

$(DEADCODE):
	@GOBIN=$(dir $(abspath $@)) go install golang.org/x/tools/cmd/deadcode@$(DEADCODE_VERSION)

bench: setup build ## measure what has a budget; BENCH chooses the sizes of the search benchmark
	@status=0; go test -run '^$$' -bench . $(call packages,Benchmark) || status=$$?; $(finish)
	@bin/magpie bench service
	@bin/magpie bench search $(BENCH)
	@bin/magpie bench search --under-sync --passages 10000 --clients 16

soak: setup build ## ten minutes of writes and searches: answers right, memory flat
	@bin/magpie bench soak $(SOAK)

eval: setup build ## search quality: the judged sets, and the questions of the demonstration, against golden files
	@bin/magpie eval --scores $(patsubst %,--set %,$(wildcard $(JUDGED)))
	@status=0; go test -count=1 -v -run Quality ./internal/eval ./internal/search || status=$$?; $(finish)

fuzz: setup ## run every fuzz target for FUZZTIME
	@status=0; for package in $(call packages,Fuzz); do \
	  for target in $$(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' $$package/*_test.go); do \
	    echo "$$package $$target"; \
	    go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) $$package || status=1; \
	  done; \
	done; $(finish)

test-mcp: setup ## run the conformance suite of the Model Context Protocol, from npm, against the client and /mcp
	@scripts/test-mcp.sh

test-clickhouse: ## run the tests of ClickHouse on a current engine, from npm, beside the distribution's
	@scripts/test-clickhouse.sh

# The tests run where the only network is loopback, since the engine listens on every interface.
test-engine: setup-tests $(ENGINE) ## run the tests with real nodes of the search engine; the first time builds it, which takes minutes
	@status=0; MAGPIE_TEST_ENGINE=$(ENGINE) go test -count=1 -v -p 1 -timeout 60m -exec '$(CURDIR)/scripts/isolated.sh' -run '^TestRealEngine' $(ARGS) $(call packages,TestRealEngine) || status=$$?; $(finish)

$(ENGINE):
	@GOBIN=$(dir $(abspath $@)) nice go install github.com/weaviate/weaviate/cmd/weaviate-server@$(ENGINE_VERSION)

release: ## build archives, Debian packages, lists of modules and checksums in dist/; TARGETS and VERSION choose
	@go run ./internal/tools/release -targets '$(TARGETS)' -version '$(VERSION)' -out dist

# What they need is in modules of their own, which make verify and make test leave out. They read files of the project,
# which Go does not compare with those of a former run: -count=1 always runs them.
verify-packages: ## test what packs a release, with a stand-in for the program, and the Compose file
	@cd internal/tools/debian && go vet ./... && go test -count=1 ./...
	@cd internal/tools/deploycheck && go vet ./compose && go test -count=1 ./compose

test-packages: ## test the Debian package and the image with a program, print their sizes; test the Compose file and the Helm chart
	$(if $(PROGRAM),,@CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags '-s -w -buildid=' -o bin/release/magpie ./cmd/magpie)
	@cd internal/tools/debian && go test -count=1 -v ./... -program '$(abspath $(or $(PROGRAM),bin/release/magpie))'
	@cd internal/tools/deploycheck && go test -count=1 ./...

test-upgrade: ## run the program of the previous schema, built from the history, on the present schema
	@status=0; go test -count=1 -v -timeout 30m -run ThePreviousProgram ./cmd/magpie -previous-program || status=$$?; $(finish)

npm: ## pack the npm package magpie-search into bin; VERSION chooses
	@go run ./internal/tools/npmpackage bin/magpie-search $(VERSION:v%=%) && cd bin && npm pack --loglevel=error ./magpie-search

clean: build ## remove built programs and the data of the private servers
	@go run ./internal/tools/testservers -remove
	@bin/magpie down --purge
	@rm -rf bin dist .magpie
