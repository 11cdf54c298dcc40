// Command debian makes a Debian package of a built program and the files in
// deploy. internal/tools/release calls it. SOURCE_DATE_EPOCH is the time of all
// files, so that the same inputs give the same bytes.
//
// Allowed imports: the standard library and nfpm.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb" // registers the format
	"github.com/goreleaser/nfpm/v2/files"
)

// An order says what to make.
type order struct {
	root    string // of the repository
	program string
	pages   string // folder with man and completions; "" for none
	machine string // as GOARCH
	version string // of the release
	at      time.Time
}

func main() {
	var o order
	flag.StringVar(&o.root, "root", "../../..", "root of the repository")
	flag.StringVar(&o.program, "program", "", "the program")
	flag.StringVar(&o.pages, "pages", "", "folder with manual pages and completions")
	flag.StringVar(&o.machine, "machine", "amd64", "architecture, as GOARCH")
	flag.StringVar(&o.version, "version", "", "version of the release")
	out := flag.String("out", ".", "folder for the package")
	flag.Parse()
	if err := o.write(*out); err != nil {
		fmt.Fprintln(os.Stderr, "debian:", err)
		os.Exit(1)
	}
}

// write makes the package in a folder, under its conventional name.
func (o order) write(out string) error {
	seconds, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64)
	if err != nil {
		return fmt.Errorf("read SOURCE_DATE_EPOCH: %w", err)
	}
	o.at = time.Unix(seconds, 0).UTC()
	info, err := o.describe()
	if err != nil {
		return err
	}
	packager, err := nfpm.Get("deb")
	if err != nil {
		return err
	}
	var content bytes.Buffer
	if err := packager.Package(info, &content); err != nil {
		return fmt.Errorf("make the package: %w", err)
	}
	path := filepath.Join(out, packager.ConventionalFileName(info))
	if err := os.WriteFile(path, content.Bytes(), 0o644); err != nil {
		return fmt.Errorf("write the package: %w", err)
	}
	fmt.Println("debian:", path)
	return nil
}

// debianVersion returns a version that sorts as a release of Go does: a
// pre-release before its release.
func debianVersion(version string) string {
	version = strings.Replace(strings.TrimPrefix(version, "v"), "-", "~", 1)
	return strings.ReplaceAll(version, "-", ".")
}

// describe returns the package: its fields, files and scripts.
func (o order) describe() (*nfpm.Info, error) {
	deploy := func(path ...string) string {
		return filepath.Join(append([]string{o.root, "deploy"}, path...)...)
	}
	contents := files.Contents{
		file(o.program, "/usr/bin/magpie", 0o755),
		file(deploy("systemd", "magpie.service"), "/usr/lib/systemd/system/magpie.service", 0o644),
		file(deploy("systemd", "magpie-worker.service"), "/usr/lib/systemd/system/magpie-worker.service", 0o644),
		file(deploy("systemd", "magpie-migrate.service"), "/usr/lib/systemd/system/magpie-migrate.service", 0o644),
		file(deploy("systemd", "magpie-backup.service"), "/usr/lib/systemd/system/magpie-backup.service", 0o644),
		file(deploy("systemd", "magpie-backup.timer"), "/usr/lib/systemd/system/magpie-backup.timer", 0o644),
		file(deploy("debian", "sysusers.conf"), "/usr/lib/sysusers.d/magpie.conf", 0o644),
		file(deploy("debian", "magpie.env"), "/usr/share/magpie/magpie.env", 0o644),
		file(deploy("debian", "migrate.env"), "/usr/share/magpie/migrate.env", 0o644),
		file(deploy("debian", "backup.env"), "/usr/share/magpie/backup.env", 0o644),
		file(deploy("debian", "magpie-admin"), "/usr/sbin/magpie-admin", 0o755),
		file(deploy("debian", "create-database"), "/usr/share/magpie/create-database", 0o755),
		file(deploy("database.sql"), "/usr/share/magpie/database.sql", 0o644),
		file(deploy("debian", "copyright"), "/usr/share/doc/magpie/copyright", 0o644),
		file(filepath.Join(o.root, "CHANGELOG.md"), "/usr/share/doc/magpie/CHANGELOG.md", 0o644),
		file(deploy("caddy", "Caddyfile"), "/usr/share/doc/magpie/examples/Caddyfile", 0o644),
		file(deploy("prometheus", "magpie.rules.yml"), "/usr/share/doc/magpie/examples/magpie.rules.yml", 0o644),
		file(deploy("grafana", "magpie.json"), "/usr/share/doc/magpie/examples/magpie.json", 0o644),
	}
	further, err := o.furtherPages()
	if err != nil {
		return nil, err
	}
	info := nfpm.WithDefaults(&nfpm.Info{
		Name: "magpie", Arch: o.machine, Platform: "linux", Version: debianVersion(o.version), VersionSchema: "none",
		Section: "web", Priority: "optional",
		Maintainer:  "The authors of Magpie <magpie@localhost>",
		Homepage:    "https://github.com/magpie-search/magpie",
		License:     "Apache-2.0",
		Description: "self-hosted knowledge search service\nMagpie collects documents from the places where a company keeps them, finds\npassages by words and by meaning, answers questions with citations, and runs\nagents that search on a person's behalf. It stores everything in PostgreSQL.",
		MTime:       o.at,
		Overridables: nfpm.Overridables{
			Depends:    []string{"adduser | systemd", "ca-certificates", "tzdata"},
			Recommends: []string{"postgresql (>= 15)", "postgresql-17-pgvector | postgresql-18-pgvector | postgresql-16-pgvector | postgresql-15-pgvector", "redis-server | valkey-server"},
			Suggests:   []string{"caddy", "tesseract-ocr"},
			Contents:   append(contents, further...),
			Scripts:    nfpm.Scripts{PostInstall: deploy("debian", "postinst"), PreRemove: deploy("debian", "prerm"), PostRemove: deploy("debian", "postrm")},
			Deb:        nfpm.Deb{Compression: "zstd"},
		},
	})
	if err := nfpm.PrepareForPackager(info, "deb"); err != nil {
		return nil, fmt.Errorf("describe the package: %w", err)
	}
	return info, nil
}

// places are where Debian keeps manual pages and completions.
var places = map[string]string{
	"completions/magpie.bash": "/usr/share/bash-completion/completions/magpie",
	"completions/_magpie":     "/usr/share/zsh/vendor-completions/_magpie",
	"completions/magpie.fish": "/usr/share/fish/vendor_completions.d/magpie.fish",
}

// furtherPages returns the manual pages and completions that there are.
func (o order) furtherPages() (files.Contents, error) {
	var out files.Contents
	if o.pages == "" {
		return out, nil
	}
	for from, to := range places {
		if path := filepath.Join(o.pages, filepath.FromSlash(from)); exists(path) {
			out = append(out, file(path, to, 0o644))
		}
	}
	manual, err := filepath.Glob(filepath.Join(o.pages, "man", "man*", "*"))
	if err != nil {
		return nil, err
	}
	for _, path := range manual {
		section := filepath.Base(filepath.Dir(path))
		out = append(out, file(path, "/usr/share/man/"+section+"/"+filepath.Base(path), 0o644))
	}
	return out, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func file(from, to string, mode os.FileMode) *files.Content {
	return &files.Content{Source: from, Destination: to, FileInfo: &files.ContentFileInfo{Mode: mode, Owner: "root", Group: "root"}}
}
