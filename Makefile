# `make` lists the targets. Building and testing require Go, git and make only.

CLI      := github.com/polex-dev/polex/internal/command/cli
# Build without gRPC's pages under /debug. They use html/template, so the linker keeps every
# method: a quarter of the size of polex-verify, polex-sign and polex-guard.
TAGS     := grpcnotrace
VERSION  ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
FUZZTIME ?= 30s
TOOLS    := bin/tools
E2E      := bin/e2e
# `make e2e KUBERNETES=1.36` tests with the Kubernetes of test/e2e/tools/kubernetes/1.36.
OLDER    := $(addprefix /,$(KUBERNETES))
K8S      := $(E2E)$(OLDER)
K8SMOD   := test/e2e/tools/kubernetes$(OLDER)
SITE     ?= bin/site

.PHONY: help build generate docs test lint vet-platforms fuzz bench demo dist images e2e e2e-tools e2e-up refresh-root sizes clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "%-14s %s\n", $$1, $$2 }' Makefile

build: ## build every command into bin/
	CGO_ENABLED=0 go build -tags $(TAGS) -trimpath -ldflags="-s -w -X $(CLI).Version=$(VERSION)" -o bin/ ./cmd/...

generate: ## write the generated pages and schemas of docs/
	go generate ./...

docs: ## build the documentation into bin/site, as a site with search (needs mkdocs-material and graphviz)
	@{ command -v mkdocs && command -v dot && { test -d /usr/share/mkdocs/themes/material || python3 -c 'import material'; }; } >/dev/null 2>&1 || { echo "make docs needs MkDocs, its theme and Graphviz: apt-get install mkdocs mkdocs-material graphviz" >&2; exit 1; }
	PYTHONDONTWRITEBYTECODE=1 mkdocs build --quiet --strict --site-dir $(abspath $(SITE))

test: ## run the tests
	CGO_ENABLED=0 go test -tags $(TAGS) -trimpath -ldflags='-s -w' ./...

lint: $(TOOLS)/golangci-lint $(TOOLS)/actionlint $(TOOLS)/vale ## check formatting, vet, lint, workflows, scripts and go.mod
	@unformatted=$$(gofmt -l .); test -z "$$unformatted" || { echo "gofmt these: $$unformatted" >&2; exit 1; }
	go vet -tags e2e ./...
	go -C test/e2e/celpeer vet ./...
	$(TOOLS)/golangci-lint run ./...
	$(TOOLS)/actionlint
	$(TOOLS)/actionlint examples/github/.github/workflows/*.yaml examples/github-closed/*.yaml
	@if command -v shellcheck >/dev/null; then git ls-files -co --exclude-standard -- '*.sh' .ci/install .ci/run | xargs shellcheck; else echo "shellcheck is not installed: the scripts go unchecked"; fi
	$(TOOLS)/vale --output=line README.md CHANGELOG.md docs actions charts examples policies .github cmd internal pkg test
	go mod tidy -diff

vet-platforms: ## vet for every platform of a release (compiles for each)
	@for platform in darwin/amd64 darwin/arm64 linux/amd64 linux/arm64 windows/amd64 windows/arm64; do echo "$$platform"; \
		CGO_ENABLED=0 GOOS=$${platform%/*} GOARCH=$${platform#*/} go vet -trimpath -tags=$(TAGS) ./cmd/... ./internal/... ./pkg/... || exit 1; done

fuzz: ## run every fuzz test for FUZZTIME each (30s)
	@git grep --untracked -oE '^func Fuzz[A-Za-z0-9_]+' -- '*_test.go' | sed 's|/[^/]*:func | |' | while read -r dir name; do \
		echo "$$dir $$name"; go -C "$$dir" test -run='^$$' -fuzz="^$$name\$$" -fuzztime=$(FUZZTIME) . || exit 1; done

bench: sizes ## measure speed and sizes
	go test -run='^$$' -bench=. -benchmem ./...

demo: build ## sign, verify and reject exceptions with a Sigstore on loopback
	./demo/run.sh

