package deploy_test

import (
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"text/template"
	"text/template/parse"

	"gopkg.in/yaml.v3"

	"github.com/magpie-search/magpie/internal/config"
)

func read(t *testing.T, path ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// units returns copies of the services, whose program exists on this machine, and of the timers.
func units(t *testing.T) (services, timers []string) {
	t.Helper()
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		if runtime.GOOS != "linux" {
			t.Skip("only systems with systemd can check its units")
		}
		t.Fatal("systemd-analyze is missing; run scripts/setup.sh --tests")
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	list := func(pattern string, count int) []string {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) != count {
			t.Fatalf("there are %d of %s: %v", len(files), pattern, err)
		}
		for i, file := range files {
			text := strings.ReplaceAll(read(t, file), "/usr/bin/magpie", program)
			files[i] = filepath.Join(folder, filepath.Base(file))
			if err := os.WriteFile(files[i], []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return files
	}
	return list("systemd/*.service", 4), list("systemd/*.timer", 1)
}

func TestUnitsAreInOrder(t *testing.T) {
	t.Parallel()
	services, timers := units(t)
	for _, file := range append(services, timers...) {
		if output, err := exec.CommandContext(t.Context(), "systemd-analyze", "verify", "--man=no", file).CombinedOutput(); err != nil || len(output) > 0 {
			t.Errorf("%s: %v\n%s", filepath.Base(file), err, output)
		}
	}
}

func TestUnitsAreConfined(t *testing.T) {
	t.Parallel()
	services, _ := units(t)
	for _, file := range services {
		// From 0, closed, to 100, open: a service without any restriction has 96.
		output, err := exec.CommandContext(t.Context(), "systemd-analyze", "security", "--offline=yes", "--threshold=15", "--no-pager", file).CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", filepath.Base(file), err, output)
		}
	}
}

func TestScriptsCanBeRead(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"postinst", "prerm", "postrm", "create-database", "magpie-admin"} {
		if output, err := exec.CommandContext(t.Context(), "sh", "-n", filepath.Join("debian", name)).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", name, err, output)
		}
	}
}

