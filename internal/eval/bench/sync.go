package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/magpie-search/magpie/internal/client"
	"github.com/magpie-search/magpie/internal/connector/blob"
	"github.com/magpie-search/magpie/internal/devstack"
	"github.com/magpie-search/magpie/internal/eval/bench/synth"
)

// SyncBudget is the time for a sync of 10,000 objects without a change.
const SyncBudget = 3 * time.Second

// SyncOptions configures Sync.
type SyncOptions struct {
	Objects int // in the bucket
	Repeats int // of the sync without a change
	// Networks is the value of ALLOWED_PRIVATE_NETWORKS with which connectors reach
	// the S3 server.
	Networks string
}

// SyncResult is the result of Sync.
type SyncResult struct {
	Machine Machine         `json:"machine"`
	Objects int             `json:"objects"`
	First   time.Duration   `json:"firstNanoseconds"`
	Repeats []time.Duration `json:"againNanoseconds"`
	// Fetched is the number of objects that the syncs without a change fetched.
	Fetched int `json:"fetched"`
}

const bucketName = "bench"

// Sync measures syncs of a bucket on an S3 server.
func Sync(ctx context.Context, s *Stack, o SyncOptions) (result *SyncResult, err error) {
	var bucket *devstack.S3
	if err := s.Display.Step("an S3 server answers (the first time it is built)", func() (err error) {
		bucket, err = devstack.StartS3(ctx, devstack.S3Options{Dir: filepath.Join(s.Dir, "s3")})
		return err
	}); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, bucket.Stop(context.WithoutCancel(ctx))) }()
	if err := s.Display.Step(fmt.Sprintf("%d objects are in its bucket", o.Objects), func() error {
		return putObjects(ctx, bucket, o.Objects)
	}); err != nil {
		return nil, err
	}
	connector, err := s.Client.EnsureConnector(ctx, client.Variables{"name": collectionName}, "Bucket", "s3", client.Variables{
		"config":      client.Variables{"bucket": bucketName, "region": bucket.Region, "endpoint": bucket.Endpoint},
		"credentials": client.Variables{"accessKeyId": bucket.AccessKey, "secretAccessKey": bucket.SecretKey},
	})
	if err != nil {
		return nil, err
	}
	s.Settings = append(s.Settings, "ALLOWED_PRIVATE_NETWORKS="+o.Networks)
	worker, err := s.startWorker(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, worker.stop()) }()
	result = &SyncResult{Objects: o.Objects}
	start := time.Now()
	if _, err := s.Client.Sync(ctx, connector.ID, "auto", s.Display); err != nil {
		return nil, err
	}
	result.First = time.Since(start)
	for range o.Repeats {
		start := time.Now()
		job, err := s.Client.Sync(ctx, connector.ID, "auto", client.Silent{})
		if err != nil {
			return nil, err
		}
		result.Repeats = append(result.Repeats, time.Since(start))
		if job.Stats.Unchanged != o.Objects {
			return nil, fmt.Errorf("%d of %d objects were found unchanged", job.Stats.Unchanged, o.Objects)
		}
		result.Fetched += job.Progress.Parsed
	}
	return result, nil
}

// putObjects creates the bucket with small pages.
func putObjects(ctx context.Context, server *devstack.S3, objects int) (err error) {
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
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(16)
	for n := range objects {
		group.Go(func() error {
			page := fmt.Appendf(nil, "# Page %d\n\n%s\n", n, synth.Words(n, 60))
			if err := bucket.Put(groupCtx, fmt.Sprintf("part-%02d/page-%05d.md", n%20, n), bytes.NewReader(page), int64(len(page))); err != nil {
				return fmt.Errorf("put an object: %w", err)
			}
			return nil
		})
	}
	return group.Wait()
}
