package support

import (
	"archive/zip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/magpie-search/magpie/internal/config"
	"github.com/magpie-search/magpie/internal/system/doctor"
)

// Options say what a bundle has. Config and Now are required.
type Options struct {
	Config *config.Config
	// Pool is nil if PostgreSQL cannot be reached.
	Pool *pgxpool.Pool
	// Names keeps names, addresses and the texts of errors. Mail addresses and secrets are
	// left out anyway.
	Names bool
	Now   time.Time
	// Sentences are those that Magpie tells people, with {1} for a value. Without Names,
	// only their words and those of a few common errors are kept of a text.
	Sentences []string
	// About says what the program was built from, Doctor what it found. States are those
	// of the system by workspace, as they are shown to administrators. About and States are
	// encoded as JSON.
	About, States any
	Doctor        []doctor.Finding
	// Metrics are the metrics of processes, by the name of the process.
	Metrics map[string]string
}

// Write writes a bundle as a ZIP archive and returns the names of its files. What cannot be
// collected is noted in the file errors.txt.
func Write(ctx context.Context, to io.Writer, o Options) (names []string, err error) {
	b := &bundle{Options: o, files: map[string][]byte{}, phrases: newPhrases(o.Sentences)}
	b.collect(ctx)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	archive := zip.NewWriter(to)
	for _, name := range slices.Sorted(maps.Keys(b.files)) {
		w, err := archive.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate, Modified: o.Now})
		if err == nil {
			_, err = w.Write(b.files[name])
		}
		if err != nil {
			return nil, fmt.Errorf("write the bundle: %w", err)
		}
		names = append(names, name)
	}
	if err := archive.Close(); err != nil {
		return nil, fmt.Errorf("write the bundle: %w", err)
	}
	return names, nil
}

// A bundle is collected in memory.
type bundle struct {
	Options
	phrases *phrases
	files   map[string][]byte
	failed  []string
}

// fail notes what could not be collected.
func (b *bundle) fail(name string, err error) {
	b.failed = append(b.failed, name+": "+b.text(err.Error()))
}

func (b *bundle) collect(ctx context.Context) {
	b.put("about.json", b.About, "version", "revision", "date", "go")
	b.raw("settings.json", b.settings())
	b.raw("doctor.json", b.findings())
	b.put("system.json", b.States, "version", "services.name", "services.version", "workers.status", "workers.running.name", "queues.name", "models.kind", "warnings.code")
	for process, text := range b.Metrics {
		b.files["metrics-"+process+".txt"] = []byte(b.metrics(text))
	}
	if b.Pool != nil {
		b.database(ctx)
	}
	if len(b.failed) > 0 {
		b.files["errors.txt"] = []byte(strings.Join(b.failed, "\n") + "\n")
	}
}

// raw adds a value that is chosen already.
func (b *bundle) raw(name string, value any) {
	data, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		b.fail(name, err)
		return
	}
	b.files[name] = append(data, '\n')
}

// findings are those of doctor, without the values in them that somebody has chosen.
func (b *bundle) findings() []map[string]string {
	all := []map[string]string{}
	for _, f := range b.Doctor {
		text := b.text(f.Text)
		if f.Form != "" && !b.Names {
			values := make([]any, len(f.Values))
			for i, value := range f.Values {
				values[i] = value
				if given, ok := value.(string); ok {
					values[i] = b.version(given)
				}
			}
			text = fmt.Sprintf(f.Form, values...)
		}
		all = append(all, map[string]string{"check": f.Check, "status": string(f.Status), "text": text})
	}
	return all
}

var versions = regexp.MustCompile(`^\d{1,3}(\.\d{1,3}){0,2}$`)

// version returns a version as it is, and of other texts what is known.
func (b *bundle) version(text string) string {
	if versions.MatchString(text) {
		return text
	}
	return b.text(text)
}
