package google_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/magpie-search/magpie/internal/testkit/cloudkeys"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(cloudkeys.Main{Tests: m}) }
