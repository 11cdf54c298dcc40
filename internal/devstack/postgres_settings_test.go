package devstack

import (
	"os"
	"strings"
	"testing"
)

func TestBuffersDependOnMemory(t *testing.T) {
	t.Parallel()
	user := account{}
	for memory, want := range map[uint64]string{
		0: "'256MB'", 1 << 30: "'256MB'", 8 << 30: "'1024MB'", 1 << 40: "'4096MB'",
	} {
		if text := settings("/s", false, user, memory); !strings.Contains(text, "\nshared_buffers = "+want+"\n") {
			t.Errorf("with %d bytes:\n%s", memory, text)
		}
	}
	if _, err := os.Stat("/proc/meminfo"); err == nil && availableMemory() < 64<<20 {
		t.Errorf("there are %d bytes of memory", availableMemory())
	}
}
