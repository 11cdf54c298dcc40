package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// stamps is the package whose variables hold the version of a release.
const stamps = "github.com/magpie-search/magpie/internal/system"

// build writes the program for a target.
func (r *release) build(ctx context.Context, t target, path string) error {
	flags := []string{
		"-s", "-w", "-buildid=",
		"-X", stamps + ".version=" + r.version,
		"-X", stamps + ".commit=" + r.commit.revision(),
		"-X", stamps + ".date=" + r.commit.time.Format("2006-01-02T15:04:05Z"),
	}
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags", strings.Join(flags, " "), "-o", path, r.pkg)
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+t.system, "GOARCH="+t.machine)
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("build for %s: %w", t, err)
	}
	return nil
}

// pages are the manual pages and completions that a program writes: the
// arguments that write one to the standard output, and its place in an archive.
var pages = []struct {
	name      string
	arguments []string
}{
	{"completions/magpie.bash", []string{"completion", "bash"}},
	{"completions/_magpie", []string{"completion", "zsh"}},
	{"completions/magpie.fish", []string{"completion", "fish"}},
	{"man/man1/magpie.1", []string{"man"}},
}

// notUnderstood is the exit status of a command line with an unknown command.
const notUnderstood = 2

// makePages asks the program of this machine for them. If it was not built, they
// are missing, and the output says so.
func (r *release) makePages(ctx context.Context, programs string) error {
	program := filepath.Join(programs, r.host.system+"-"+r.host.machine)
	if _, err := os.Stat(program); err != nil {
		fmt.Printf("release: no manual pages and completions: %s is not among the targets\n", r.host)
		return nil
	}
	for _, page := range pages {
		text, err := exec.CommandContext(ctx, program, page.arguments...).Output()
		var failed *exec.ExitError
		if errors.As(err, &failed) && failed.ExitCode() == notUnderstood {
			fmt.Printf("release: no %s: there is no command %s\n", page.name, page.arguments[0])
			continue
		}
		if err != nil {
			return fmt.Errorf("magpie %s: %w", strings.Join(page.arguments, " "), err)
		}
		r.pages = append(r.pages, entry{name: page.name, content: text, mode: 0o644})
	}
	return nil
}
