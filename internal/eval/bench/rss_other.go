//go:build !darwin

package bench

// maxrssUnit is the unit of syscall.Rusage.Maxrss in bytes.
const maxrssUnit = 1024
