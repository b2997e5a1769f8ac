// Package row turns Go values into the column values that signals carry, and
// back.
//
// A value travels in one of three forms (Form): in ATTRINFO behind a header
// word, bare in KEYINFO, and bare and unpadded as a constant of a program. The
// Append functions write all three. Rows come back in TRANSID_AI, either as
// headers and values or packed behind one bitmap; a Projection asks for them and
// finds each value without copying it.
//
// Nothing here keeps state between calls; Projections and columns are read
// only, so that everything is safe for concurrent use.
package row
