package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/magpie-search/magpie/cmd/magpie/web/dashboard"
	"github.com/magpie-search/magpie/cmd/magpie/wire"
	"github.com/magpie-search/magpie/internal/client"
	"github.com/magpie-search/magpie/internal/config"
	"github.com/magpie-search/magpie/internal/humanize"
	"github.com/magpie-search/magpie/internal/store"
	"github.com/magpie-search/magpie/internal/system"
	"github.com/magpie-search/magpie/internal/system/support"
)

// maxMetrics bounds the bytes of the metrics of a process.
const maxMetrics = 8 << 20

type supportBundleCommand struct {
	File      string `arg:"" type:"path" help:"ZIP archive to write."`
	WithNames bool   `help:"Keep names, hosts and the whole texts of errors, which can name documents; they are left out otherwise."`
}

// Run writes a support bundle.
func (s supportBundleCommand) Run(r *runtime) (err error) {
	c, err := r.installation()
	if err != nil {
		return err
	}
	sentences, err := dashboard.Sentences()
	if err != nil {
		return err
	}
	o := support.Options{
		Config: c, Names: s.WithNames, Now: time.Now().UTC(), Sentences: sentences, About: system.ReadBuild(), Doctor: r.diagnose(c), States: r.states(c), Metrics: r.metrics(c),
	}
	if c.DatabaseURL != "" {
		db, err := store.Open(r, c.DatabaseURL.Reveal(), 2)
		if err == nil {
			defer db.Close()
			o.Pool = db.Pool
		} // else the findings of doctor say why
	}
	// A file that is there may belong to somebody: it is not overwritten.
	file, err := os.OpenFile(filepath.Clean(s.File), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("write the bundle: %w", err)
	}
	names, err := support.Write(r, file, o)
	if err = errors.Join(err, file.Close()); err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	return r.console.Result(map[string]any{"file": s.File, "content": names}, func() {
		r.console.Printf("%s\n", s.File)
		without := "names, texts of documents or questions"
		if s.WithNames {
			without = "texts of documents or questions, but names and the texts of errors"
		}
		r.console.Note("It has no secrets, mail addresses, %s. Look into it before you send it: %s of text.", without, humanize.Count(len(names), "file"))
	})
}

// states are the states of the system of all workspaces, as administrators see them.
func (r *runtime) states(c *config.Config) any {
	states := []systemRow{}
	err := r.openWith(c, func(app *wire.App) error {
		return r.eachState(app, func(s systemRow) { states = append(states, s) })
	})
	if err != nil {
		return map[string]string{"error": client.Message(err)}
	}
	return states
}

// metrics asks the processes of this machine for their metrics.
func (r *runtime) metrics(c *config.Config) map[string]string {
	all := map[string]string{}
	for process, address := range map[string]string{"server": c.ListenAddr, "worker": c.WorkerListenAddr} {
		if address == "" {
			continue
		}
		text, err := r.metricsAt(address)
		if err != nil {
			text = "# not collected: " + err.Error() + "\n"
		}
		all[process] = text
	}
	return all
}

func (r *runtime) metricsAt(listen string) (string, error) {
	address, err := localAddress(listen)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(r, healthTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/metrics", http.NoBody)
	if err != nil {
		return "", fmt.Errorf("ask for metrics: %w", err)
	}
	response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(request)
	if err != nil {
		return "", fmt.Errorf("ask for metrics: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxMetrics))
	if err != nil {
		return "", fmt.Errorf("ask for metrics: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("ask for metrics: the process answers %d", response.StatusCode)
	}
	return string(text), nil
}
