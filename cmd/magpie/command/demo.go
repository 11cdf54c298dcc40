package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/magpie-search/magpie/cmd/magpie/local"
	"github.com/magpie-search/magpie/cmd/magpie/stack"
	"github.com/magpie-search/magpie/cmd/magpie/wire"
	"github.com/magpie-search/magpie/internal/client"
	"github.com/magpie-search/magpie/internal/connector/blob"
	"github.com/magpie-search/magpie/internal/devstack"
)

// What the demo asks.
const (
	demoQuery    = "rotate the signing key"
	demoQuestion = "How do I rotate the signing key?"
)

type demoCommand struct {
	Tour        demoTour        `cmd:"" default:"withargs" help:"Sync a folder and a bucket, search, answer."`
	Automations demoAutomations `cmd:"" help:"Let a mail be answered: an agent drafts, a person approves in Slack, the reply goes out, though workers are killed."`
}

type demoTour struct {
	DemoDocs string `hidden:"" type:"path" help:"Folder of the demo documents."`
}

// Run shows the main job, in a Magpie of its own or in the one that is up.
func (c demoTour) Run(r *runtime) error {
	docs, err := r.demoFolder(c.DemoDocs)
	if err != nil {
		return err
	}
	folder, err := r.folder()
	if err != nil {
		return err
	}
	run, up, err := folder.Running()
	if err != nil {
		return err
	}
	if up && run.Demo {
		r.console.Note("Using the Magpie that is up (process %d).", run.PID)
		return c.inRunning(r, folder, docs)
	}
	r.console.Note("Starting a Magpie of its own in %s", folder.Path())
	d, err := r.startDev(folder, "", true, nil)
	if err != nil {
		return err
	}
	err = c.inNew(r, d, folder, docs)
	return errors.Join(err, d.Stop(context.WithoutCancel(r)))
}

func (c demoTour) inNew(r *runtime, d *stack.Dev, folder *local.Folder, docs string) error {
	api, err := newClient(d.App, d.Workspace)
	if err != nil {
		return err
	}
	if err := keepDemo(r, api, d, docs); err != nil {
		return err
	}
	return c.tell(r, api, folder, docs, false)
}

func (c demoTour) inRunning(r *runtime, folder *local.Folder, docs string) (err error) {
	run, err := folder.Await(r)
	if err != nil {
		return err
	}
	settings, err := r.settingsOf(folder, run)
	if err != nil {
		return err
	}
	app, err := wire.Open(r, settings, r.logger(settings))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, app.Close()) }()
	workspace, err := chooseWorkspace(r, app.DB.Ent, r.Workspace)
	if err != nil {
		return err
	}
	api, err := newClient(app, workspace)
	if err != nil {
		return err
	}
	return c.tell(r, api, folder, docs, true)
}

// tell goes through the story.
func (c demoTour) tell(r *runtime, api *client.Client, folder *local.Folder, docs string, up bool) error {
	dev, err := devOf(folder)
	if err != nil {
		return err
	}
	keep := "make up"
	if _, err := devstack.ModuleRoot(); err != nil {
		keep = "magpie up"
		r.console.Note("The bucket is left out: its server is built from a checkout of Magpie.")
	} else if err := c.bucket(r, api, folder, docs); err != nil {
		return err
	}
	caller := &client.REST{BaseURL: dev.BaseURL, Key: dev.SecretKey}
	if err := c.search(r, caller); err != nil {
		return err
	}
	if err := c.chat(r, caller); err != nil {
		return err
	}
	if !up {
		r.console.Note("")
		r.console.Note("This Magpie ends now. `%s` keeps one running, with the same documents and sign-in:", keep)
	}
	address(r.console, dev)
	r.console.Note("")
	return nil
}

