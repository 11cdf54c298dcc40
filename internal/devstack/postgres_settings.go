package devstack

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// minSharedMemory is the size of /dev/shm that PostgreSQL needs to build a vector index in parallel. Containers usually
// have 64 MB, where such a build fails. Memory mapped from the data folder has no such limit.
const minSharedMemory = 1 << 30

// settings returns the postgresql.conf for a machine with two cores and a number of bytes of memory, on which other
// programs run, too.
func settings(sockets string, fast bool, user account, memory uint64) string {
	values := [][2]string{
		{"listen_addresses", ""},
		{"unix_socket_directories", sockets},
		{"unix_socket_permissions", "0700"},
		{"max_connections", "200"},
		{"shared_buffers", megabytes(min(max(memory/8, 256<<20), 4<<30))}, // allocated when used
		{"effective_cache_size", megabytes(max(memory/2, 1<<30))},
		{"work_mem", "16MB"},
		{"maintenance_work_mem", "256MB"},
		{"dynamic_shared_memory_type", sharedMemoryType("/dev/shm", user)},
		{"max_worker_processes", "8"},
		{"max_parallel_workers_per_gather", "1"},
		{"jit", "off"},
		{"random_page_cost", "1.1"},
		{"min_wal_size", "128MB"},
		{"max_wal_size", "2GB"},
		{"checkpoint_timeout", "15min"},
		{"log_min_messages", "warning"},
		{"log_checkpoints", "off"},
		{"log_line_prefix", "%m [%p] %d "},
		{"log_parameter_max_length", "0"},
		{"log_parameter_max_length_on_error", "0"},
		{"log_min_error_statement", "panic"}, // statements may contain document text
		{"log_error_verbosity", "terse"},     // so may error details
		{"log_timezone", "UTC"},
		{"timezone", "UTC"},
		{"datestyle", "iso, ymd"},
		{"lc_messages", "C"},
		{"default_text_search_config", "pg_catalog.simple"},
	}
	if fast {
		values = append(values,
			[2]string{"fsync", "off"},
			[2]string{"full_page_writes", "off"},
			[2]string{"synchronous_commit", "off"},
			[2]string{"autovacuum_naptime", "5min"},
			[2]string{"shared_buffers", "128MB"},
			[2]string{"max_connections", "300"},
		)
	}
	var text strings.Builder
	text.WriteString("# Written at each start; changes made here are lost.\n")
	for _, value := range values {
		fmt.Fprintf(&text, "%s = '%s'\n", value[0], strings.ReplaceAll(value[1], "'", "''"))
	}
	return text.String()
}

// mallocSettings returns environment variables with which a PostgreSQL process keeps some megabytes of freed memory. By
// default the C library returns them to the system, and the page faults double the time of a vector index search.
func mallocSettings() []string {
	return []string{"MALLOC_TRIM_THRESHOLD_=16777216", "MALLOC_MMAP_THRESHOLD_=4194304", "MALLOC_TOP_PAD_=1048576"}
}

func megabytes(bytes uint64) string { return strconv.FormatUint(bytes>>20, 10) + "MB" }

// availableMemory returns the number of bytes of memory that this process may use, or 0 when it is unknown.
func availableMemory() uint64 {
	var machine, group uint64
	if content, err := os.ReadFile("/proc/meminfo"); err == nil {
		_, _ = fmt.Sscanf(string(content), "MemTotal: %d kB", &machine) // 0 when it fails
		machine <<= 10
	}
	if content, err := os.ReadFile("/sys/fs/cgroup/memory.max"); err == nil {
		group, _ = strconv.ParseUint(strings.TrimSpace(string(content)), 10, 64) // 0 for "max", which is no limit
	}
	if group > 0 {
		return min(machine, group)
	}
	return machine
}

func sharedMemoryType(folder string, user account) string {
	var status syscall.Statfs_t
	if err := syscall.Statfs(folder, &status); err != nil {
		return "mmap"
	}
	if uint64(status.Blocks)*uint64(status.Bsize) < minSharedMemory { //nolint:gosec // the types differ between systems
		return "mmap"
	}
	// Without the usual mount, as in a chroot, the folder belongs to root.
	if !user.canWrite(folder) {
		return "mmap"
	}
	return "posix"
}

// accessRules is the pg_hba.conf. Every process that can enter the private socket folder may connect as any role,
// and copy the server.
const accessRules = "# Sockets only, in a folder that no other user can enter.\nlocal all all trust\nlocal replication all trust\n"
