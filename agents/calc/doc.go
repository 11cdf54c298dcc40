// Package calc evaluates arithmetic that people and models write: exactly where
// a result is a fraction, and to 15 digits where it is not. What an expression
// may cost is bounded in length, depth and size of its numbers. It imports
// nothing of Magpie.
package calc
