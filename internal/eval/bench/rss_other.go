//go:build !darwin

package command

// rssUnit is what the system counts a process's memory in, in bytes.
const rssUnit = 1024
