package command

import (
	"fmt"
	"io"

	"github.com/alecthomas/kong"

	"github.com/magpie-search/magpie/internal/system"
)

type versionCommand struct{}

// Run prints what the program was built from.
func (versionCommand) Run(r *runtime) error {
	b := system.ReadBuild()
	return r.console.Result(b, func() { printBuild(r.streams.Out, b) })
}

// versionFlag is --version, which works beside any command and without settings.
type versionFlag bool

// BeforeReset prints the version as the command does, and ends the program.
func (versionFlag) BeforeReset(app *kong.Kong) error {
	printBuild(app.Stdout, system.ReadBuild())
	app.Exit(0)
	return nil
}

// printBuild prints a build. Errors are ignored: the pipe may be closed.
func printBuild(out io.Writer, b system.Build) {
	_, _ = fmt.Fprintf(out, "magpie %s\n", b.Version)
	for _, line := range [][2]string{{"commit", b.Commit}, {"date", b.Date}, {"go", b.Go}} {
		if line[1] != "" {
			_, _ = fmt.Fprintf(out, "%-8s%s\n", line[0], line[1])
		}
	}
}
