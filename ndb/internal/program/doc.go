// Package program writes the programs that data nodes run against a row, and
// runs them as a data node does.
//
// Builder assembles instructions. It cannot express what data nodes refuse or,
// worse, what stops them: a jump out of the program, an unknown instruction, a
// constant that has not the size of its column. Compile turns a Filter, an
// expression over columns, into a program by way of the Builder; Increment adds
// to a column within limits. A program is part of the ATTRINFO of a scan or of
// an interpreted key operation: see AppendInterpreted. Machine runs programs.
//
// Data nodes compare text by the collation of its column, in programs as
// anywhere: under utf8mb4_0900_ai_ci a condition on 'abc' holds for 'ABC' as
// well, and LIKE does no better. A condition that must see every change of a
// text column has to test a version column instead, or to read the row under a
// lock.
//
// Nothing here is safe for concurrent use while it is being built; finished
// programs are bytes.
package program
