# The gateway alone, as one static binary that runs as nobody in particular.
#
#   docker build --build-arg VERSION=1.2.3 -t ndbgate .
#   docker run -p 127.0.0.1:8080:8080 -e GATEWAY_LISTEN=0.0.0.0:8080 -e GATEWAY_INSECURE=true ndbgate
#
# GATEWAY_INSECURE: who reaches the port may call, which here is this host alone.

# Cross-compiles: the builder runs on the build machine's own platform.
FROM --platform=$BUILDPLATFORM golang:1.26-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=dev
ARG TARGETOS
ARG TARGETARCH
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH \
    go build -trimpath -ldflags "-s -w -X github.com/ndbgate/ndbgate/cmd/gateway/program.version=$VERSION" -o /gateway ./cmd/gateway

# No shell, no package manager; CA certificates and time zones. User 65532.
FROM gcr.io/distroless/static-debian12:nonroot
COPY --from=build /gateway /gateway
EXPOSE 8080 9090
# No HEALTHCHECK: `gateway check` tries the backends and opens connections of its
# own, which only those who know the cluster can want (docker-compose.yml does).
# For the process itself ask /livez and /readyz on the admin listener.
ENTRYPOINT ["/gateway"]
CMD ["serve"]
