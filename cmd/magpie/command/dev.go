package command

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"path/filepath"

	"github.com/magpie-search/magpie/cmd/magpie/local"
	"github.com/magpie-search/magpie/cmd/magpie/stack"
	"github.com/magpie-search/magpie/internal/client"
	"github.com/magpie-search/magpie/internal/config"
	"github.com/magpie-search/magpie/internal/system"
	"github.com/magpie-search/magpie/internal/testkit/sample"
	"github.com/magpie-search/magpie/testdata/demo"
)

// devNetworks may be reached by connectors of a local Magpie: this machine.
const devNetworks = "127.0.0.0/8,::1"

// devOrigins may call a local Magpie from a browser: pages of this machine, such as those of a front end that is worked on.
const devOrigins = "http://localhost:*,http://127.0.0.1:*"

type devCommand struct {
	Listen         string `placeholder:"HOST:PORT" help:"Where to serve; 127.0.0.1:8080 or a port after it when left out."`
	Corpus         string `placeholder:"DIR" type:"existingdir" help:"Sync all files of this folder into a collection of its name."`
	BaseURL        string `placeholder:"URL" help:"With --corpus: address of the site that is made from the folder, to which results link."`
	StripExtension bool   `help:"With --base-url: addresses of pages have no extension."`
	Once           bool   `help:"With --corpus: end when it is synced."`
	Demo           bool   `hidden:"" help:"Keep the demo documents and their keys."`
	DemoDocs       string `hidden:"" type:"path" help:"Folder of the demo documents."`

	Fake []string `placeholder:"KIND" help:"Start a stand-in of a platform with sample content, and print how to connect it: confluence, github, google_drive, hubspot, jira, notion, salesforce, servicenow, sharepoint or slack."`
}

// Run runs everything until a signal stops it.
func (c devCommand) Run(r *runtime) error {
	switch {
	case c.BaseURL != "" && c.Corpus == "":
		return usagef("--base-url needs --corpus")
	case c.StripExtension && c.BaseURL == "":
		return usagef("--strip-extension needs --base-url")
	}
	folder, err := r.folder()
	if err != nil {
		return err
	}
	fakes, err := startFakes(c.Fake)
	if err != nil {
		return err
	}
	defer closeFakes(fakes)
	var further map[string]string
	if c.Corpus != "" {
		further = map[string]string{"IDEMPOTENCY_WINDOW": "0s"} // who changes a file and starts again searches the new one
	}
	d, err := r.startDev(folder, c.Listen, c.Demo, further)
	if err != nil {
		return err
	}
	err = c.work(r, d, folder, fakes)
	r.console.Note("stopping")
	return errors.Join(err, d.Stop(context.WithoutCancel(r)))
}

func (c devCommand) work(r *runtime, d *stack.Dev, folder *local.Folder, fakes []*sample.Server) error {
	api, err := newClient(d.App, d.Workspace)
	if err != nil {
		return err
	}
	if c.Demo {
		docs, err := r.demoFolder(c.DemoDocs)
		if err == nil {
			err = keepDemo(r, api, d, docs)
		}
		if err != nil {
			return err
		}
	}
	if c.Corpus != "" {
		if err := c.syncCorpus(r, api, d); err != nil || c.Once {
			return err
		}
	}
	if err := d.Ready(); err != nil {
		return err
	}
	if !c.Demo { // the demo prints to a log, and its addresses are in dev.json
		r.console.Note("")
		inviteBrowser(r.console, d.BaseURL)
		r.console.Note("  try GraphQL   %s/playground", d.BaseURL)
		r.console.Note("  sign in       %s  %s", d.Secrets.AdminEmail, d.Secrets.AdminPassword)
		if c.Corpus != "" {
			r.console.Note("  search        curl -H 'X-Service-Key: %s' '%s/v1/docs/search?query=…'", d.Secrets.SecretKey, d.BaseURL)
			r.console.Note("  keys          %s", folder.DevPath())
		}
		r.console.Note("  stop          Ctrl+C")
		r.console.Note("")
	}
	if err := r.showFakes(folder, fakes); err != nil {
		return err
	}
	return d.Wait(r)
}

// syncCorpus syncs the folder of the person, and makes keys to it unless the demo has them.
func (c devCommand) syncCorpus(r *runtime, api *client.Client, d *stack.Dev) error {
	synced, err := api.SyncFolder(r, c.Corpus, filepath.Base(c.Corpus), "auto", c.settings(), reporter{r.console})
	if printErr := r.console.Result(synced, func() { printFolder(r.console, synced) }); err != nil || printErr != nil {
		return errors.Join(err, printErr)
	}
	if c.Demo {
		return nil
	}
	return describe(r, api, d, synced.Collection)
}

// settings are those of the connector of the corpus.
func (c devCommand) settings() client.Variables {
	if c.BaseURL == "" {
		return nil
	}
	return client.Variables{"config": client.Variables{"baseUrl": c.BaseURL, "stripExtension": c.StripExtension}}
}

// folder opens the data folder, which is made when it is missing.
func (r *runtime) folder() (*local.Folder, error) {
	c, err := r.settings(nil)
	if err != nil {
		return nil, err
	}
	return local.Make(c.DataDir)
}

// startDev starts a local Magpie in this process. Further settings count like flags.
func (r *runtime) startDev(folder *local.Folder, listen string, demo bool, further map[string]string) (*stack.Dev, error) {
	o := r.devOptions(folder, further)
	o.Listen, o.Demo = listen, demo
	return stack.StartDev(r, o)
}

// devOptions say how a local Magpie runs in this process. Further settings count like
// flags.
func (r *runtime) devOptions(folder *local.Folder, further map[string]string) stack.DevOptions {
	return stack.DevOptions{
		Folder: folder, Console: r.console, Version: system.Version(),
		Settings: func(more map[string]string) (*config.Config, error) {
			all := maps.Clone(further)
			if all == nil {
				all = map[string]string{}
			}
			maps.Copy(all, more)
			source := r.source(all)
			source.Defaults = map[string]string{
				"ALLOWED_PRIVATE_NETWORKS": devNetworks, "DASHBOARD_ORIGINS": devOrigins, "DRAIN_TIME": "0s", "SHUTDOWN_TIMEOUT": "5s", "LOG_LEVEL": "warn",
			}
			return config.Load(source)
		},
		Log: func(c *config.Config) *slog.Logger {
			log := r.logger(c)
			r.drivers(log)
			return log
		},
	}
}

// demoFolder returns the folder of the demo documents: a given one, or that of the program's own in the data folder.
func (r *runtime) demoFolder(given string) (string, error) {
	if given != "" {
		return given, nil
	}
	folder, err := r.folder()
	if err != nil {
		return "", err
	}
	return folder.Demo(), demo.Unpack(folder.Demo())
}
