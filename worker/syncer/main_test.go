package syncer_test

import (
	"flag"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// victim, when set, makes this program a worker that is going to be killed; see
// the kill test.
var victim = flag.String("victim", "", "what a worker to be killed works on (JSON)")

func TestMain(m *testing.M) {
	flag.Parse()
	if *victim != "" {
		os.Exit(runVictim(*victim))
	}
	goleak.VerifyTestMain(m)
}
