package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/magpie-search/magpie/cmd/magpie/local"
	"github.com/magpie-search/magpie/cmd/magpie/rehearsal"
	"github.com/magpie-search/magpie/cmd/magpie/stack"
)

type demoAutomations struct {
	DemoDocs string `hidden:"" type:"path" help:"Folder of the demo documents."`
}

// Run lets two mails be answered in a Magpie of its own: one in peace, and one whose worker
// is killed at each step.
func (c demoAutomations) Run(r *runtime) (err error) {
	docs, err := r.demoFolder(c.DemoDocs)
	if err != nil {
		return err
	}
	parent, err := r.folder()
	if err != nil {
		return err
	}
	folder, err := local.Make(filepath.Join(parent.Path(), "automations"))
	if err != nil {
		return err
	}
	stage, err := rehearsal.Build(r)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stage.Close()) }()
	r.console.Note("Starting a Magpie of its own in %s, with stand-ins of a chat model, Slack and a mail server.", folder.Path())
	options := r.devOptions(folder, stage.Settings())
	options.WithoutWorker = true
	d, err := stack.StartDev(r, options)
	if err != nil {
		return err
	}
	calm := context.WithoutCancel(r)
	played := c.play(r, d, stage, docs)
	if err := errors.Join(played, d.Stop(calm)); err != nil {
		return err // and the folder stays, with the log
	}
	return purge(calm, folder, servicesOf(folder))
}

// play syncs the demo documents and plays both rounds.
func (c demoAutomations) play(r *runtime, d *stack.Dev, stage *rehearsal.Stage, docs string) (err error) {
	api, err := newClient(d.App, d.Workspace)
	if err != nil {
		return err
	}
	workers := &workers{dev: d, settings: stage.Settings()}
	first, err := workers.start(r)
	if err != nil {
		return err
	}
	synced, err := api.SyncFolder(r, docs, demoCollection, "auto", nil, reporter{r.console})
	if err = errors.Join(err, first.Kill()); err != nil {
		return err
	}
	play, err := stage.Begin(r, rehearsal.Options{
		BaseURL: d.BaseURL, DatabaseURL: d.App.Config.DatabaseURL.Reveal(), Email: d.Secrets.AdminEmail, Password: d.Secrets.AdminPassword,
		Collection: synced.Collection, StartWorker: workers.start, Console: r.console,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, play.End(context.WithoutCancel(r))) }()
	var result struct {
		Plain  rehearsal.Round `json:"plain"`
		Killed rehearsal.Round `json:"killed"`
	}
	r.console.Note("")
	r.console.Note("A mail asks: %s", demoQuestion)
	if result.Plain, err = play.Plain(r, demoQuestion); err != nil {
		return fmt.Errorf("%w (the workers' log is %s)", err, workers.log())
	}
	r.console.Note("The same again. The worker is killed at each step, and another one goes on when it has been silent for ten seconds.")
	if result.Killed, err = play.Killed(r, demoQuestion); err != nil {
		return fmt.Errorf("%w (the workers' log is %s)", err, workers.log())
	}
	return r.console.Result(result, func() {
		k := result.Killed
		r.console.Note("%d workers were killed; the mail became %d event, %d run and %d run of the agent, and %d reply was sent. It took %.0f s.",
			len(k.Kills), k.Events, k.Runs, k.AgentRuns, len(k.Replies), k.Seconds)
	})
}

// workers starts processes of this program that work for a local Magpie.
type workers struct {
	dev      *stack.Dev
	settings map[string]string
}

func (w *workers) log() string { return w.dev.Folder().Log() }

// start starts a worker.
func (w *workers) start(ctx context.Context) (rehearsal.Worker, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	log, err := os.OpenFile(w.log(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the log of the workers: %w", err)
	}
	defer func() { _ = log.Close() }() // the process has its own copy
	c := w.dev.App.Config
	// A worker outlives the round that started it.
	command := exec.CommandContext(context.WithoutCancel(ctx), program, "worker") //nolint:gosec // the path of this program
	command.Stdout, command.Stderr = log, log
	command.Env = os.Environ() // further settings follow, and win
	for name, value := range map[string]string{
		"DATABASE_URL": c.DatabaseURL.Reveal(), "REDIS_URL": c.RedisURL.Reveal(), "BLOB_URL": c.BlobURL, "BASE_URL": c.BaseURL,
		"SESSION_KEY": c.SessionKey.Reveal(), "SECRET_KEYS": c.SecretKeys.Reveal(), "ALLOWED_PRIVATE_NETWORKS": devNetworks,
	} {
		command.Env = append(command.Env, name+"="+value)
	}
	for name, value := range w.settings {
		command.Env = append(command.Env, name+"="+value)
	}
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("start a worker: %w", err)
	}
	return &childWorker{command}, nil
}

// childWorker is a worker in a process of its own.
type childWorker struct{ command *exec.Cmd }

// Kill implements rehearsal.Worker.
func (w *childWorker) Kill() error {
	if err := w.command.Process.Kill(); err != nil {
		return fmt.Errorf("kill a worker: %w", err)
	}
	_ = w.command.Wait() // says that it was killed
	return nil
}
