package conformance_test

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain leaves out what the log library of the SQL parser starts by itself.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/golang/glog.(*fileSink).flushDaemon"))
}
