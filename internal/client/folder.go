package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
)

// maxExamples is how many items a Problem names.
const maxExamples = 3

// Mirror makes the uploaded files of a connector equal to the files of a folder:
// it uploads new and changed files and deletes the others.
func (c *Client) Mirror(ctx context.Context, connector uuid.UUID, folder string, r Reporter) (UploadResult, error) {
	files, skipped, err := Scan(folder)
	if err != nil {
		return UploadResult{}, err
	}
	if len(files) == 0 {
		return UploadResult{}, fmt.Errorf("there is no file in %s", folder)
	}
	uploaded, err := c.Files(ctx, connector)
	if err != nil {
		return UploadResult{}, err
	}
	onDisk := make(map[string]bool, len(files))
	for _, file := range files {
		onDisk[file.Path] = true
	}
	var missing []string
	for _, row := range uploaded {
		if !onDisk[row.Path] {
			missing = append(missing, row.Path)
		}
	}
	if len(missing) > 0 {
		if _, err := c.DeleteFiles(ctx, connector, missing); err != nil {
			return UploadResult{}, err
		}
	}
	result, err := c.Upload(ctx, connector, files, r)
	result.Refused = append(result.Refused, skipped...)
	return result, err
}

// A FolderSync is the result of uploading and syncing a folder.
type FolderSync struct {
	Folder     string        `json:"folder"`
	Collection uuid.UUID     `json:"collectionId"`
	Connector  uuid.UUID     `json:"connectorId"`
	Upload     UploadResult  `json:"upload"`
	UploadTime time.Duration `json:"uploadNanoseconds"`
	Job        Job           `json:"job"`
	SyncTime   time.Duration `json:"syncNanoseconds"`
	Passages   int           `json:"passages"`
	Problems   []Problem     `json:"trouble"`
}

// A Problem is a reason why items were skipped or failed, with examples.
type Problem struct {
	Status   string   `json:"status"`
	Reason   string   `json:"reason"`
	Count    int      `json:"count"`
	Examples []string `json:"examples"`
}

// SyncFolder uploads a folder into the collection of a name, which it creates
// when there is none, and syncs it in a mode. Settings are those of the connector, nil for no change. The result holds what was done before an error.
func (c *Client) SyncFolder(ctx context.Context, folder, collection, mode string, settings Variables, r Reporter) (FolderSync, error) {
	result := FolderSync{Folder: folder}
	connector, err := c.EnsureConnector(ctx, Variables{"name": collection, "description": "The files of " + folder}, "Files of "+collection, "file_upload", settings)
	if err != nil {
		return result, err
	}
	result.Collection, result.Connector = connector.CollectionID, connector.ID
	start := time.Now()
	if result.Upload, err = c.Mirror(ctx, connector.ID, folder, r); err != nil {
		return result, err
	}
	result.UploadTime = time.Since(start)
	start = time.Now()
	job, err := c.StartSync(ctx, connector.ID, Variables{"syncMode": mode})
	if err != nil {
		return result, err
	}
	if result.Job, err = c.Watch(ctx, job.ID, r); err != nil {
		return result, err
	}
	result.SyncTime = time.Since(start)
	row, err := c.Collection(ctx, result.Collection)
	if err != nil {
		return result, err
	}
	result.Passages = row.Stats.Embeddings
	if result.Problems, err = c.problems(ctx, connector.ID, job.ID); err != nil {
		return result, err
	}
	if result.Job.Status == "FAILED" {
		return result, fmt.Errorf("the sync failed: %s", result.Job.Failure())
	}
	if result.Job.Status == "CANCELED" {
		return result, errors.New("the sync was canceled")
	}
	return result, nil
}

// problems groups the items that a job skipped and those that failed by reason,
// the most frequent reason first.
func (c *Client) problems(ctx context.Context, connector, job uuid.UUID) ([]Problem, error) {
	items, err := c.Items(ctx, connector, job, []string{"skipped", "failed"}, 0)
	if err != nil {
		return nil, err
	}
	type key struct{ status, reason string }
	groups := make(map[key]*Problem)
	for _, item := range items {
		k := key{status: item.Status}
		if item.Reason != nil {
			k.reason = *item.Reason
		}
		if groups[k] == nil {
			groups[k] = &Problem{Status: k.status, Reason: k.reason}
		}
		group := groups[k]
		group.Count++
		if len(group.Examples) < maxExamples {
			group.Examples = append(group.Examples, item.Path)
		}
	}
	problems := make([]Problem, 0, len(groups))
	for _, group := range groups {
		problems = append(problems, *group)
	}
	slices.SortFunc(problems, func(a, b Problem) int {
		return cmp.Or(b.Count-a.Count, strings.Compare(a.Status+a.Reason, b.Status+b.Reason))
	})
	return problems, nil
}
