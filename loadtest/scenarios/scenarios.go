// Package scenarios has measurements that are worth repeating, as YAML files.
package scenarios

import "embed"

// Files are all scenarios, as NAME.yaml.
//
//go:embed *.yaml
var Files embed.FS
