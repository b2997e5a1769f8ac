// Package ndbgate holds the contract of the gateway, for the packages below
// it and for tools in Go.
package ndbgate

import _ "embed"

// OpenAPI is openapi.yaml, the description of the public listener.
//
//go:embed openapi.yaml
var OpenAPI []byte
