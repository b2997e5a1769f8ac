package signal

import "fmt"

// NodeID names a node of the cluster: 1 to 255.
type NodeID uint8

// Block is a block number as it travels: the main number, and above it the
// instance of a block that runs several times.
type Block uint16

// The blocks of data nodes that an API node speaks to, and its own.
const (
	BlockDBTC    Block = 0xF5
	BlockDBDIH   Block = 0xF6
	BlockDBDICT  Block = 0xFA
	BlockQMGR    Block = 0xFC
	BlockPacked  Block = 0x7FF // no block: a message that holds several signals
	BlockCluster Block = 0xFA2 // the cluster manager of an API node
	BlockAPI     Block = 0x8000
)

const (
	blockMainBits = 9
	blockMainMask = 1<<blockMainBits - 1
	maxInstance   = 1<<(16-blockMainBits) - 1
)

// Main is the block number without the instance, for blocks of data nodes.
func (b Block) Main() Block { return b & blockMainMask }

// Instance is the instance of a block of a data node.
func (b Block) Instance() int { return int(b >> blockMainBits) }

// WithInstance is the block's instance i.
func (b Block) WithInstance(i int) Block { return b.Main() | Block(i)<<blockMainBits }

// BlockRef is the address of a block: its number and its node.
type BlockRef uint32

// NewBlockRef returns the address of block b on node n.
func NewBlockRef(b Block, n NodeID) BlockRef { return BlockRef(b)<<16 | BlockRef(n) }

// Block is the block's number.
func (r BlockRef) Block() Block { return Block(r >> 16) }

// Node is the block's node.
func (r BlockRef) Node() NodeID { return NodeID(r) }

// String gives the block and the node in hexadecimal and decimal.
func (r BlockRef) String() string { return fmt.Sprintf("%#x@%d", uint16(r.Block()), r.Node()) }

// RNIL says that there is no record.
const RNIL uint32 = 0xffffff00

// TransID names a transaction. Two that are open at once must never be equal:
// the data nodes stop.
type TransID struct{ Low, High uint32 }
