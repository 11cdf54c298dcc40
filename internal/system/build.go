package system

import "runtime/debug"

// Set by the linker of a release (internal/tools/release); empty in other builds.
var version, commit, date string

// A Build says what a program was built from.
type Build struct {
	// Version is that of the release or of the module, "devel" if neither is known.
	Version string `json:"version"`
	// Commit is the revision of the sources, with "+dirty" if they were changed; "" if unknown.
	Commit string `json:"revision"`
	// Date is the time of the commit in RFC 3339; "" if unknown.
	Date string `json:"date"`
	// Go is the version of the toolchain.
	Go string `json:"go"`
}

// ReadBuild returns what the running program was built from.
func ReadBuild() Build {
	b := Build{Version: version, Commit: commit, Date: date}
	if info, ok := debug.ReadBuildInfo(); ok {
		b.Go = info.GoVersion
		if b.Version == "" && info.Main.Version != "(devel)" {
			b.Version = info.Main.Version
		}
		if b.Commit == "" {
			b.Commit, b.Date = source(info.Settings)
		}
	}
	if b.Version == "" {
		b.Version = "devel"
	}
	return b
}

// source returns the commit and its time, as the go command records them.
func source(settings []debug.BuildSetting) (commit, date string) {
	changed := ""
	for _, s := range settings {
		switch s.Key {
		case "vcs.revision":
			commit = s.Value
		case "vcs.time":
			date = s.Value
		case "vcs.modified":
			if s.Value == "true" {
				changed = "+dirty"
			}
		}
	}
	if commit == "" {
		return "", ""
	}
	return commit + changed, date
}

// Version is the program's version as its build recorded it.
func Version() string { return ReadBuild().Version }
