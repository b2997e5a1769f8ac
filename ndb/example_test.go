package ndb_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"testing"
	"time"

	"github.com/ndbgate/ndbgate/ndb"
)

// The examples need a cluster with the table ndbtest.employee. This runs them
// where there is one; without it they are compiled only.
func TestExamples(t *testing.T) {
	if os.Getenv("TEST_NDB_CONNECTSTRING") == "" {
		t.Skip("TEST_NDB_CONNECTSTRING is not set: no cluster to run on")
	}
	for name, example := range map[string]func(){
		"Example": Example, "NewBatch": ExampleClient_NewBatch, "Begin": ExampleClient_Begin,
		"Scan": ExampleClient_Scan, "If": ExampleOperation_If,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // each takes a node ID, which takes time
			example()
		})
	}
}

func Example() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	client, err := ndb.Connect(ctx, ndb.Config{Connectstring: os.Getenv("TEST_NDB_CONNECTSTRING"), Name: "example"})
	if err != nil {
		log.Panic(err)
	}
	defer client.Close()

	// What does not change is looked up once.
	employees, err := client.Table(ctx, "ndbtest", "employee")
	if err != nil {
		log.Panic(err)
	}
	names, err := employees.Select("first", "last")
	if err != nil {
		log.Panic(err)
	}
	id, first, last := column(employees, "id"), column(employees, "first"), column(employees, "last")

	// Values and rows can be used again and again.
	v := employees.NewValues().Int64(id, exampleID).String(first, "Ada").String(last, "Lovelace")
	gci, err := client.Write(ctx, v)
	if err != nil {
		log.Panic(err)
	}
	if err := client.WaitDurable(ctx, gci); err != nil {
		log.Panic(err) // it is committed all the same
	}

	var row ndb.Row
	v.Reset()
	if err := client.Read(ctx, v.Int64(id, exampleID), names, &row); err != nil {
		log.Panic(err)
	}
	name, err := row.String(0)
	if err != nil {
		log.Panic(err)
	}
	fmt.Println(name)

	if _, err := client.Delete(ctx, v); err != nil {
		log.Panic(err)
	}
}

// Many rows that do not depend on each other, each with its own outcome.
func ExampleClient_NewBatch() {
	ctx := context.Background()
	client, employees := openExample(ctx)
	defer client.Close()
	defer removeExamples(ctx, client, employees, batchID, 1000)
	id := column(employees, "id")

	failed := 0
	batch := client.NewBatch(ctx, ndb.BatchOptions{Result: func(n int, err error) {
		if err != nil {
			failed++ // operation n, alone
		}
	}})
	v := employees.NewValues()
	for i := range int64(1000) {
		v.Reset()
		batch.Write(v.Int64(id, batchID+i))
	}
	batch.Wait()
	fmt.Println(failed, "failed")
}

// Several rows together, or none of them.
func ExampleClient_Begin() {
	ctx := context.Background()
	client, employees := openExample(ctx)
	defer client.Close()
	defer removeExamples(ctx, client, employees, moveID, 2)
	id, city := column(employees, "id"), column(employees, "municipality")

	move := func(i int64) *ndb.Values {
		return employees.NewValues().Int64(id, moveID+i).String(city, "London")
	}
	tx, err := client.Begin(ctx, move(0)) // at the node that has this row
	if err != nil {
		log.Panic(err)
	}
	defer tx.Close() // rolls back where nothing has committed
	tx.Write(move(0))
	tx.Write(move(1))
	switch err := tx.Commit(ctx); {
	case err == nil:
		fmt.Println("both are in London")
	case ndb.MayRetry(err):
		fmt.Println("nothing was done; once more, from Begin on")
	case !ndb.SurelyNotDone(err):
		fmt.Println("read the rows to know")
	default:
		fmt.Println("nothing was done, and it would not help to try again")
	}
}

// The rows of a part of an index, in its order; the data nodes test the filter.
func ExampleClient_Scan() {
	ctx := context.Background()
	client, employees := openExample(ctx)
	defer client.Close()
	byKey, err := employees.Index("PRIMARY")
	if err != nil {
		log.Panic(err)
	}
	columns, err := employees.Select("id", "last")
	if err != nil {
		log.Panic(err)
	}

	s, err := client.Scan(ctx, ndb.Scan{
		Table:   employees,
		Columns: columns,
		Index:   byKey,
		Ranges:  []ndb.Range{{Low: []any{exampleID}}},
		Order:   ndb.Ascending,
		Filter:  ndb.Like(column(employees, "last"), "L%"),
		Limit:   10,
	})
	if err != nil {
		log.Panic(err)
	}
	defer s.Close()
	for s.Next(ctx) {
		key, err := s.Row().Int64(0)
		if err != nil {
			log.Panic(err)
		}
		fmt.Println(key)
	}
	if err := s.Err(); err != nil {
		log.Panic(err)
	}
}

// A change that happens only where the row is what was read before: one round
// trip, and no lock in between.
func ExampleOperation_If() {
	ctx := context.Background()
	client, employees := openExample(ctx)
	defer client.Close()
	id, department := column(employees, "id"), column(employees, "department")

	tx, err := client.Begin(ctx, nil)
	if err != nil {
		log.Panic(err)
	}
	defer tx.Close()
	tx.Update(employees.NewValues().Int64(id, absentID).Int64(department, 8)).If(ndb.Eq(department, 7))
	if err := tx.Commit(ctx); err != nil {
		fmt.Println("not there, or no longer in department 7:", err)
	}
}

// The IDs that the examples use.
const (
	exampleID = int64(7_900_000_000_000)
	moveID    = exampleID + 10
	absentID  = exampleID + 20
	batchID   = exampleID + 1000
)

func openExample(ctx context.Context) (*ndb.Client, *ndb.Table) {
	client, err := ndb.Connect(ctx, ndb.Config{Connectstring: os.Getenv("TEST_NDB_CONNECTSTRING"), Name: "example"})
	if err != nil {
		log.Panic(err)
	}
	employees, err := client.Table(ctx, "ndbtest", "employee")
	if err != nil {
		client.Close()
		log.Panic(err)
	}
	return client, employees
}

func column(t *ndb.Table, name string) *ndb.Column {
	c, err := t.Column(name)
	if err != nil {
		log.Panic(err)
	}
	return c
}

// removeExamples removes rows that examples may have left.
func removeExamples(ctx context.Context, client *ndb.Client, t *ndb.Table, first, n int64) {
	id := column(t, "id")
	batch := client.NewBatch(ctx, ndb.BatchOptions{})
	v := t.NewValues()
	for i := range n {
		v.Reset()
		batch.Delete(v.Int64(id, first+i))
	}
	batch.Wait()
}
