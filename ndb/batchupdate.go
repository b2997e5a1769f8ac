package ndb

// UpdateWith changes a row, as Update does; prepare gives the operation more to
// do before it leaves: a condition (If), an Increment, the row to read
// (Returning), which then is the operation's until its result is given. Other
// methods of the operation must not be called, nor any once prepare has returned.
func (b *Batch) UpdateWith(v *Values, prepare func(op *Operation)) (n int) {
	item := b.newItem(opUpdate)
	err := item.op.setWrite(v)
	if err == nil {
		prepare(&item.op)
		err = item.op.err
	}
	return b.start(item, err)
}
