package command

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/cmd/magpie/console"
)

// examplesShown is how many items are named for each reason.
const examplesShown = 3

// filled is a collection that one connector fills.
type filled struct {
	collection collectionRow
	connector  connectorRow
}

// ensure finds a collection and the connector in it by their names, and makes
// what is missing. The settings of an existing connector are brought up to date.
func ensure(ctx context.Context, s *session, collection, description, connector, kind string, settings variables) (filled, error) {
	var f filled
	collections, err := every[collectionRow](ctx, s, "ListCollections", nil, 0)
	if err != nil {
		return f, err
	}
	for _, row := range collections {
		if row.Name == collection {
			f.collection = row
		}
	}
	if f.collection.ID == uuid.Nil {
		if f.collection, err = createCollection(ctx, s, variables{"name": collection, "description": description}); err != nil {
			return f, err
		}
	}
	connectors, err := every[connectorRow](ctx, s, "ListConnectors", variables{"collection": f.collection.ID}, 0)
	if err != nil {
		return f, err
	}
	for _, row := range connectors {
		if row.Name != connector || row.Type != kind {
			continue
		}
		f.connector = row
		if len(settings) > 0 {
			f.connector, err = updateConnector(ctx, s, row.ID, settings)
		}
		return f, err
	}
	input := merged(settings)
	input["name"], input["type"], input["collection"] = connector, kind, f.collection.ID
	f.connector, err = createConnector(ctx, s, input)
	return f, err
}

// mirror makes the uploaded files of a connector those of a folder: new and
// changed ones are uploaded, those that are gone are deleted.
func mirror(ctx context.Context, c *console.Console, s *session, connector uuid.UUID, folder string) (uploadOutcome, error) {
	files, left, err := gather(folder)
	if err != nil {
		return uploadOutcome{}, err
	}
	if len(files) == 0 {
		return uploadOutcome{}, fmt.Errorf("there is no file in %s", folder)
	}
	present, err := listFiles(ctx, s, connector)
	if err != nil {
		return uploadOutcome{}, err
	}
	here := make(map[string]bool, len(files))
	for _, file := range files {
		here[file.path] = true
	}
	var gone []string
	for _, row := range present {
		if !here[row.Path] {
			gone = append(gone, row.Path)
		}
	}
	if len(gone) > 0 {
		if _, err := deleteFiles(ctx, s, connector, gone); err != nil {
			return uploadOutcome{}, err
		}
	}
	outcome, err := upload(ctx, c, s, connector, files)
	for _, l := range left {
		outcome.Refused = append(outcome.Refused, refusedFile{l.path, l.reason})
	}
	return outcome, err
}

// report is what syncing a folder gave.
type report struct {
	Folder     string        `json:"folder"`
	Collection uuid.UUID     `json:"collectionId"`
	Connector  uuid.UUID     `json:"connectorId"`
	Upload     uploadOutcome `json:"upload"`
	UploadTime time.Duration `json:"uploadNanoseconds"`
	Job        jobRow        `json:"job"`
	SyncTime   time.Duration `json:"syncNanoseconds"`
	Passages   int           `json:"passages"`
	Trouble    []reason      `json:"trouble"`
}

// reason is why items were skipped or failed, with some of them.
type reason struct {
	Status   string   `json:"status"`
	Reason   string   `json:"reason"`
	Count    int      `json:"count"`
	Examples []string `json:"examples"`
}

// syncFolder uploads a folder into a collection of its own and syncs it.
func syncFolder(ctx context.Context, c *console.Console, s *session, folder, name string, input variables) (report, error) {
	rep := report{Folder: folder}
	f, err := ensure(ctx, s, name, "The files of "+folder, "Files of "+name, "file_upload", nil)
	if err != nil {
		return rep, err
	}
	rep.Collection, rep.Connector = f.collection.ID, f.connector.ID
	began := time.Now()
	if rep.Upload, err = mirror(ctx, c, s, f.connector.ID, folder); err != nil {
		return rep, err
	}
	rep.UploadTime = time.Since(began)
	began = time.Now()
	job, err := startSync(ctx, s, f.connector.ID, input)
	if err != nil {
		return rep, err
	}
	if rep.Job, err = watch(ctx, c, s, job.ID); err != nil {
		return rep, err
	}
	rep.SyncTime = time.Since(began)
	row, err := getCollection(ctx, s, f.collection.ID)
	if err != nil {
		return rep, err
	}
	rep.Passages = row.Stats.Embeddings
	if rep.Trouble, err = reasons(ctx, s, f.connector.ID, job.ID); err != nil {
		return rep, err
	}
	if rep.Job.Status == "FAILED" {
		return rep, fmt.Errorf("the sync failed: %s", text(rep.Job.Error))
	}
	if rep.Job.Status == "CANCELED" {
		return rep, errors.New("the sync was canceled")
	}
	return rep, nil
}

// reasons groups what a job skipped and what failed by why.
func reasons(ctx context.Context, s *session, connector, job uuid.UUID) ([]reason, error) {
	items, err := listItems(ctx, s, connector, job, []string{"skipped", "failed"}, 0)
	if err != nil {
		return nil, err
	}
	byReason := map[string]*reason{}
	for _, item := range items {
		why := text(item.Reason)
		key := item.Status + "\x00" + why
		if byReason[key] == nil {
			byReason[key] = &reason{Status: item.Status, Reason: why}
		}
		group := byReason[key]
		group.Count++
		if len(group.Examples) < examplesShown {
			group.Examples = append(group.Examples, item.Path)
		}
	}
	groups := make([]reason, 0, len(byReason))
	for _, group := range byReason {
		groups = append(groups, *group)
	}
	sort.Slice(groups, func(i, j int) bool {
		if groups[i].Count != groups[j].Count {
			return groups[i].Count > groups[j].Count
		}
		return groups[i].Status+groups[i].Reason < groups[j].Status+groups[j].Reason
	})
	return groups, nil
}

// print says what a sync of a folder gave: rates, and what is missing and why.
func (rep report) print(c *console.Console) {
	c.Note("%s", summary(rep.Job))
	if seconds := rep.SyncTime.Seconds(); seconds > 0 {
		stored := rep.Job.Stats.Added + rep.Job.Stats.Modified
		line := fmt.Sprintf("%.0f files/s", float64(rep.Job.Progress.Collected)/seconds)
		if stored > 0 && rep.Job.Stats.Unchanged == 0 {
			line += fmt.Sprintf(", %.0f passages/s (%d passages)", float64(rep.Passages)/seconds, rep.Passages)
		}
		c.Note("%s; the sync took %s", line, console.Duration(rep.SyncTime))
	}
	for _, refused := range rep.Upload.Refused {
		c.Note("  not uploaded: %s: %s", refused.Path, refused.Reason)
	}
	for _, group := range rep.Trouble {
		c.Note("  %s %d: %s", lower(group.Status), group.Count, group.Reason)
		for _, example := range group.Examples {
			c.Note("      %s", example)
		}
	}
	for _, warning := range rep.Job.Warnings {
		c.Note("  warning: %s", warning)
	}
}