// As root, magpie-admin reads the settings as the units do, and what the user magpie needs for a backup.
func TestCommandsOfAdministratorsHaveTheSettingsOfTheUnits(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for name, text := range map[string]string{
		"magpie-admin": strings.NewReplacer("/etc/magpie/", folder+"/", "/var/lib/magpie", folder).Replace(read(t, "debian", "magpie-admin")),
		"magpie.env": read(t, "debian", "magpie.env") + "# Not of Magpie alone.\nVOYAGE_KEY=\"pa $HOME\"\nAWS_REGION = 'eu-west-1'\n" +
			"  https_proxy=http://proxy:3128/?a=b \nno setting\nbad-name=1\nHALF=\"open\nEMPTY=\"\"",
		"migrate.env": "# The owner.\nMIGRATE_DATABASE_URL=postgres://owner:$a`b@db/magpie?sslmode=require&x=y\n",
		"backup.env":  read(t, "debian", "backup.env") + "BACKUP_RECIPIENTS=age1x",
		"runuser":     "#!/bin/sh\necho \"$*\"\nenv\n",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	always := []string{
		"\nVOYAGE_KEY=pa $HOME\n", "\nAWS_REGION=eu-west-1\n", "\nhttps_proxy=http://proxy:3128/?a=b\n", "\nHALF=\"open\n", "\nEMPTY=\n",
		"\nREDIS_URL=redis://127.0.0.1:6379/0\n", "\nTRUSTED_PROXIES=127.0.0.1/32,::1/128\n",
	}
	backups := []string{"\nMIGRATE_DATABASE_URL=postgres://owner:$a`b@db/magpie?sslmode=require&x=y\n", "\nBACKUP_URL=/var/lib/magpie-backups\n", "\nBACKUP_RECIPIENTS=age1x\n"}
	for command, owner := range map[string]bool{"backup": true, "restore": true, "users": false} {
		c := exec.CommandContext(t.Context(), "sh", filepath.Join(folder, "magpie-admin"), command, "--help")
		c.Env = []string{"PATH=" + folder + ":/usr/bin:/bin"}
		output, err := c.CombinedOutput()
		if want := "-u magpie -- /usr/bin/magpie " + command + " --help\n"; err != nil || !strings.HasPrefix(string(output), want) {
			t.Errorf("%s: %v\n%s", command, err, output)
		}
		for _, want := range always {
			if !strings.Contains(string(output), want) {
				t.Errorf("%s: has no %q\n%s", command, want, output)
			}
		}
		for _, want := range backups {
			if strings.Contains(string(output), want) != owner {
				t.Errorf("%s: has %q: %t\n%s", command, want, !owner, output)
			}
		}
		if strings.Contains(string(output), "bad-name") {
			t.Errorf("%s: has a variable without a name\n%s", command, output)
		}
	}
}

var setting = regexp.MustCompile(`(?m)^#?([A-Z][A-Z_]+)=`)

func TestSettingsOfThePackageExist(t *testing.T) {
	t.Parallel()
	names := config.Names()
	for _, name := range []string{"magpie.env", "migrate.env", "backup.env"} {
		text := read(t, "debian", name)
		for _, m := range setting.FindAllStringSubmatch(text, -1) {
			if !slices.Contains(names, m[1]) {
				t.Errorf("%s: there is no setting %s", name, m[1])
			}
		}
		// With every proposal taken, as an administrator may do.
		file := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(file, []byte(regexp.MustCompile(`(?m)^#([A-Z_]+=)`).ReplaceAllString(text, "$1")), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := config.Load(config.Source{File: file, Environment: []string{}}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// service is a part of a Compose file.
type service struct {
	Image       string
	Command     any
	Environment map[string]string
	Restart     string
	ReadOnly    bool `yaml:"read_only"`
	Healthcheck struct {
		Test    []string
		Disable bool
	}
	DependsOn map[string]struct{ Condition string } `yaml:"depends_on"`
}

func TestTheComposeFile(t *testing.T) {
	t.Parallel()
	text := read(t, "compose.yaml")
	var file struct{ Services map[string]service }
	if err := yaml.Unmarshal([]byte(text), &file); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"serve", "worker", "migrate", "backup", "postgres", "redis", "proxy"} {
		s, found := file.Services[name]
		if !found {
			t.Errorf("there is no service %s", name)
			continue
		}
		if len(s.Healthcheck.Test) == 0 && !s.Healthcheck.Disable && name != "proxy" {
			t.Errorf("%s has no health check", name)
		}
		for other := range s.DependsOn {
			if _, found := file.Services[other]; !found {
				t.Errorf("%s depends on %s, which is not there", name, other)
			}
		}
	}
	names := config.Names()
	for _, name := range []string{"serve", "worker", "migrate", "backup"} {
		if !file.Services[name].ReadOnly {
			t.Errorf("%s can write to its root", name)
		}
		for key := range file.Services[name].Environment {
			if !slices.Contains(names, key) {
				t.Errorf("%s: there is no setting %s", name, key)
			}
		}
	}
	example := read(t, ".env.example")
	for _, m := range regexp.MustCompile(`\$\{([A-Z_]+)(:[?-])?`).FindAllStringSubmatch(text, -1) {
		if !regexp.MustCompile(`(?m)^#?` + m[1] + "=").MatchString(example) {
			t.Errorf(".env.example has no %s", m[1])
		}
		if secret := regexp.MustCompile("PASSWORD|KEY"); secret.MatchString(m[1]) && m[2] != ":?" {
			t.Errorf("%s may be missing", m[1])
		}
	}
	if m := regexp.MustCompile(`(?m)^[A-Z_]+=.+$`).FindString(example); m != "" {
		t.Errorf(".env.example has a value: %s", m)
	}
}

func TestTheImageHasNoRights(t *testing.T) {
	t.Parallel()
	text := read(t, "Containerfile")
	last := text[strings.LastIndex(text, "\nFROM "):]
	for _, want := range []string{"FROM scratch\n", "\nUSER 65532:65532\n", `HEALTHCHECK --interval=10s --timeout=6s --start-period=60s CMD ["/usr/bin/magpie", "health"]`, "ca-certificates.crt", "/usr/share/zoneinfo"} {
		if !strings.Contains(last, want) {
			t.Errorf("the last stage has no %q", want)
		}
	}
	if strings.Contains(last, "\nRUN ") {
		t.Error("the last stage runs a program, and has none")
	}
	if version := regexp.MustCompile(`FROM golang:(\d+\.\d+)`).FindStringSubmatch(text); version == nil || !strings.Contains(read(t, "..", "go.mod"), "\ngo "+version[1]) {
		t.Errorf("the image is built by another Go than go.mod asks for: %v", version)
	}
}

func TestTheChartCanBeRead(t *testing.T) {
	t.Parallel()
	chart := filepath.Join("helm", "magpie")
	var schema struct {
		Properties map[string]any
		Required   []string
	}
	if err := json.Unmarshal([]byte(read(t, chart, "values.schema.json")), &schema); err != nil {
		t.Fatal(err)
	}
	var values map[string]any
	if err := yaml.Unmarshal([]byte(read(t, chart, "values.yaml")), &values); err != nil {
		t.Fatal(err)
	}
	for name := range values {
		if schema.Properties[name] == nil {
			t.Errorf("the schema does not describe %s", name)
		}
	}
	for name := range schema.Properties {
		if _, found := values[name]; !found && name != "global" { // of charts above
			t.Errorf("values.yaml has no %s", name)
		}
	}
	count := 0
	err := fs.WalkDir(os.DirFS(filepath.Join(chart, "templates")), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		count++
		tree := parse.New(name)
		tree.Mode = parse.SkipFuncCheck
		_, err = tree.Parse(read(t, chart, "templates", name), "", "", map[string]*parse.Tree{}, template.FuncMap{})
		return err
	})
	if err != nil || count < 8 {
		t.Errorf("%d templates: %v", count, err)
	}
}
