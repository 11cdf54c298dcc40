package command

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/magpie-search/magpie/cmd/magpie/wire"
	"github.com/magpie-search/magpie/internal/config"
	"github.com/magpie-search/magpie/internal/connector/blob"
	"github.com/magpie-search/magpie/internal/humanize"
	"github.com/magpie-search/magpie/internal/system/doctor"
)

type doctorCommand struct{}

// Run checks the installation, and fails if something is wrong.
func (doctorCommand) Run(r *runtime) error {
	c, err := r.installation()
	if err != nil {
		return err
	}
	findings := r.diagnose(c)
	count := map[doctor.Status]int{}
	for _, f := range findings {
		count[f.Status]++
	}
	err = r.console.Result(findings, func() {
		rows := make([][]string, 0, len(findings))
		for _, f := range findings {
			rows = append(rows, []string{string(f.Status), f.Check, strings.TrimSpace(f.Text + " " + f.Action)})
		}
		r.console.Table([]string{"STATUS", "CHECK", "FINDING"}, rows, "")
		if count[doctor.Error] == 0 {
			r.console.Note("The installation works: %s, none of which is an error, and %s.", humanize.Count(len(findings), "finding"), humanize.Count(count[doctor.Warning], "warning"))
		}
	})
	if err != nil {
		return err
	}
	if n := count[doctor.Error]; n > 0 {
		return fmt.Errorf("%s found", humanize.Count(n, "error"))
	}
	return nil
}

// installation finds the settings of the installation: those given, or those of the stack
// that runs in the data folder. Missing ones are not an error.
func (r *runtime) installation() (*config.Config, error) {
	c, err := r.settings(nil)
	if err != nil {
		return nil, err
	}
	if c.DatabaseURL == "" && c.RedisURL == "" {
		if running, err := r.reach(); err == nil {
			return running, nil
		}
	}
	return c, nil
}

// diagnose makes all checks.
func (r *runtime) diagnose(c *config.Config) []doctor.Finding {
	transport := &http.Transport{DisableKeepAlives: true, Proxy: http.ProxyFromEnvironment}
	findings := doctor.Run(r, doctor.Options{
		Config: c, Redis: wire.Redis, Now: time.Now, HTTP: &http.Client{Transport: transport, Timeout: 10 * time.Second},
		Engine: func(ctx context.Context) ([]doctor.EngineNode, error) {
			nodes, err := wire.EngineNodes(ctx, c)
			checked := make([]doctor.EngineNode, len(nodes))
			for i, n := range nodes {
				checked[i] = doctor.EngineNode(n)
			}
			return checked, err
		},
		Blobs: func(ctx context.Context) (blob.Store, error) {
			return blob.Open(ctx, c.BlobURL, blob.Credentials{AccessKeyID: c.BlobAccessKeyID, SecretAccessKey: c.BlobSecretAccessKey.Reveal()})
		},
	})
	return append(findings, r.warnings(c)...)
}

// warnings are those of the state of the system, of all workspaces. Without stores that
// work there are none: the checks have said so.
func (r *runtime) warnings(c *config.Config) (findings []doctor.Finding) {
	err := r.openWith(c, func(app *wire.App) error {
		err := r.eachState(app, func(s systemRow) {
			for _, w := range s.Warnings {
				if w.Code == "NO_CHAT_MODEL" || w.Code == "REDIS_UNREACHABLE" {
					continue // a check says so
				}
				f := doctor.Finding{Check: "system", Status: doctor.Warning, Text: w.Text, Action: w.Action}
				if !slices.ContainsFunc(findings, func(known doctor.Finding) bool { return known.Text == f.Text }) {
					findings = append(findings, f)
				}
			}
		})
		if err != nil {
			return err
		}
		if len(findings) == 0 {
			findings = append(findings, doctor.Finding{Check: "system", Status: doctor.OK, Text: "Workers run, and nothing waits for a person."})
		}
		return nil
	})
	if err != nil {
		return append(findings, doctor.Finding{Check: "system", Status: doctor.Warning, Text: "The state of workers and queues could not be read.", Action: "Correct the errors above first."})
	}
	return findings
}

// eachState visits the state of the system for each workspace.
func (r *runtime) eachState(app *wire.App, visit func(systemRow)) error {
	workspaces, err := app.People.Workspaces(r)
	if err != nil {
		return err
	}
	for _, workspace := range workspaces {
		api, err := newClient(app, workspace.ID)
		if err != nil {
			return err
		}
		var got struct{ System systemRow }
		if err := api.Do(r, "SystemState", nil, &got); err != nil {
			return err
		}
		visit(got.System)
	}
	return nil
}
