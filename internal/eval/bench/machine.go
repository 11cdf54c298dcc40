package bench

import (
	"bufio"
	"bytes"
	"os"
	"runtime"
	"strconv"
	"strings"
)

// A Machine describes the hardware that a benchmark ran on.
type Machine struct {
	System    string `json:"system"`
	Processor string `json:"processor,omitempty"`
	Cores     int    `json:"cores"`
	// Memory is in bytes; 0 is unknown.
	Memory uint64 `json:"memoryBytes,omitempty"`
	// Load is the load average of the minute before the benchmark. The work of
	// other processes is part of the figures.
	Load float64 `json:"loadAverage"`
}

// ThisMachine describes the machine of this process.
func ThisMachine() Machine {
	m := Machine{System: runtime.GOOS + "/" + runtime.GOARCH, Cores: runtime.NumCPU()}
	if content, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		m.Processor = valueOf(content, "model name")
	}
	if content, err := os.ReadFile("/proc/meminfo"); err == nil {
		kilobytes, _ := strconv.ParseUint(strings.TrimSuffix(valueOf(content, "MemTotal"), " kB"), 10, 64) // 0 is unknown
		m.Memory = kilobytes * 1024
	}
	if content, err := os.ReadFile("/proc/loadavg"); err == nil {
		first, _, _ := strings.Cut(string(content), " ")
		m.Load, _ = strconv.ParseFloat(first, 64) // 0 is unknown
	}
	return m
}

// valueOf returns the value of the first line "name : value", or "".
func valueOf(content []byte, name string) string {
	lines := bufio.NewScanner(bytes.NewReader(content))
	for lines.Scan() {
		if key, value, found := strings.Cut(lines.Text(), ":"); found && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
