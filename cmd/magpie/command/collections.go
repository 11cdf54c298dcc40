package command

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/client"
	"github.com/magpie-search/magpie/internal/humanize"
)

type collectionsCommand struct {
	List   collectionsList   `cmd:"" default:"1" help:"List the collections."`
	Create collectionsCreate `cmd:"" help:"Make a collection."`
	Show   collectionsShow   `cmd:"" help:"Show a collection."`
	Update collectionsUpdate `cmd:"" help:"Change a collection."`
	Delete collectionsDelete `cmd:"" help:"Delete a collection with its connectors and documents."`
}

type collectionsList struct{}

// Run lists the collections.
func (collectionsList) Run(r *runtime) error {
	return r.operate(func(api *client.Client) error {
		rows, err := client.List[client.Collection](r, api, "ListCollections", nil, 0)
		if err != nil {
			return err
		}
		if err := readChanges(r, api, rows); err != nil {
			return err
		}
		return r.console.Result(rows, func() {
			table := make([][]string, 0, len(rows))
			for _, row := range rows {
				table = append(table, []string{row.ID.String(), row.Name, strconv.Itoa(row.Stats.Documents),
					strconv.Itoa(row.Stats.Embeddings), humanize.Bytes(row.Stats.StorageBytes), moment(row.Stats.LastSync)})
			}
			r.console.Table([]string{"ID", "NAME", "DOCUMENTS", "PASSAGES", "SIZE", "LAST SYNC"}, table,
				"There is no collection yet; make one with `magpie collections create NAME`.")
			r.noteChanges(rows)
		})
	})
}

type collectionsCreate struct {
	Name        string `arg:"" help:"Name of the collection."`
	Description string `help:"What it holds."`
	Model       string `help:"Embedding model; the default one when left out."`
}

// Run makes the collection.
func (c collectionsCreate) Run(r *runtime) error {
	return r.operate(func(api *client.Client) error {
		input := client.Variables{"name": c.Name}
		optional(input, "description", c.Description)
		optional(input, "embeddingModel", c.Model)
		row, err := api.CreateCollection(r, input)
		if err != nil {
			return err
		}
		return r.console.Result(row, func() { r.console.Printf("%s\n", row.ID) })
	})
}

type collectionsShow struct {
	Collection string `arg:"" help:"Id or name."`
	Recount    bool   `help:"Count documents, passages and bytes anew first."`
}

// Run shows the collection.
func (c collectionsShow) Run(r *runtime) error {
	return r.operate(func(api *client.Client) error {
		id, err := collectionID(r, api, c.Collection)
		if err != nil {
			return err
		}
		if c.Recount {
			if err := api.Do(r, "RefreshCollectionStats", client.Variables{"id": id}, nil); err != nil {
				return err
			}
		}
		row, err := api.Collection(r, id)
		if err != nil {
			return err
		}
		return r.console.Result(row, func() {
			connectors := make([]string, 0, len(row.ConnectorIDs))
			for _, id := range row.ConnectorIDs {
				connectors = append(connectors, id.String())
			}
			r.console.Pairs([2]string{"id", row.ID.String()}, [2]string{"name", row.Name}, [2]string{"description", text(row.Description)},
				[2]string{"embedding model", row.EmbeddingModel}, [2]string{"changing to", text(row.NextModel)}, [2]string{"change", progress(row.ModelChange)},
				[2]string{"documents", strconv.Itoa(row.Stats.Documents)},
				[2]string{"passages", strconv.Itoa(row.Stats.Embeddings)}, [2]string{"size", humanize.Bytes(row.Stats.StorageBytes)},
				[2]string{"last sync", moment(row.Stats.LastSync)}, [2]string{"connectors", strings.Join(connectors, " ")},
				[2]string{"made", moment(&row.CreatedAt)})
		})
	})
}

type collectionsUpdate struct {
	Collection  string  `arg:"" help:"Id or name."`
	Name        string  `help:"Its new name."`
	Description *string `help:"What it holds; empty removes it."`
	Model       string  `help:"Embedding model to change to, in the background; the present one calls a change off."`
}

// Run changes the collection.
func (c collectionsUpdate) Run(r *runtime) error {
	return r.operate(func(api *client.Client) error {
		input := client.Variables{}
		optional(input, "name", c.Name)
		optional(input, "embeddingModel", c.Model)
		switch {
		case c.Description == nil:
		case *c.Description == "":
			input["description"] = nil
		default:
			input["description"] = *c.Description
		}
		if len(input) == 0 {
			return errNothing
		}
		id, err := collectionID(r, api, c.Collection)
		if err != nil {
			return err
		}
		var answer struct {
			Collection client.Collection `json:"collection"`
		}
		if err := api.Do(r, "UpdateCollection", client.Variables{"id": id, "input": input}, &answer); err != nil {
			return err
		}
		return r.console.Result(answer.Collection, func() {
			r.console.Note("Changed %s.", answer.Collection.Name)
			if next := answer.Collection.NextModel; next != nil {
				r.console.Note("It changes from %s to %s in the background.", answer.Collection.EmbeddingModel, *next)
			}
		})
	})
}

type collectionsDelete struct {
	Collection string `arg:"" help:"Id or name."`
	Yes        bool   `help:"Really delete it."`
}

// Run deletes the collection.
func (c collectionsDelete) Run(r *runtime) error {
	return r.operate(func(api *client.Client) error {
		id, err := collectionID(r, api, c.Collection)
		if err != nil {
			return err
		}
		row, err := api.Collection(r, id)
		if err != nil {
			return err
		}
		if !c.Yes {
			return fmt.Errorf("this deletes %q with %d connectors and %d documents; say it again with --yes",
				row.Name, len(row.ConnectorIDs), row.Stats.Documents)
		}
		if err := api.Do(r, "DeleteCollection", client.Variables{"id": id}, nil); err != nil {
			return err
		}
		return r.console.Result(map[string]uuid.UUID{"deleted": id}, func() { r.console.Note("Deleted %s.", row.Name) })
	})
}

// collectionID finds a collection by its id or its name.
func collectionID(ctx context.Context, api *client.Client, nameOrID string) (uuid.UUID, error) {
	if id, err := uuid.Parse(nameOrID); err == nil {
		return id, nil
	}
	rows, err := client.List[client.Collection](ctx, api, "ListCollections", nil, 0)
	if err != nil {
		return uuid.Nil, err
	}
	return byName("collection", nameOrID, "collections", rows, func(c client.Collection) (string, uuid.UUID) { return c.Name, c.ID })
}

// byName finds the one row of a name. list is the command that lists the rows.
func byName[T any](what, name, list string, rows []T, of func(T) (string, uuid.UUID)) (uuid.UUID, error) {
	var found []uuid.UUID
	for _, row := range rows {
		if rowName, id := of(row); rowName == name {
			found = append(found, id)
		}
	}
	switch len(found) {
	case 0:
		return uuid.Nil, fmt.Errorf("there is no %s %q; `magpie %s` shows them", what, name, list)
	case 1:
		return found[0], nil
	}
	ids := make([]string, len(found))
	for i, id := range found {
		ids[i] = id.String()
	}
	return uuid.Nil, fmt.Errorf("several %ss are called %q; give one of the ids: %s", what, name, strings.Join(ids, ", "))
}

var errNothing = usagef("give something to change; --help lists what can be")

// optional adds an input that was given.
func optional(input client.Variables, rowName, value string) {
	if value != "" {
		input[rowName] = value
	}
}
