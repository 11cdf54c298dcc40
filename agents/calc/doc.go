// Package calc evaluates arithmetic expressions that people and models write.
// Results are exact where they are fractions, and have 15 digits otherwise. The
// length, the nesting depth and the size of the numbers of an expression are
// bounded. The package imports nothing of Magpie.
package calc
