package ndbtest_test

import (
	"fmt"

	"github.com/ndbgate/ndbgate/ndb/ndbtest"
)

func ExampleStart() {
	c, err := ndbtest.Start(ndbtest.DataNodes(2), ndbtest.InMemory())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	c.MustCreateTable("CREATE TABLE shop.item (id INT PRIMARY KEY, name VARCHAR(20) NOT NULL, price DECIMAL(8,2) DEFAULT 0)")
	rows, err := c.Rows("shop", "item")
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := rows.Insert([]any{1, "pen", "1.50"}, []any{2, "ink"}); err != nil {
		fmt.Println(err)
		return
	}
	for _, row := range rows.All() {
		fmt.Println(row...)
	}
	// Clients connect to c.Connectstring(), through c.Dial.

	// Output:
	// 1 pen 1.50
	// 2 ink 0.00
}
