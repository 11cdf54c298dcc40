// Package driverlog makes events of the process's own log of the lines that
// drivers write, such as those of Redis and of the queue. A driver that fails
// over and over says so once in a while. It imports nothing of Magpie.
package driverlog
