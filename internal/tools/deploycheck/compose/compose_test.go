// Package compose tests deploy/compose.yaml with the library of the specification.
//
// Allowed imports: the standard library and compose-go.
package compose_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
)

const deploy = "../../../../deploy"

// The specification's own library resolves the file with an environment as
// .env.example describes it.
func TestComposeReadsTheFile(t *testing.T) {
	t.Parallel()
	example, err := os.ReadFile(filepath.Join(deploy, ".env.example"))
	if err != nil {
		t.Fatal(err)
	}
	var environment []string
	for _, m := range regexp.MustCompile(`(?m)^([A-Z_]+)=$`).FindAllStringSubmatch(string(example), -1) {
		environment = append(environment, m[1]+"=value-of-"+strings.ToLower(m[1]))
	}
	load := func(environment []string, services int, profiles ...string) error {
		options, err := cli.NewProjectOptions([]string{filepath.Join(deploy, "compose.yaml")}, cli.WithEnv(environment), cli.WithWorkingDirectory(deploy), cli.WithProfiles(profiles))
		if err != nil {
			return err
		}
		project, err := options.LoadProject(t.Context())
		if err != nil {
			return err
		}
		if len(project.Services) != services {
			t.Errorf("with the profiles %q there are %d services, want %d", profiles, len(project.Services), services)
		}
		serve := project.Services["serve"]
		if got := serve.Environment["BASE_URL"]; got == nil || *got != "https://value-of-magpie_domain" {
			t.Errorf("BASE_URL is %v", got)
		}
		if serve.Environment["DATABASE_URL"] == nil || serve.Environment["SESSION_KEY"] == nil || len(serve.CapDrop) != 1 {
			t.Errorf("serve is %+v", serve)
		}
		for _, name := range []string{"postgres", "redis"} {
			if _, outside := project.Services[name].Networks["front"]; outside || len(project.Services[name].Ports) > 0 {
				t.Errorf("%s can be reached from outside", name)
			}
		}
		backup, asked := project.Services["backup"]
		if asked && (!strings.HasPrefix(*backup.Environment["MIGRATE_DATABASE_URL"], "postgres://magpie_owner:") || *backup.Environment["SECRET_KEYS"] == "" || *backup.Environment["BLOB_URL"] == "") {
			t.Errorf("a backup has the settings %v", backup.Environment)
		}
		return nil
	}
	if err := load(environment, 6); err != nil {
		t.Error(err)
	}
	if err := load(environment, 7, "backup"); err != nil {
		t.Error(err)
	}
	if err := load(environment[1:], 6); err == nil {
		t.Error("a missing value is not noticed")
	}
}
