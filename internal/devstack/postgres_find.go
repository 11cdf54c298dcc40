package devstack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const (
	oldestPostgres = 15
	// pgvector 0.8 brought the iterative scans that filtered search depends on.
	oldestVectorMajor, oldestVectorMinor = 0, 8
	remedyDatabase                       = "run make setup, or give DATABASE_URL"
)

// ErrProgramMissing is wrapped by the errors that say which program has to be installed.
var ErrProgramMissing = errors.New("a program is missing")

// postgresPrograms is one installation of PostgreSQL that has pgvector.
type postgresPrograms struct {
	bin   string
	major int
}

func (p postgresPrograms) path(program string) string { return filepath.Join(p.bin, program) }

var (
	postgresVersion = regexp.MustCompile(`\(PostgreSQL\) (\d+)`)
	vectorVersion   = regexp.MustCompile(`(?m)^default_version\s*=\s*'(\d+)\.(\d+)`)
)

// findPostgres looks for the newest installation that is new enough and has pgvector; major, when not 0, must be matched,
// because the data folder was made by it.
func findPostgres(ctx context.Context, major int) (postgresPrograms, error) {
	var usable []postgresPrograms
	var seen []string
	for _, bin := range postgresFolders(ctx) {
		found, problem := inspectPostgres(ctx, bin)
		switch {
		case problem != "":
			seen = append(seen, problem)
		case major != 0 && found.major != major:
			seen = append(seen, fmt.Sprintf("PostgreSQL %d in %s does not read data of version %d", found.major, bin, major))
		default:
			usable = append(usable, found)
		}
	}
	if len(usable) > 0 {
		return slices.MaxFunc(usable, func(a, b postgresPrograms) int { return cmp.Compare(a.major, b.major) }), nil
	}
	wanted := fmt.Sprintf("PostgreSQL %d or newer with pgvector %d.%d or newer was not found", oldestPostgres, oldestVectorMajor, oldestVectorMinor)
	if major != 0 {
		wanted = fmt.Sprintf("the data folder needs PostgreSQL %d with pgvector, which was not found (install it again, or remove the data folder to start anew)", major)
	}
	if len(seen) > 0 {
		wanted += " (" + strings.Join(seen, "; ") + ")"
	}
	return postgresPrograms{}, fmt.Errorf("%w: %s; %s", ErrProgramMissing, wanted, remedyDatabase)
}

// postgresFolders lists where installations keep their programs, each folder once.
func postgresFolders(ctx context.Context) []string {
	var folders []string
	for _, pattern := range []string{
		"/usr/lib/postgresql/*/bin",
		"/usr/pgsql-*/bin",
		"/opt/homebrew/opt/postgresql@*/bin",
		"/usr/local/opt/postgresql@*/bin",
		"/home/linuxbrew/.linuxbrew/opt/postgresql@*/bin",
		"/usr/local/pgsql/bin",
	} {
		// The patterns are constants, so the only possible error, a malformed one, cannot occur.
		found, _ := filepath.Glob(pattern)
		folders = append(folders, found...)
	}
	if program, err := exec.LookPath("initdb"); err == nil {
		folders = append(folders, filepath.Dir(program))
	}
	if program, err := exec.LookPath("pg_config"); err == nil {
		if output, err := exec.CommandContext(ctx, program, "--bindir").Output(); err == nil { //nolint:gosec // found on the caller's own PATH
			folders = append(folders, strings.TrimSpace(string(output)))
		}
	}
	var once []string
	for _, folder := range folders {
		if resolved, err := filepath.EvalSymlinks(folder); err == nil && !slices.Contains(once, resolved) {
			once = append(once, resolved)
		}
	}
	return once
}

// inspectPostgres returns the installation in bin, or why it is of no use.
func inspectPostgres(ctx context.Context, bin string) (postgresPrograms, string) {
	for _, program := range []string{"postgres", "initdb"} {
		if _, err := os.Stat(filepath.Join(bin, program)); err != nil {
			return postgresPrograms{}, fmt.Sprintf("%s has no %s", bin, program)
		}
	}
	output, err := exec.CommandContext(ctx, filepath.Join(bin, "postgres"), "--version").Output() //nolint:gosec // a listed folder
	match := postgresVersion.FindSubmatch(output)
	if err != nil || match == nil {
		return postgresPrograms{}, fmt.Sprintf("%s does not say its version", filepath.Join(bin, "postgres"))
	}
	major, err := strconv.Atoi(string(match[1]))
	if err != nil || major < oldestPostgres {
		return postgresPrograms{}, fmt.Sprintf("PostgreSQL %s in %s is too old", match[1], bin)
	}
	for _, share := range shareFolders(ctx, bin, major) {
		control, err := os.ReadFile(filepath.Join(share, "extension", "vector.control")) //nolint:gosec // a listed folder
		if err != nil {
			continue
		}
		version := vectorVersion.FindSubmatch(control)
		if version == nil {
			continue
		}
		// Both are digits; a number too long for an int is new enough in any case.
		first, _ := strconv.Atoi(string(version[1]))
		second, _ := strconv.Atoi(string(version[2]))
		if first > oldestVectorMajor || (first == oldestVectorMajor && second >= oldestVectorMinor) {
			return postgresPrograms{bin: bin, major: major}, ""
		}
		return postgresPrograms{}, fmt.Sprintf("PostgreSQL %d in %s has pgvector %s.%s, which is too old", major, bin, version[1], version[2])
	}
	return postgresPrograms{}, fmt.Sprintf("PostgreSQL %d in %s has no pgvector", major, bin)
}

func shareFolders(ctx context.Context, bin string, major int) []string {
	var folders []string
	if output, err := exec.CommandContext(ctx, filepath.Join(bin, "pg_config"), "--sharedir").Output(); err == nil { //nolint:gosec // a listed folder
		folders = append(folders, strings.TrimSpace(string(output)))
	}
	version := strconv.Itoa(major)
	return append(folders,
		filepath.Join("/usr/share/postgresql", version),
		filepath.Join(bin, "..", "share", "postgresql@"+version),
		filepath.Join(bin, "..", "share", "postgresql"),
		filepath.Join(bin, "..", "share"),
	)
}
