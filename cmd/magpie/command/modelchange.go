package command

import (
	"context"
	"fmt"

	"github.com/magpie-search/magpie/internal/client"
)

// maxChanges bounds the changes of models that a command looks at.
const maxChanges = 20

// readChanges reads how far the collections are that change their model, up to
// maxChanges of them.
func readChanges(ctx context.Context, api *client.Client, rows []client.Collection) error {
	n := 0
	for i := range rows {
		if rows[i].NextModel == nil {
			continue
		}
		if n++; n > maxChanges {
			return nil
		}
		row, err := api.Collection(ctx, rows[i].ID)
		if err != nil {
			return err
		}
		rows[i].ModelChange = row.ModelChange
	}
	return nil
}

// progress says how far a change of models is; "" for none.
func progress(change *client.ModelChange) string {
	if change == nil {
		return ""
	}
	text := ""
	if change.Passages != nil && change.Embedded != nil {
		text = fmt.Sprintf("%d of %d passages, ", *change.Embedded, *change.Passages)
	}
	switch change.State {
	case "RUNNING":
		return text + "running"
	case "FAILING":
		text += "failing"
		if change.FailedAt != nil {
			text += " since " + moment(change.FailedAt)
		}
		if change.Reason != nil {
			text += ": " + *change.Reason
		}
		return text
	}
	return text + "waiting for a worker"
}

// noteChanges prints the collections that change their model.
func (r *runtime) noteChanges(rows []client.Collection) {
	for _, row := range rows {
		if row.ModelChange == nil {
			continue
		}
		say := r.console.Note
		if row.ModelChange.State == "FAILING" {
			say = r.console.Warn
		}
		say("%s changes from %s to %s: %s", row.Name, row.EmbeddingModel, row.ModelChange.Model, progress(row.ModelChange))
	}
}
