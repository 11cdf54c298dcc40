// Package texttosql judges statements that a model wrote for questions about databases. It
// reads sets of questions with right statements (gold), and compares the rows of a statement
// with theirs, as Defog's sql-eval does (github.com/defog-ai/sql-eval).
//
// The package imports nothing of Magpie.
package texttosql
