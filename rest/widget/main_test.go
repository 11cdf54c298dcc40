package widget_test

import (
	"testing"

	"go.uber.org/goleak"
)

// withBrowser runs the tests and ends the browser that they share.
type withBrowser struct{ *testing.M }

func (m withBrowser) Run() int {
	code := m.M.Run()
	shared.stop()
	return code
}

func TestMain(m *testing.M) {
	// The log library of the SQL parser starts it by itself.
	goleak.VerifyTestMain(withBrowser{m}, goleak.IgnoreAnyFunction("github.com/golang/glog.(*fileSink).flushDaemon"))
}
