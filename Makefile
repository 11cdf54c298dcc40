# Magpie: `make` alone lists what there is.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

# What to test, and more flags of go test: make test PKGS=./rest/... ARGS='-run Search -v'
PKGS ?= ./...
ARGS ?=
# How long each fuzz target runs.
FUZZTIME ?= 10s
# More flags of the benchmark: make bench BENCH='--passages 100000'
BENCH ?=
GOLANGCI := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.5.0

.PHONY: help setup build demo up down run test test-race verify lint fmt gen bench eval fuzz clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## install what is missing: PostgreSQL with pgvector, Redis, a C compiler
	@scripts/setup.sh

build: ## build bin/magpie
	@go build -trimpath -o bin/magpie ./cmd/magpie

demo: setup build ## sync a documentation folder and a bucket, search them, ask a question
	@bin/magpie demo

up: setup build ## start Magpie in the background; addresses and keys go to .magpie/dev.json
	@bin/magpie up

down: build ## stop what make up started
	@bin/magpie down

run: setup build ## run Magpie in the foreground, with servers of its own
	@bin/magpie dev

test: setup ## run every test against private servers
	@status=0; go test -timeout 20m $(ARGS) $(PKGS) || status=$$?; go run ./internal/tools/testservers; exit $$status

test-race: setup ## the same under the race detector
	@status=0; go test -race -timeout 40m $(ARGS) $(PKGS) || status=$$?; go run ./internal/tools/testservers; exit $$status

gen: ## write the generated code anew
	@go run ./internal/tools/generate

fmt: ## format the code
	@gofmt -w $$(git ls-files '*.go')

verify: gen ## fail when generated code, formatting or go vet are not in order
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { echo "not formatted; run make fmt:"; gofmt -l $$(git ls-files '*.go'); exit 1; }
	@go vet ./...
	@git diff --exit-code --stat -- ent graph go.mod go.sum || { echo "generated code is not current; commit what make gen wrote"; exit 1; }

lint: ## the strict linters
	@if command -v golangci-lint >/dev/null; then golangci-lint run ./...; else go run $(GOLANGCI) run ./...; fi

bench: setup build ## measure what has a budget
	@go test -run '^$$' -bench . -benchtime 1s ./internal/search/analysis ./internal/embed ./internal/ingest/...
	@bin/magpie bench $(BENCH)

eval: ## search quality on the questions of the demonstration, against its golden file
	@go test -count=1 -v -run Quality ./internal/search/...; go run ./internal/tools/testservers

fuzz: ## run every fuzz target for FUZZTIME
	@for pkg in $$(go list ./...); do \
	  for target in $$(go test -list '^Fuzz' $$pkg 2>/dev/null | grep '^Fuzz' || true); do \
	    echo "$$pkg $$target"; go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) $$pkg; \
	  done; \
	done

clean: down ## remove built programs and the private servers' data
	@go run ./internal/tools/testservers
	@rm -rf bin .magpie
