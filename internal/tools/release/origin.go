package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"time"
)

// An origin is the commit that a release is built from.
type origin struct {
	hash  string
	time  time.Time
	tag   string // a version that is the tag of the commit, or ""
	dirty bool   // the working tree differs from the commit
}

// readOrigin reads the commit of the current folder.
func readOrigin(ctx context.Context) (origin, error) {
	shown, err := git(ctx, "show", "--no-patch", "--format=%H %cI", "HEAD")
	if err != nil {
		return origin{}, err
	}
	hash, at, _ := strings.Cut(shown, " ")
	when, err := time.Parse(time.RFC3339, at)
	if err != nil {
		return origin{}, fmt.Errorf("read the time of the commit: %w", err)
	}
	o := origin{hash: hash, time: when.UTC()}
	tags, err := git(ctx, "tag", "--points-at", "HEAD", "--list", "v*")
	if err != nil {
		return origin{}, err
	}
	for _, tag := range strings.Fields(tags) {
		if checkVersion(tag) == nil {
			o.tag = tag
		}
	}
	status, err := git(ctx, "status", "--porcelain", "--untracked-files=no")
	o.dirty = status != ""
	return o, err
}

func git(ctx context.Context, arguments ...string) (string, error) {
	output, err := exec.CommandContext(ctx, "git", arguments...).Output()
	if err != nil {
		var failed *exec.ExitError
		if errors.As(err, &failed) {
			err = errors.New(string(bytes.TrimSpace(failed.Stderr)))
		}
		return "", fmt.Errorf("git %s: %w", arguments[0], err)
	}
	return strings.TrimSpace(string(output)), nil
}

// version returns the tag, or a version as the go command makes it of a commit without one.
func (o origin) version() string {
	version := o.tag
	if version == "" {
		version = "v0.0.0-" + o.time.Format("20060102150405") + "-" + o.hash[:12]
	}
	if o.dirty {
		version += "+dirty"
	}
	return version
}

// revision returns the hash, with a mark if it is not all that was built.
func (o origin) revision() string {
	if o.dirty {
		return o.hash + "+dirty"
	}
	return o.hash
}

var versionForm = regexp.MustCompile(`^v\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.]+)?$`)

func checkVersion(version string) error {
	if !versionForm.MatchString(version) {
		return fmt.Errorf("%q is not a version: write v1.2.3 or v1.2.3-rc.1", version)
	}
	return nil
}