dist: ## build the release files into dist/: archives, checksums, manifests of package managers
	go run ./internal/release -version $(VERSION) -out dist

images: ## build the images from dist/ with buildah (pulls Debian's image)
	internal/release/images.sh $(VERSION)

e2e: e2e-tools ## run the tests against the real API server, Kyverno, Sigstore, Argo CD, Flux and a workflow runner (needs PostgreSQL, Redis, Chromium, mkdocs-material and graphviz)
	go test -tags e2e -count=1 -p 2 -timeout 45m -v $$(go list -tags e2e ./test/e2e/... | grep -v /load$$) ./internal/report ./internal/command/sign
	go test -count=1 ./pkg/verify ./internal/git/commit -run 'Flip|Killed|AnswerCut|AnyPath' -args -long
	go -C test/e2e/celpeer test -count=1 -v ./...
	go test -tags e2e -count=1 -timeout 30m -v ./test/e2e/load # measures, so it runs alone

e2e-tools: $(addprefix $(K8S)/,kube-apiserver etcd kubectl kube-controller-manager kubeadm) $(addprefix $(E2E)/,kyverno kubectl-kyverno background-controller cleanup-controller reports-controller act cosign rekor-tiles kubectl-sigstore argocd kustomize-controller source-controller helm promtool) ## build the programs of the end-to-end tests

e2e-up: $(addprefix $(K8S)/,kube-apiserver etcd kubectl) $(addprefix $(E2E)/,kyverno act cosign rekor-tiles argocd) ## start a cluster, Sigstore, Git server and Argo CD for your own tests, until Ctrl-C
	CGO_ENABLED=0 go build -o $(E2E)/up ./test/e2e/story/up
	@$(E2E)/up

refresh-root: ## fetch the public-good trusted root (network)
	go run ./cmd/polex-sign trusted-root --output-file pkg/trust/publicgood/trusted_root.json

sizes: ## measure the sizes of the released programs
	go test ./test/size -run Size -v

clean: ## remove all built files
	rm -rf bin dist

$(TOOLS)/golangci-lint: test/tools/go.mod
	go -C test/tools build -o $(CURDIR)/$(TOOLS)/ tool

$(TOOLS)/actionlint: test/tools/actionlint/go.mod
	go -C test/tools/actionlint build -o $(CURDIR)/$(TOOLS)/ tool

# The parsers of its formats are in C.
$(TOOLS)/vale: test/tools/vale/go.mod
	CGO_ENABLED=1 go -C test/tools/vale build -o $(CURDIR)/$(TOOLS)/ tool

# The programs of the end-to-end tests. The first build takes minutes, later ones seconds.
E2EBUILD := build -trimpath -ldflags="-s -w" -o $(CURDIR)/$(E2E)

$(K8S)/kube-apiserver: $(K8SMOD)/go.mod
	CGO_ENABLED=0 go -C $(K8SMOD) $(E2EBUILD)$(OLDER)/ k8s.io/kubernetes/cmd/kube-apiserver

$(K8S)/kubectl: $(K8SMOD)/go.mod
	CGO_ENABLED=0 go -C $(K8SMOD) $(E2EBUILD)$(OLDER)/ k8s.io/kubernetes/cmd/kubectl

$(K8S)/etcd: $(K8SMOD)/go.mod
	CGO_ENABLED=0 go -C $(K8SMOD) $(E2EBUILD)$(OLDER)/etcd go.etcd.io/etcd/server/v3

$(K8S)/kube-controller-manager: $(K8SMOD)/go.mod
	CGO_ENABLED=0 go -C $(K8SMOD) $(E2EBUILD)$(OLDER)/ k8s.io/kubernetes/cmd/kube-controller-manager

$(K8S)/kubeadm: $(K8SMOD)/go.mod
	CGO_ENABLED=0 go -C $(K8SMOD) $(E2EBUILD)$(OLDER)/ k8s.io/kubernetes/cmd/kubeadm

$(E2E)/kyverno: test/e2e/tools/kyverno/go.mod
	CGO_ENABLED=0 go -C test/e2e/tools/kyverno $(E2EBUILD)/ github.com/kyverno/kyverno/cmd/kyverno

