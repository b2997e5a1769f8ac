package ndb

import (
	"context"
	"slices"

	"github.com/ndbgate/ndbgate/ndb/internal/mgm"
)

// Pages is how much of one kind of its memory a data node uses.
type Pages struct {
	Used, Total int64 // pages
	PageBytes   int64
}

// UsedBytes is how much is in use.
func (p Pages) UsedBytes() int64 { return p.Used * p.PageBytes }

// TotalBytes is how much there is.
func (p Pages) TotalBytes() int64 { return p.Total * p.PageBytes }

// MemoryUse is how much memory a data node uses. Both kinds are taken from the
// node's DataMemory: what one uses is not in the Total of the other.
type MemoryUse struct {
	ID    int
	Data  Pages // rows and ordered indexes
	Index Pages // hash indexes
}

// MemoryUse asks the data nodes, by way of a management server, how much memory
// they use. They come in ascending order; those without a connection are left
// out. A data node that hangs holds the answer up until the others declare it
// failed, which takes some seconds. Callers share one question at a time, and
// its answer for a second. The slice is the caller's. Errors are those of
// ClusterStatus.
func (c *Client) MemoryUse(ctx context.Context) ([]MemoryUse, error) {
	nodes, err := askShared(ctx, c, &c.memory, askMemory)
	return slices.Clone(nodes), err
}

func askMemory(ctx context.Context, session *mgm.Session) ([]MemoryUse, error) {
	nodes, err := session.MemoryUse(ctx)
	if err != nil {
		return nil, err
	}
	all := make([]MemoryUse, len(nodes))
	for i, n := range nodes {
		all[i] = MemoryUse{ID: int(n.ID), Data: Pages(n.Data), Index: Pages(n.Index)}
	}
	return all, nil
}
