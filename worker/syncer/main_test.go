package syncer_test

import (
	"flag"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// victimFlag makes this program a worker of the kill test.
var victimFlag = flag.String("victim", "", "the plan of a worker of the kill test, as JSON")

func TestMain(m *testing.M) {
	flag.Parse()
	if *victimFlag != "" {
		os.Exit(runVictim(*victimFlag))
	}
	goleak.VerifyTestMain(m)
}
