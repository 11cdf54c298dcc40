// Package local manages the data folder of a Magpie on one machine with private
// services: keys and passwords, the record of the running process, and the
// background process of `magpie up`.
//
// Allowed imports: the standard library, internal packages and testdata/demo.
package local