$(E2E)/kubectl-kyverno: test/e2e/tools/kyverno/go.mod
	CGO_ENABLED=0 go -C test/e2e/tools/kyverno $(E2EBUILD)/ github.com/kyverno/kyverno/cmd/cli/kubectl-kyverno

$(E2E)/background-controller: test/e2e/tools/kyverno/go.mod
	CGO_ENABLED=0 go -C test/e2e/tools/kyverno $(E2EBUILD)/ github.com/kyverno/kyverno/cmd/background-controller

$(E2E)/cleanup-controller: test/e2e/tools/kyverno/go.mod
	CGO_ENABLED=0 go -C test/e2e/tools/kyverno $(E2EBUILD)/ github.com/kyverno/kyverno/cmd/cleanup-controller

$(E2E)/reports-controller: test/e2e/tools/kyverno/go.mod
	CGO_ENABLED=0 go -C test/e2e/tools/kyverno $(E2EBUILD)/ github.com/kyverno/kyverno/cmd/reports-controller

$(E2E)/act: test/e2e/tools/act/go.mod
	CGO_ENABLED=0 go -C test/e2e/tools/act $(E2EBUILD)/ github.com/nektos/act

# All servers of Argo CD in one program. It selects the server by its file name.
$(E2E)/argocd: test/e2e/tools/argocd/go.mod
	CGO_ENABLED=0 go -C test/e2e/tools/argocd $(E2EBUILD)/argocd github.com/argoproj/argo-cd/v3/cmd

$(E2E)/kustomize-controller: test/e2e/tools/flux/go.mod
	CGO_ENABLED=0 go -C test/e2e/tools/flux $(E2EBUILD)/ github.com/fluxcd/kustomize-controller

$(E2E)/source-controller: test/e2e/tools/source/go.mod
	CGO_ENABLED=0 go -C test/e2e/tools/source $(E2EBUILD)/ github.com/fluxcd/source-controller

$(E2E)/helm: test/e2e/tools/helm/go.mod
	CGO_ENABLED=0 go -C test/e2e/tools/helm $(E2EBUILD)/ helm.sh/helm/v4/cmd/helm

# cosign and the servers of Sigstore. rekor-tiles has a rule of its own to get another name.
$(E2E)/cosign: test/e2e/tools/sigstore/go.mod $(wildcard test/e2e/tools/sigstore/*/*.go)
	CGO_ENABLED=0 go -C test/e2e/tools/sigstore $(E2EBUILD)/ ./index ./timestamps \
		github.com/sigstore/fulcio github.com/sigstore/rekor/cmd/rekor-server \
		github.com/google/trillian/cmd/trillian_log_server github.com/google/trillian/cmd/trillian_log_signer github.com/google/trillian/cmd/createtree \
		github.com/google/certificate-transparency-go/trillian/ctfe/ct_server github.com/sigstore/cosign/v3/cmd/cosign

$(E2E)/rekor-tiles: test/e2e/tools/sigstore/go.mod
	CGO_ENABLED=0 go -C test/e2e/tools/sigstore $(E2EBUILD)/rekor-tiles github.com/sigstore/rekor-tiles/v2/cmd/rekor-server/posix

# promtool without service discovery, which is most of its size, and the reader of queries.
$(E2E)/promtool: test/e2e/tools/prometheus/go.mod $(wildcard test/e2e/tools/prometheus/*/*.go)
	CGO_ENABLED=0 go -C test/e2e/tools/prometheus build -tags remove_all_sd -trimpath -ldflags="-s -w" -o $(CURDIR)/$(E2E)/ ./queries github.com/prometheus/prometheus/cmd/promtool

# Built with its own go.mod, as users install it.
$(E2E)/kubectl-sigstore:
	GOBIN=$(CURDIR)/$(E2E) CGO_ENABLED=0 go install -trimpath -ldflags="-s -w" github.com/sigstore/k8s-manifest-sigstore/cmd/kubectl-sigstore@v0.5.4
