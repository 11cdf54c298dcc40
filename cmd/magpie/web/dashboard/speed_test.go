package dashboard_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"github.com/magpie-search/magpie/cmd/magpie/stack/stacktest"
)

const (
	entryLimit = 190_000 // bytes of gzip
	paintLimit = 1000    // milliseconds
)

// What the page names is loaded before anything is shown.
func TestTheEntryIsSmall(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("dist/index.html")
	if err != nil {
		t.Fatal(err)
	}
	var zipped bytes.Buffer
	files := regexp.MustCompile(`(?:src|href)="/(assets/[^"]+)"`).FindAllSubmatch(page, -1)
	for _, file := range files {
		content, err := os.ReadFile("dist/" + string(file[1]))
		if err != nil {
			t.Fatal(err)
		}
		zip := gzip.NewWriter(&zipped)
		if _, err := zip.Write(content); err != nil {
			t.Fatal(err)
		}
		if err := zip.Close(); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d files, %d bytes of gzip", len(files), zipped.Len())
	if len(files) < 2 || zipped.Len() > entryLimit {
		t.Errorf("the entry is %d files with %d bytes of gzip, want at most %d", len(files), zipped.Len(), entryLimit)
	}
}

// A visit with nothing in the browser's cache. Other tests run at the same time, so the
// quickest of some visits counts, and nothing is said of a machine with more to do than
// it has processors.
func TestTheFirstPaintIsQuick(t *testing.T) {
	m := stacktest.Start(t)
	// The first page that a window opens waits until the browser has started a process.
	paintsQuickly(t, visitor(t, m, "/sign-in"))
	paintsQuickly(t, signIn(t, m, stacktest.Email, stacktest.Password, "/search"))
}

func paintsQuickly(t *testing.T, tab *person) {
	t.Helper()
	path := tab.Text(`location.pathname`)
	tab.Do(network.Enable(), network.SetCacheDisabled(true))
	var paints []int
	for range 8 {
		tab.Do(chromedp.Reload())
		tab.Until(`settled() && performance.getEntriesByName("first-contentful-paint").length`)
		paint, err := strconv.Atoi(tab.Text(`Math.ceil(performance.getEntriesByName("first-contentful-paint")[0].startTime)`))
		if err != nil {
			t.Fatal(err)
		}
		paints = append(paints, paint)
	}
	slices.Sort(paints)
	t.Logf("%s: first contentful paint after %d ms", path, paints)
	if paints[0] <= paintLimit {
		return
	}
	var busy float64
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		_, _ = fmt.Sscan(string(text), &busy) // it stays 0
	}
	if busy > float64(runtime.NumCPU()) {
		t.Skipf("the machine is too busy to measure the first contentful paint of %s: its load is %.1f", path, busy)
	}
	t.Errorf("%s: the first contentful paint takes %d ms, want at most %d", path, paints[0], paintLimit)
}