// bucket puts the documents into a bucket of a real S3 server and syncs it.
func (c demoTour) bucket(r *runtime, api *client.Client, folder *local.Folder, docs string) (err error) {
	var server *devstack.S3
	if err := r.console.Step("an S3 server answers (the first time it is built)", func() (err error) {
		server, err = devstack.StartS3(r, devstack.S3Options{Dir: folder.S3()})
		return err
	}); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Stop(context.WithoutCancel(r))) }()
	if err := r.console.Step("the documents are in its bucket "+bucketName, func() error { return fillBucket(r, server, docs) }); err != nil {
		return err
	}
	collection := client.Variables{"name": s3Collection, "description": "The demo documents from a bucket"}
	connector, err := api.EnsureConnector(r, collection, "Demo bucket", "s3", client.Variables{
		"config":      client.Variables{"bucket": bucketName, "region": server.Region, "endpoint": server.Endpoint},
		"credentials": client.Variables{"accessKeyId": server.AccessKey, "secretAccessKey": server.SecretKey},
	})
	if err != nil {
		return err
	}
	var job client.Job
	if err := r.console.Step("the bucket is synced", func() error {
		if job, err = api.StartSync(r, connector.ID, client.Variables{"syncMode": "auto"}); err != nil {
			return err
		}
		job, err = api.Watch(r, job.ID, reporter{r.console})
		return err
	}); err != nil {
		return err
	}
	r.console.Note("  %s", summary(job))
	if job.Status == "FAILED" {
		return fmt.Errorf("the sync of the bucket failed: %s", text(job.Error))
	}
	return nil
}

func fillBucket(ctx context.Context, server *devstack.S3, docs string) (err error) {
	if err := server.MakeBucket(bucketName); err != nil {
		return err
	}
	bucket, err := blob.NewS3(blob.S3Config{
		Endpoint: server.Endpoint, Region: server.Region, Bucket: bucketName,
		AccessKeyID: server.AccessKey, SecretAccessKey: server.SecretKey,
	})
	if err != nil {
		return fmt.Errorf("open the bucket: %w", err)
	}
	defer func() { err = errors.Join(err, bucket.Close()) }()
	files, _, err := client.Scan(docs)
	if err != nil {
		return err
	}
	for _, file := range files {
		if err := putFile(ctx, bucket, file); err != nil {
			return err
		}
	}
	return nil
}

func putFile(ctx context.Context, bucket *blob.S3, file client.DiskFile) error {
	content, err := os.Open(file.Name)
	if err != nil {
		return fmt.Errorf("open a demo document: %w", err)
	}
	defer func() { _ = content.Close() }() // was only read
	if err := bucket.Put(ctx, file.Path, content, file.Size); err != nil {
		return fmt.Errorf("put %s into the bucket: %w", file.Path, err)
	}
	return nil
}

func (c demoTour) search(r *runtime, caller *client.REST) error {
	r.console.Note("")
	r.console.Note("POST /v1/docs/search  %q", demoQuery)
	r.console.Note("")
	began := time.Now()
	found, err := caller.Search(r, map[string]any{"query": demoQuery, "limit": 3, "highlight": true})
	if err != nil {
		return err
	}
	if found.Total == 0 {
		return fmt.Errorf("the search for %q found nothing", demoQuery)
	}
	printHits(r.console, found.Convert())
	r.console.Note("over HTTP: %.1f ms", float64(time.Since(began).Microseconds())/1000)
	return nil
}

func (c demoTour) chat(r *runtime, caller *client.REST) error {
	r.console.Note("")
	r.console.Note("POST /v1/chat/stream  %q", demoQuestion)
	r.console.Note("")
	printer := answerPrinter{console: r.console}
	kinds := map[string]string{"content": "ChatContent", "sources": "ChatSources", "follow_up": "ChatFollowUp"}
	return caller.Chat(r, demoQuestion, func(name string, data []byte) error {
		var event client.ChatEvent
		if name == "error" {
			return fmt.Errorf("the answer broke off: %s", data)
		}
		if err := json.Unmarshal(data, &event); err != nil {
			return fmt.Errorf("read the answer: %w", err)
		}
		event.Kind = kinds[name]
		return printer.print(event)
	})
}
