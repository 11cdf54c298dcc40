package widget_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/magpie-search/magpie/internal/testkit/browser"
)

// withBrowser runs the tests and then stops the shared browser.
type withBrowser struct{ *testing.M }

func (m withBrowser) Run() int {
	code := m.M.Run()
	browser.Stop()
	return code
}

func TestMain(m *testing.M) {
	// glog, which the SQL parser uses, starts this goroutine.
	goleak.VerifyTestMain(withBrowser{m}, goleak.IgnoreAnyFunction("github.com/golang/glog.(*fileSink).flushDaemon"))
}
