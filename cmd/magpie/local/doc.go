// Package local keeps the data folder of a Magpie that runs on one machine
// with services of its own: its keys and passwords, who runs in it, and the
// background process that `magpie up` starts.
//
// Allowed imports: the standard library and internal packages.
package local
