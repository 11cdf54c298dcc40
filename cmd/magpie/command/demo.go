package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/magpie-search/magpie/cmd/magpie/local"
	"github.com/magpie-search/magpie/cmd/magpie/wire"
	"github.com/magpie-search/magpie/internal/connector/blob"
	"github.com/magpie-search/magpie/internal/devstack"
)

// What the demo asks.
const (
	demoQuery    = "rotate the signing key"
	demoQuestion = "How do I rotate the signing key?"
)

type demoCommand struct {
	DemoDocs string `hidden:"" type:"path" help:"Folder of the demo documents."`
}

// Run shows the main job, in a Magpie of its own or in the one that is up.
func (c demoCommand) Run(r *runtime) error {
	docs, err := demoFolder(c.DemoDocs)
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
	d, err := r.startDev(folder, "", true)
	if err != nil {
		return err
	}
	s := newSession(d.App, d.Workspace)
	if err = keepDemo(r, s, d, docs); err == nil {
		err = c.tell(r, s, folder, docs, false)
	}
	return errors.Join(err, d.Stop(context.WithoutCancel(r)))
}

func (c demoCommand) inRunning(r *runtime, folder *local.Folder, docs string) error {
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
	workspace, err := chooseWorkspace(r, app.DB.Ent, r.Workspace)
	if err == nil {
		err = c.tell(r, newSession(app, workspace), folder, docs, true)
	}
	return errors.Join(err, app.Close())
}

// tell goes through the story.
func (c demoCommand) tell(r *runtime, s *session, folder *local.Folder, docs string, up bool) error {
	dev, err := devOf(folder)
	if err != nil {
		return err
	}
	if err := c.bucket(r, s, folder, docs); err != nil {
		return err
	}
	caller := &api{baseURL: dev.BaseURL, key: dev.SecretKey}
	if err := c.search(r, caller); err != nil {
		return err
	}
	if err := c.chat(r, caller); err != nil {
		return err
	}
	if !up {
		r.console.Note("")
		r.console.Note("This Magpie ends now. `make up` keeps one running, with the same documents and sign-in:")
	}
	address(r.console, dev)
	r.console.Note("")
	return nil
}

// bucket puts the documents into a bucket of a real S3 server and syncs it.
func (c demoCommand) bucket(r *runtime, s *session, folder *local.Folder, docs string) (err error) {
	var server *devstack.S3
	if err := r.console.Step("an S3 server answers (the first time it is built)", func() (err error) {
		server, err = devstack.StartS3(r, devstack.S3Options{Dir: folder.S3()})
		return err
	}); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Stop(context.WithoutCancel(r))) }()
	if err := r.console.Step("the documents are in its bucket "+bucketName, func() error { return fillBucket(r, server, folder, docs) }); err != nil {
		return err
	}
	f, err := ensure(r, s, s3Collection, "The demo documents from a bucket", "Demo bucket", "s3", variables{
		"config":      variables{"bucket": bucketName, "region": server.Region, "endpoint": server.Endpoint},
		"credentials": variables{"accessKeyId": server.AccessKey, "secretAccessKey": server.SecretKey},
	})
	if err != nil {
		return err
	}
	var job jobRow
	if err := r.console.Step("the bucket is synced", func() error {
		if job, err = startSync(r, s, f.connector.ID, variables{"syncMode": "auto"}); err != nil {
			return err
		}
		job, err = watch(r, r.console, s, job.ID)
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

func fillBucket(ctx context.Context, server *devstack.S3, folder *local.Folder, docs string) (err error) {
	// The server takes a folder among its objects for a bucket.
	if err := os.MkdirAll(filepath.Join(folder.S3(), "objects", bucketName), 0o700); err != nil {
		return fmt.Errorf("make the bucket: %w", err)
	}
	bucket, err := blob.NewS3(blob.S3Config{
		Endpoint: server.Endpoint, Region: server.Region, Bucket: bucketName,
		AccessKeyID: server.AccessKey, SecretAccessKey: server.SecretKey,
	})
	if err != nil {
		return fmt.Errorf("open the bucket: %w", err)
	}
	defer func() { err = errors.Join(err, bucket.Close()) }()
	files, _, err := gather(docs)
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

func putFile(ctx context.Context, bucket *blob.S3, file diskFile) error {
	content, err := os.Open(file.name)
	if err != nil {
		return fmt.Errorf("open a demo document: %w", err)
	}
	defer func() { _ = content.Close() }() // was only read
	if err := bucket.Put(ctx, file.path, content, file.size); err != nil {
		return fmt.Errorf("put %s into the bucket: %w", file.path, err)
	}
	return nil
}

func (c demoCommand) search(r *runtime, caller *api) error {
	r.console.Note("")
	r.console.Note("POST /v1/docs/search  %q", demoQuery)
	r.console.Note("")
	began := time.Now()
	found, err := caller.search(r, map[string]any{"query": demoQuery, "limit": 3, "highlight": true})
	if err != nil {
		return err
	}
	if found.Total == 0 {
		return fmt.Errorf("the search for %q found nothing", demoQuery)
	}
	printHits(r.console, found.hits())
	r.console.Note("over HTTP: %.1f ms", float64(time.Since(began).Microseconds())/1000)
	return nil
}

func (c demoCommand) chat(r *runtime, caller *api) error {
	r.console.Note("")
	r.console.Note("POST /v1/chat/stream  %q", demoQuestion)
	r.console.Note("")
	printer := answerPrinter{console: r.console}
	kinds := map[string]string{"content": "ChatContent", "sources": "ChatSources", "follow_up": "ChatFollowUp"}
	return caller.chat(r, demoQuestion, func(name string, data []byte) error {
		var event chatEvent
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
