// Package driverlog turns the lines that drivers write, such as those of Redis and
// of the queue, into events of the process's log. A driver that fails repeatedly is
// logged once in a while.
//
// Allowed imports: none of Magpie.
package driverlog
