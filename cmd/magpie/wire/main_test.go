package wire_test

import (
	"os"
	"testing"

	"github.com/magpie-search/magpie/internal/testkit/cloudkeys"
)

func TestMain(m *testing.M) { os.Exit(cloudkeys.Main{Tests: m}.Run()) }
