// Command release builds what a release consists of, below -out: for each target
// an archive with the program, a Debian package for those on Linux, the list of
// modules in the program (CycloneDX), and SHA256SUMS over all of them. Programs
// are built without C, so that one machine builds all targets. The same commit
// gives the same bytes: all times are that of the commit.
//
//	go run ./internal/tools/release -version v1.2.0 -targets linux/amd64,darwin/arm64
//
// Allowed imports: the standard library.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
)

// everywhere is what a release is built for.
const everywhere = "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64"

func main() {
	r := release{host: target{runtime.GOOS, runtime.GOARCH}}
	flag.StringVar(&r.version, "version", "", "version of the release; default: the tag of the commit, or a pseudo-version")
	flag.StringVar(&r.out, "out", "dist", "folder for the result; what it holds is deleted")
	flag.StringVar(&r.pkg, "package", "./cmd/magpie", "package of the program")
	flag.BoolVar(&r.packages, "packages", true, "make Debian packages, with a program in a module of its own")
	targets := flag.String("targets", everywhere, "comma separated list of GOOS/GOARCH")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := r.run(ctx, *targets); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// A target is a system that a program is built for.
type target struct{ system, machine string }

func (t target) String() string { return t.system + "/" + t.machine }

func parseTargets(list string) ([]target, error) {
	var out []target
	for _, text := range strings.FieldsFunc(list, func(c rune) bool { return c == ',' || c == ' ' }) {
		system, machine, found := strings.Cut(text, "/")
		if !found || system == "" || machine == "" {
			return nil, fmt.Errorf("%q is not a target: write GOOS/GOARCH", text)
		}
		out = append(out, target{system, machine})
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("there are no targets in %q", list)
	}
	return out, nil
}

// A release is what is made.
type release struct {
	version  string
	out      string
	pkg      string
	packages bool
	host     target

	commit origin
	pages  []entry // manual pages and completions
}

func (r *release) run(ctx context.Context, list string) error {
	targets, err := parseTargets(list)
	if err != nil {
		return err
	}
	if r.commit, err = readOrigin(ctx); err != nil {
		return err
	}
	if r.version == "" {
		r.version = r.commit.version()
	}
	if err := checkVersion(r.version); err != nil {
		return err
	}
	if err := os.RemoveAll(r.out); err != nil {
		return fmt.Errorf("empty the output folder: %w", err)
	}
	programs := filepath.Join(r.out, "programs")
	if err := os.MkdirAll(programs, 0o755); err != nil {
		return fmt.Errorf("make the output folder: %w", err)
	}
	for _, t := range targets {
		fmt.Printf("release: building %s for %s\n", r.version, t)
		if err := r.build(ctx, t, filepath.Join(programs, t.system+"-"+t.machine)); err != nil {
			return err
		}
	}
	if err := r.makePages(ctx, programs); err != nil {
		return err
	}
	for _, t := range targets {
		if err := r.pack(ctx, t, filepath.Join(programs, t.system+"-"+t.machine)); err != nil {
			return fmt.Errorf("pack %s: %w", t, err)
		}
	}
	if err := os.RemoveAll(programs); err != nil {
		return fmt.Errorf("remove the programs: %w", err)
	}
	return writeSums(r.out)
}
