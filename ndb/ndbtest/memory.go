package ndbtest

import "github.com/ndbgate/ndbgate/ndb/internal/mgm"

// This file is what data nodes tell of their memory. Rows are Go values here, so
// the numbers are made up: they grow with the rows, in the way of a real node.

const (
	pageBytes    = 32 << 10
	memoryPages  = 8192 // a DataMemory of 256 MiB
	emptyData    = 18   // pages in use without any row
	emptyIndex   = 14
	rowsPerPage  = 128
	indexPerPage = 1024 // entries of a hash index
)

// memoryUse is what the data nodes that live use.
func (c *Cluster) memoryUse() []mgm.MemoryUse {
	rows := 0
	for _, t := range c.dictionary.tables {
		rows += len(t.rows)
	}
	groups := max(c.opt.dataNodes/c.opt.replicas(), 1)
	inGroup := int64(rows / groups)
	var all []mgm.MemoryUse
	for _, n := range c.nodes {
		if !n.alive() {
			continue
		}
		data, index := emptyData+inGroup/rowsPerPage, emptyIndex+inGroup/indexPerPage
		all = append(all, mgm.MemoryUse{
			ID:    n.id,
			Data:  mgm.Pages{Used: data, Total: memoryPages - index, PageBytes: pageBytes},
			Index: mgm.Pages{Used: index, Total: memoryPages - data, PageBytes: pageBytes},
		})
	}
	return all
}
