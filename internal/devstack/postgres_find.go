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
	// Filtered search needs the iterative scans of pgvector 0.8.
	oldestVectorMajor, oldestVectorMinor = 0, 8
	remedyDatabase                       = "run make setup, or set DATABASE_URL"
)

// ErrProgramMissing is wrapped by errors about a program that is not installed.
var ErrProgramMissing = errors.New("a program is missing")

// postgresPrograms is an installation of PostgreSQL with pgvector.
type postgresPrograms struct {
	bin   string
	major int
}

func (p postgresPrograms) path(program string) string { return filepath.Join(p.bin, program) }

var (
	postgresVersion = regexp.MustCompile(`\(PostgreSQL\) (\d+)`)
	vectorVersion   = regexp.MustCompile(`(?m)^default_version\s*=\s*'(\d+)\.(\d+)`)
)

// findPostgres returns the newest usable installation. A major version other than 0 is the version of the data folder,
// which the installation must match.
func findPostgres(ctx context.Context, major int) (postgresPrograms, error) {
	var usable []postgresPrograms
	var problems []string
	for _, bin := range postgresFolders(ctx) {
		found, problem := inspectPostgres(ctx, bin)
		switch {
		case problem != "":
			problems = append(problems, problem)
		case major != 0 && found.major != major:
			problems = append(problems, fmt.Sprintf("PostgreSQL %d in %s cannot read data of version %d", found.major, bin, major))
		default:
			usable = append(usable, found)
		}
	}
	if len(usable) > 0 {
		return slices.MaxFunc(usable, func(a, b postgresPrograms) int { return cmp.Compare(a.major, b.major) }), nil
	}
	message := fmt.Sprintf("PostgreSQL %d or newer with pgvector %d.%d or newer was not found", oldestPostgres, oldestVectorMajor, oldestVectorMinor)
	if major != 0 {
		message = fmt.Sprintf("the data folder needs PostgreSQL %d with pgvector, which was not found (install it, or remove the data folder to start with an empty one)", major)
	}
	if len(problems) > 0 {
		message += " (" + strings.Join(problems, "; ") + ")"
	}
	return postgresPrograms{}, fmt.Errorf("%w: %s; %s", ErrProgramMissing, message, remedyDatabase)
}

// postgresFolders returns the program folders of the installations, each once.
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
		// The only error is a malformed pattern; these are constants.
		found, _ := filepath.Glob(pattern)
		folders = append(folders, found...)
	}
	if program, err := exec.LookPath("initdb"); err == nil {
		folders = append(folders, filepath.Dir(program))
	}
	if program, err := exec.LookPath("pg_config"); err == nil {
		if output, err := exec.CommandContext(ctx, program, "--bindir").Output(); err == nil { //nolint:gosec // found in the caller's PATH
			folders = append(folders, strings.TrimSpace(string(output)))
		}
	}
	var unique []string
	for _, folder := range folders {
		if resolved, err := filepath.EvalSymlinks(folder); err == nil && !slices.Contains(unique, resolved) {
			unique = append(unique, resolved)
		}
	}
	return unique
}

// inspectPostgres returns the installation in the folder bin, or the reason why it cannot be used.
func inspectPostgres(ctx context.Context, bin string) (programs postgresPrograms, problem string) {
	for _, program := range []string{"postgres", "initdb"} {
		if _, err := os.Stat(filepath.Join(bin, program)); err != nil {
			return postgresPrograms{}, fmt.Sprintf("%s has no %s", bin, program)
		}
	}
	output, err := exec.CommandContext(ctx, filepath.Join(bin, "postgres"), "--version").Output() //nolint:gosec // one of postgresFolders
	match := postgresVersion.FindSubmatch(output)
	if err != nil || match == nil {
		return postgresPrograms{}, fmt.Sprintf("%s does not report its version", filepath.Join(bin, "postgres"))
	}
	major, err := strconv.Atoi(string(match[1]))
	if err != nil || major < oldestPostgres {
		return postgresPrograms{}, fmt.Sprintf("PostgreSQL %s in %s is too old", match[1], bin)
	}
	for _, share := range shareFolders(ctx, bin, major) {
		control, err := os.ReadFile(filepath.Join(share, "extension", "vector.control")) //nolint:gosec // one of postgresFolders
		if err != nil {
			continue
		}
		version := vectorVersion.FindSubmatch(control)
		if version == nil {
			continue
		}
		// Both are digits; a number that overflows becomes the largest int.
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
	if output, err := exec.CommandContext(ctx, filepath.Join(bin, "pg_config"), "--sharedir").Output(); err == nil { //nolint:gosec // one of postgresFolders
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
