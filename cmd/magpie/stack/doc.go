// Package stack runs Magpie's parts in this process: the HTTP side, the worker
// side, or both over a PostgreSQL and Redis of their own in a data folder.
//
// Allowed imports: cmd/magpie's packages and every package of Magpie.
package stack
