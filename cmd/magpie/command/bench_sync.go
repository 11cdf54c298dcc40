package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/magpie-search/magpie/cmd/magpie/console"
	"github.com/magpie-search/magpie/internal/connector/blob"
	"github.com/magpie-search/magpie/internal/devstack"
	"github.com/magpie-search/magpie/internal/eval/bench"
)

// resyncBudget is what a sync of 10,000 objects may take that finds none changed.
const resyncBudget = 3 * time.Second

type benchSyncCommand struct {
	Objects int  `default:"10000" help:"Objects in the bucket."`
	Repeat  int  `default:"3" help:"How often they are synced again."`
	Keep    bool `help:"Keep the data."`
}

// benchSyncResult is what syncs of a bucket took.
type benchSyncResult struct {
	Machine bench.Machine   `json:"machine"`
	Objects int             `json:"objects"`
	First   time.Duration   `json:"firstNanoseconds"`
	Again   []time.Duration `json:"againNanoseconds"`
	// Fetched is how many objects the syncs that found nothing new read.
	Fetched int `json:"fetched"`
}

// Run measures syncs of a bucket of an S3 server, with `magpie worker` in a
// process of its own.
func (c benchSyncCommand) Run(r *runtime) error {
	if c.Objects < 1 || c.Repeat < 1 {
		return errors.New("--objects and --repeat must be 1 or more")
	}
	machine := bench.ThisMachine() // before it is busy with this
	b, err := openBenchStack(r, "bench-sync")
	var result *benchSyncResult
	if err == nil {
		result, err = c.measure(r, b)
	}
	if err := errors.Join(err, b.close(r, c.Keep)); err != nil {
		return err
	}
	result.Machine = machine
	return r.console.Result(result, func() { result.print(r.console) })
}

func (c benchSyncCommand) measure(r *runtime, b *benchStack) (result *benchSyncResult, err error) {
	var server *devstack.S3
	if err := r.console.Step("an S3 server answers (the first time it is built)", func() (err error) {
		server, err = devstack.StartS3(r, devstack.S3Options{Dir: b.folder.S3()})
		return err
	}); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, server.Stop(context.WithoutCancel(r))) }()
	if err := r.console.Step(fmt.Sprintf("%d objects are in its bucket", c.Objects), func() error {
		return putObjects(r, server, filepath.Join(b.folder.S3(), "objects", bucketName), c.Objects)
	}); err != nil {
		return nil, err
	}
	f, err := ensure(r, b.session, benchCollection, "", "Bucket", "s3", variables{
		"config":      variables{"bucket": bucketName, "region": server.Region, "endpoint": server.Endpoint},
		"credentials": variables{"accessKeyId": server.AccessKey, "secretAccessKey": server.SecretKey},
	})
	if err != nil {
		return nil, err
	}
	b.settings = append(b.settings, "ALLOWED_PRIVATE_NETWORKS="+devNetworks)
	worker, err := b.work(r)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, worker.stop()) }()
	silent := console.New(console.Options{Out: io.Discard, Err: io.Discard})
	result = &benchSyncResult{Objects: c.Objects}
	for n := range c.Repeat + 1 {
		began := time.Now()
		job, err := startSync(r, b.session, f.connector.ID, variables{"syncMode": "auto"})
		if err != nil {
			return nil, err
		}
		shown := silent
		if n == 0 {
			shown = r.console
		}
		if job, err = watch(r, shown, b.session, job.ID); err != nil {
			return nil, err
		}
		took := time.Since(began)
		switch {
		case job.Status != "COMPLETED":
			return nil, fmt.Errorf("a sync ended as %s: %s", lower(job.Status), text(job.Error))
		case n == 0:
			result.First = took
			continue
		case job.Stats.Unchanged != c.Objects:
			return nil, fmt.Errorf("%d of %d objects were found unchanged", job.Stats.Unchanged, c.Objects)
		}
		result.Again, result.Fetched = append(result.Again, took), result.Fetched+job.Progress.Parsed
	}
	return result, nil
}

// putObjects makes a bucket of small pages; the server takes a folder for one.
func putObjects(ctx context.Context, server *devstack.S3, folder string, objects int) (err error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
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
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(16)
	for n := range objects {
		group.Go(func() error {
			page := fmt.Appendf(nil, "# Page %d\n\n%s\n", n, words(n, 60))
			if err := bucket.Put(inner, fmt.Sprintf("part-%02d/page-%05d.md", n%20, n), bytes.NewReader(page), int64(len(page))); err != nil {
				return fmt.Errorf("put an object: %w", err)
			}
			return nil
		})
	}
	return group.Wait() // says what it was doing
}

func (b *benchSyncResult) print(c *console.Console) {
	rows := [][]string{{"first sync", console.Duration(b.First), fmt.Sprintf("%.0f objects/s", float64(b.Objects)/b.First.Seconds())}}
	for _, took := range b.Again {
		rows = append(rows, []string{"nothing new", console.Duration(took), fmt.Sprintf("%.0f objects/s", float64(b.Objects)/took.Seconds())})
	}
	c.Table([]string{fmt.Sprintf("%d OBJECTS", b.Objects), "", ""}, rows, "")
	c.Printf("%d objects were fetched by the syncs that found nothing new; the budget of 10,000 is %s.\n", b.Fetched, console.Duration(resyncBudget))
}
