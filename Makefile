# `make` lists the targets. Building and testing need Go, git and make, no more.

CLI      := github.com/polex-dev/polex/cmd/internal/cli
VERSION  ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
FUZZTIME ?= 30s
TOOLS    := bin/tools

.PHONY: help build test lint fuzz bench demo refresh-root sizes clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "%-14s %s\n", $$1, $$2 }' Makefile

build: ## build every command into bin/
	CGO_ENABLED=0 go build -trimpath -ldflags="-s -w -X $(CLI).Version=$(VERSION)" -o bin/ ./cmd/...

test: ## run the tests
	go test ./...

lint: $(TOOLS)/golangci-lint $(TOOLS)/actionlint ## check formatting, vet, lint, workflows, scripts and go.mod
	@unformatted=$$(gofmt -l .); test -z "$$unformatted" || { echo "gofmt these: $$unformatted" >&2; exit 1; }
	go vet ./...
	$(TOOLS)/golangci-lint run ./...
	$(TOOLS)/actionlint
	@if command -v shellcheck >/dev/null; then git ls-files -co --exclude-standard -- '*.sh' .ci/run | xargs shellcheck; else echo "shellcheck is not installed: the scripts go unchecked"; fi
	go mod tidy -diff

fuzz: ## run every fuzz test for FUZZTIME each (30s)
	@git grep --untracked -oE '^func Fuzz[A-Za-z0-9_]+' -- '*_test.go' | sed 's|/[^/]*:func | |' | while read -r dir name; do \
		echo "$$dir $$name"; go -C "$$dir" test -run='^$$' -fuzz="^$$name\$$" -fuzztime=$(FUZZTIME) . || exit 1; done

bench: sizes ## measure speed and sizes
	go test -run='^$$' -bench=. -benchmem ./...

demo: build ## show a seal made, verified and broken, on loopback
	./demo/run.sh

refresh-root: ## fetch the public-good trusted root (network)
	go run ./pkg/trust/publicgood/refresh

sizes: ## measure the size of what ships
	go test ./test/size -run Size -v

clean: ## remove what was built
	rm -rf bin dist

$(TOOLS)/golangci-lint: test/tools/go.mod
	go -C test/tools build -o $(CURDIR)/$(TOOLS)/ tool

$(TOOLS)/actionlint: test/tools/actionlint/go.mod
	go -C test/tools/actionlint build -o $(CURDIR)/$(TOOLS)/ tool
