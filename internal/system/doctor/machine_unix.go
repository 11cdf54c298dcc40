//go:build unix

package doctor

import (
	"context"
	"net/url"
	"os"
	"path/filepath"
	"syscall"

	"github.com/magpie-search/magpie/internal/humanize"
)

// Limits of what is in order.
const (
	minFiles     = 4096
	minFree      = 5 << 30
	minFreeError = 200 << 20
)

// machine checks the limits of a process and the disks.
func (r *report) machine(context.Context) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err == nil {
		if limit.Cur < minFiles {
			r.warn("A process may open %d files, if it runs as this command does.", "Raise the limit to 65536 (LimitNOFILE=, ulimit -n): each connection is one.", limit.Cur)
		} else {
			r.ok("A process may open %d files.", limit.Cur)
		}
	}
	folders := [][2]string{{"temporary files", os.TempDir()}}
	if store, err := url.Parse(r.Config.BlobURL); err == nil && store.Scheme == "file" {
		folders = append(folders, [2]string{"uploaded files", filepath.FromSlash(store.Path)})
	}
	if r.Config.CacheDir != "" {
		folders = append(folders, [2]string{"the cache", r.Config.CacheDir})
	}
	for _, f := range folders {
		free, ok := freeBytes(f[1])
		if !ok {
			continue // it is made at the first use
		}
		const text = "The folder of %s has %s left."
		folder, left := Known(f[0]), Known(humanize.Bytes(free))
		switch {
		case free < minFreeError:
			r.fail(text, "Free some of the disk.", folder, left)
		case free < minFree:
			r.warn(text, "Free some of the disk, or use a larger one.", folder, left)
		default:
			r.ok(text, folder, left)
		}
	}
}

func freeBytes(folder string) (int64, bool) {
	var state syscall.Statfs_t
	if err := syscall.Statfs(folder, &state); err != nil {
		return 0, false
	}
	return int64(state.Bavail) * int64(state.Bsize), true //nolint:gosec,unconvert // the types differ between systems
}
