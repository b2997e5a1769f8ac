# Every target works on a machine with Go alone, but for those that say what
# else they need.
GO ?= go
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
FUZZTIME ?= 20s
LDFLAGS = -s -w -X main.version=$(VERSION) -X github.com/ndbgate/ndbgate/cmd/gateway/program.version=$(VERSION)
LISTEN = $(or $(GATEWAY_LISTEN),127.0.0.1:8080)

export CGO_ENABLED ?= 0

.PHONY: help run build build-otel test race lint fuzz bench bench-article bench-article-2 cluster-test chaos sdk-test generate release release-check clean

help: ## this list
	@sed -n 's/^\([a-z0-9-]*\):.*## /\1\t/p' Makefile | expand -t 18

run: build ## a gateway on http://127.0.0.1:8080 over a cluster in one process
	@printf '%s\n' \
	  'Once the gateway says "listening", try in another terminal, or open http://$(LISTEN)/docs:' '' \
	  "  curl -i -X PUT http://$(LISTEN)/v1/employees/1 -H 'X-Backend: ndb' -H 'Content-Type: application/json' -d '{\"first\":\"Ada\",\"city\":\"London\"}'" \
	  "  curl -i http://$(LISTEN)/v1/employees/1 -H 'X-Backend: sql'" \
	  "  curl -i -X PATCH http://$(LISTEN)/v1/employees/1 -H 'X-Backend: sql' -H 'Content-Type: application/merge-patch+json' -d '{\"city\":\"Paris\"}'" \
	  "  curl -i 'http://$(LISTEN)/v1/employees?city=paris' -H 'X-Backend: ndb'" ''
	@exec bin/devcluster -- bin/gateway serve

build: ## bin/gateway, bin/loadtest and bin/devcluster
	$(GO) build -trimpath -ldflags '$(LDFLAGS)' -o bin/ ./cmd/gateway ./cmd/loadtest
	$(GO) -C devcluster build -trimpath -o ../bin/devcluster .

build-otel: ## bin/gateway-otel: the gateway that exports traces
	$(GO) -C otel build -trimpath -ldflags '$(LDFLAGS)' -o ../bin/gateway-otel .

test: ## all tests that need no server
	$(GO) test ./...
	$(GO) -C devcluster test ./...
	$(GO) -C otel test ./...

race: ## the same but for the longest under the race detector (needs a C compiler)
	CGO_ENABLED=1 $(GO) test -race -short ./...
	CGO_ENABLED=1 $(GO) -C devcluster test -race -short ./...
	CGO_ENABLED=1 $(GO) -C otel test -race ./...

lint: ## gofumpt, vet, staticcheck, errcheck, go.mod drift
	scripts/lint

fuzz: ## every fuzz target for FUZZTIME (20s)
	scripts/fuzz $(FUZZTIME)

bench: ## benchmarks that need no server
	$(GO) test -run '^$$' -bench . -benchmem ./...

bench-article: build ## the first article on the cluster that is up (NDB_HOME); ARGS=--quick: in two minutes
	scripts/bench 1 $(ARGS)

bench-article-2: build ## the second article on the cluster that is up (NDB_HOME); ARGS=--quick: in two minutes
	scripts/bench 2 $(ARGS)

cluster-test: ## suites on the real cluster that scripts/cluster has up (NDB_HOME)
	scripts/cluster-test

chaos: ## all fails and returns on a cluster of its own (NDB_HOME): every answer must be true; CHAOS_TIME, CHAOS_SEED
	scripts/chaos

sdk-test: build ## openapi.yaml as others use it: clients in four languages, Spectral, Schemathesis (Node, Python; Java)
	scripts/sdk-test $(ARGS)

generate: ## the parts of docs/ that are made of code
	$(GO) generate ./api ./cmd/...

release: ## programs of every platform with checksums and SBOMs, in dist/
	scripts/release

release-check: ## a release built twice is the same, byte by byte
	scripts/release-selftest

clean: ## what build and release made
	rm -rf bin dist
