// Command magpie is the program of Magpie: the server, the worker and the
// commands that operate them.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/magpie-search/magpie/cmd/magpie/command"
	"github.com/magpie-search/magpie/cmd/magpie/wire"
)

func main() {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		first, _ := (<-signals).(syscall.Signal)
		cancel(command.Interrupted{Signal: first})
		signal.Stop(signals) // a second signal ends the process immediately
	}()
	os.Exit(command.Run(ctx, os.Args[1:], command.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Drivers: wire.LogRedis, Browse: command.OpenBrowser}))
}
