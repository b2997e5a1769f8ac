package models

import "bytes"

// Limits of a kept answer, which are those of its columns in deploy/schema.sql.
const (
	MaxCallerBytes         = 64
	MaxIdempotencyKeyBytes = 255
	MaxKeptAnswerBytes     = 24_000
)

// KeptAnswer is the answer of a write that is done, under the idempotency key
// that its client gave: one row of the table idempotency. It is there exactly
// when what the write did is. Its slices are never nil.
type KeptAnswer struct {
	// Caller is whose key it is: different callers may choose the same one. It is
	// empty as long as the gateway does not tell its callers apart.
	Caller []byte `gorm:"column:caller;primaryKey"`
	Key    []byte `gorm:"column:idempotency_key;primaryKey"` // 1 byte at least
	// Request stands for all of the request that its answer depends on, as 64
	// hexadecimal digits: another one with the same key is a mistake.
	Request []byte `gorm:"column:request"`
	// Made and Expires are milliseconds of Unix time. From Expires on the key is
	// free again.
	Made    int64  `gorm:"column:made"`
	Expires int64  `gorm:"column:expires"`
	Answer  []byte `gorm:"column:answer"` // as the gateway encodes it
}

// TableName is the table that GORM and the native road use.
func (KeptAnswer) TableName() string { return "idempotency" }

// Answers tells whether a is the answer of the request that other was made for.
func (a *KeptAnswer) Answers(other *KeptAnswer) bool { return bytes.Equal(a.Request, other.Request) }

// ExpiredBy tells whether the key was free again when other was made.
func (a *KeptAnswer) ExpiredBy(other *KeptAnswer) bool { return a.Expires <= other.Made }
