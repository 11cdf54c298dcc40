package stack

import (
	"os"
	"strconv"
	"syscall"
)

// workerPriority is how much a worker gives way to others on its machine, as nice
// counts it: searches, which somebody waits for, come before syncs.
const workerPriority = 15

// giveWay lowers the priority of this process. On Linux it is each thread's own,
// and later threads have that of the one that begins them. What the system does not
// let it do changes nothing but the order of work.
func giveWay() {
	_ = syscall.Setpriority(syscall.PRIO_PROCESS, 0, workerPriority)
	threads, _ := os.ReadDir("/proc/self/task") // none elsewhere
	for _, thread := range threads {
		if id, err := strconv.Atoi(thread.Name()); err == nil {
			_ = syscall.Setpriority(syscall.PRIO_PROCESS, id, workerPriority)
		}
	}
}
