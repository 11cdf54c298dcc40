package main

import (
	"context"
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

// completions are the scripts that complete commands in a shell, by their places in
// an archive.
func completions() map[string]string {
	return map[string]string{"bash": "completions/magpie.bash", "zsh": "completions/_magpie", "fish": "completions/magpie.fish"}
}

// makePages lets the program of this machine write its manual pages and
// completions. If it was not built, they are missing, and the output says so.
func (r *release) makePages(ctx context.Context, programs string) error {
	program := filepath.Join(programs, r.host.system+"-"+r.host.machine)
	if _, err := os.Stat(program); err != nil {
		fmt.Printf("release: no manual pages and completions: %s is not among the targets\n", r.host)
		return nil
	}
	for shell, name := range completions() {
		text, err := exec.CommandContext(ctx, program, "completion", shell).Output()
		if err != nil {
			return fmt.Errorf("magpie completion %s: %w", shell, err)
		}
		r.pages = append(r.pages, entry{name: name, content: text, mode: 0o644})
	}
	folder := filepath.Join(programs, "man1")
	if output, err := exec.CommandContext(ctx, program, "man", folder).CombinedOutput(); err != nil {
		return fmt.Errorf("magpie man: %w\n%s", err, output)
	}
	files, err := os.ReadDir(folder)
	if err != nil {
		return fmt.Errorf("list the manual pages: %w", err)
	}
	for _, f := range files {
		text, err := os.ReadFile(filepath.Join(folder, f.Name()))
		if err != nil {
			return fmt.Errorf("read a manual page: %w", err)
		}
		r.pages = append(r.pages, entry{name: "man/man1/" + f.Name(), content: text, mode: 0o644})
	}
	return nil
}
