package devstack_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/magpie-search/magpie/internal/devstack"

	"go.uber.org/goleak"
)

// TestMain starts and holds a stack until the process is killed when the arguments are "hold DIR".
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "hold" {
		stack, err := devstack.Start(context.Background(), devstack.Options{Dir: os.Args[2], Fast: true})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Println("holding", stack.Adopted)
		select {}
	}
	goleak.VerifyTestMain(m)
}
