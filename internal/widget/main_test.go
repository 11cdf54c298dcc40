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

func TestMain(m *testing.M) { goleak.VerifyTestMain(withBrowser{m}) }
