package command

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/cmd/magpie/console"
	"github.com/magpie-search/magpie/internal/client"
	"github.com/magpie-search/magpie/internal/humanize"
)

type documentsCommand struct {
	List   documentsList   `cmd:"" default:"withargs" help:"List documents."`
	Show   documentsShow   `cmd:"" help:"Show a document."`
	Delete documentsDelete `cmd:"" help:"Remove a document from the index; syncs do not bring it back."`
}

type documentRow struct {
	ID              uuid.UUID      `json:"id"`
	Path            string         `json:"path"`
	Title           string         `json:"title"`
	URL             *string        `json:"url"`
	Status          string         `json:"status"`
	CollectionID    uuid.UUID      `json:"collectionId"`
	CollectionName  string         `json:"collectionName"`
	ConnectorID     uuid.UUID      `json:"connectorId"`
	Section         *string        `json:"section"`
	Version         *string        `json:"version"`
	Tags            []string       `json:"tags"`
	DocType         *string        `json:"docType"`
	Language        *string        `json:"language"`
	Author          *string        `json:"author"`
	Pages           *int           `json:"pages"`
	Bytes           int64          `json:"bytes"`
	PassageCount    int            `json:"passageCount"`
	Failure         *string        `json:"failure"`
	Restricted      bool           `json:"restricted"`
	Metadata        map[string]any `json:"metadata,omitempty"`
	CreatedAt       time.Time      `json:"createdAt"`
	IndexedAt       *time.Time     `json:"indexedAt"`
	SourceUpdatedAt *time.Time     `json:"sourceUpdatedAt"`
}

type documentsList struct {
	Collection string   `help:"Only those of this collection (id or name)."`
	Connector  string   `help:"Only those of this connector (id or name)."`
	Status     []string `help:"pending, processing, indexed, failed or deleted."`
	Matching   string   `placeholder:"TEXT" help:"Only those whose path or title contains this."`
	Limit      int      `default:"200" help:"Most documents to list; 0 lists all."`
}

// Run lists documents by path.
func (c documentsList) Run(r *runtime) error {
	return r.operate(func(api *client.Client) error {
		v := client.Variables{}
		optional(v, "matching", c.Matching)
		if c.Collection != "" {
			id, err := collectionID(r, api, c.Collection)
			if err != nil {
				return err
			}
			v["collection"] = id
		}
		if c.Connector != "" {
			id, err := connectorID(r, api, c.Connector)
			if err != nil {
				return err
			}
			v["connector"] = id
		}
		if len(c.Status) > 0 {
			v["status"] = upper(c.Status)
		}
		rows, err := client.List[documentRow](r, api, "ListDocuments", v, max(c.Limit, 0))
		if err != nil {
			return err
		}
		return r.console.Result(rows, func() {
			table := make([][]string, 0, len(rows))
			for _, row := range rows {
				table = append(table, []string{row.ID.String(), row.Path, row.Title, row.CollectionName, strings.ToLower(row.Status), humanize.Bytes(row.Bytes), moment(row.IndexedAt)})
			}
			r.console.Table([]string{"ID", "PATH", "TITLE", "COLLECTION", "STATUS", "SIZE", "INDEXED"}, table, "There is no such document.")
		})
	})
}

// upper returns the names of enum values.
func upper(names []string) []string {
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = strings.ToUpper(name)
	}
	return out
}

type documentsShow struct {
	Document string `arg:"" help:"Id, path, title or URL."`
	Text     bool   `help:"Print its text, as Markdown, and nothing else."`
}

