package ndb

// Trace has calls that a Client makes when something happens to it. Each may be
// nil. They are made by the goroutines that keep the client connected, several
// at once, so they must return soon, and must not call Close.
type Trace struct {
	// NodeChanged is called when a data node gets another state, or becomes
	// usable or not, as one API node of the client sees it.
	NodeChanged func(NodeInfo)
}
