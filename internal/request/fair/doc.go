// Package fair shares the capacity of a process between workspaces: a Gate lets only so
// many calls run at a time, and gives a free place to the workspace with the fewest.
//
// The package may import google/uuid and the standard library.
package fair