// Run shows the document.
func (c documentsShow) Run(r *runtime) error {
	return r.operate(func(api *client.Client) error {
		id, err := documentID(r, api, c.Document)
		if err != nil {
			return err
		}
		if c.Text {
			var got struct{ Document struct{ Content string } }
			if err := api.Do(r, "GetDocumentContent", client.Variables{"id": id}, &got); err != nil {
				return err
			}
			return r.console.Result(map[string]string{"content": got.Document.Content}, func() {
				r.console.Printf("%s\n", strings.TrimRight(console.Text(got.Document.Content), "\n"))
			})
		}
		row, err := documentOf(r, api, id)
		if err != nil {
			return err
		}
		return r.console.Result(row, func() { row.show(r) })
	})
}

func documentOf(ctx context.Context, api *client.Client, id uuid.UUID) (documentRow, error) {
	var got struct{ Document documentRow }
	err := api.Do(ctx, "GetDocument", client.Variables{"id": id}, &got)
	return got.Document, err
}

func (d *documentRow) show(r *runtime) {
	pairs := [][2]string{{"id", d.ID.String()}, {"path", d.Path}, {"title", d.Title}, {"status", strings.ToLower(d.Status)},
		{"collection", d.CollectionName}, {"connector", d.ConnectorID.String()}}
	for _, pair := range [][2]string{
		{"url", text(d.URL)}, {"section", text(d.Section)}, {"version", text(d.Version)}, {"tags", strings.Join(d.Tags, " ")}, {"type", text(d.DocType)},
		{"language", text(d.Language)}, {"author", text(d.Author)}, {"failure", text(d.Failure)},
	} {
		if pair[1] != "" {
			pairs = append(pairs, pair)
		}
	}
	pairs = append(pairs, [2]string{"size", humanize.Bytes(d.Bytes)}, [2]string{"passages", strconv.Itoa(d.PassageCount)},
		[2]string{"restricted", fmt.Sprint(d.Restricted)}, [2]string{"changed", moment(d.SourceUpdatedAt)}, [2]string{"indexed", moment(d.IndexedAt)})
	r.console.Pairs(pairs...)
}

type documentsDelete struct {
	Document string `arg:"" help:"Id, path, title or URL."`
	Yes      bool   `help:"Really delete it."`
}

// Run removes the document.
func (c documentsDelete) Run(r *runtime) error {
	return r.operate(func(api *client.Client) error {
		id, err := documentID(r, api, c.Document)
		if err != nil {
			return err
		}
		row, err := documentOf(r, api, id)
		if err != nil {
			return err
		}
		if !c.Yes {
			return fmt.Errorf("this removes %q (%s) from the index; say it again with --yes", row.Title, row.Path)
		}
		if err := api.Do(r, "DeleteDocument", client.Variables{"id": id, "connector": row.ConnectorID}, nil); err != nil {
			return err
		}
		return r.console.Result(map[string]uuid.UUID{"deleted": id}, func() { r.console.Note("Deleted %s.", row.Path) })
	})
}

// documentID finds a document by its id, or by its path, title or URL, in this order.
func documentID(ctx context.Context, api *client.Client, nameOrID string) (uuid.UUID, error) {
	if id, err := uuid.Parse(nameOrID); err == nil {
		return id, nil
	}
	v := client.Variables{"status": []string{"PENDING", "PROCESSING", "INDEXED", "FAILED"}}
	if !strings.Contains(nameOrID, "://") { // the server compares paths and titles
		v["matching"] = nameOrID
	}
	rows, err := client.List[documentRow](ctx, api, "ListDocuments", v, 0)
	if err != nil {
		return uuid.Nil, err
	}
	for _, of := range []func(documentRow) string{
		func(d documentRow) string { return d.Path }, func(d documentRow) string { return d.Title }, func(d documentRow) string { return text(d.URL) },
	} {
		if slices.ContainsFunc(rows, func(d documentRow) bool { return of(d) == nameOrID }) {
			return byName("document", nameOrID, "documents", rows, func(d documentRow) (string, uuid.UUID) { return of(d), d.ID })
		}
	}
	return uuid.Nil, fmt.Errorf("there is no document %q; `magpie documents --matching TEXT` shows them", nameOrID)
}
