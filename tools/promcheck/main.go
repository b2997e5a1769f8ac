// Command promcheck parses every expression of Prometheus rule files and Grafana
// dashboards with Prometheus's own parser, and prints those that are wrong.
package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/prometheus/prometheus/promql/parser"
	"go.yaml.in/yaml/v3"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "Usage: promcheck FILE...")
		os.Exit(2)
	}
	failed := false
	complain := func(name string, err error) {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		failed = true
	}
	for _, name := range os.Args[1:] {
		data, err := os.ReadFile(name)
		if err != nil {
			complain(name, err)
			continue
		}
		var file any
		if err := yaml.Unmarshal(data, &file); err != nil { // JSON is YAML
			complain(name, err)
			continue
		}
		found := expressions(file)
		if len(found) == 0 {
			complain(name, errors.New("it has no expression"))
		}
		for _, expr := range found {
			if err := check(expr); err != nil {
				complain(name, fmt.Errorf("%w in %s", err, strings.TrimSpace(expr)))
			}
		}
	}
	if failed {
		os.Exit(1)
	}
}

// expressions finds the values of all keys expr.
func expressions(value any) (found []string) {
	switch value := value.(type) {
	case map[string]any:
		for key, member := range value {
			if text, ok := member.(string); ok && key == "expr" {
				found = append(found, text)
				continue
			}
			found = append(found, expressions(member)...)
		}
	case []any:
		for _, item := range value {
			found = append(found, expressions(item)...)
		}
	}
	return found
}

// variables of Grafana, as it would fill them in.
var variables = strings.NewReplacer("$__rate_interval", "1m", "$instance", ".*")

func check(expr string) error {
	_, err := parser.NewParser(parser.Options{}).ParseExpr(variables.Replace(expr))
	return err
}
