// Command gateway serves the employees of a MySQL NDB Cluster over HTTP.
package main

import (
	"os"

	"github.com/ndbgate/ndbgate/cmd/gateway/program"
)

func main() { os.Exit(program.Main(nil)) }
