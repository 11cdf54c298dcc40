package rest

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/magpie-search/magpie/internal/apierr"
)

// fileKind is the form in which a route answers a whole list as a file.
type fileKind string

// The forms.
const (
	csvFile   fileKind = "csv"
	linesFile fileKind = "jsonl" // a JSON object a line
)

// contentType is the file's media type.
func (k fileKind) contentType() string {
	if k == csvFile {
		return "text/csv"
	}
	return "application/x-ndjson"
}

// file answers all pages of a list as one file. There is never more than a page
// in memory. What goes wrong before the first row is a plain status; after that
// the connection is broken, so that nobody takes half of a list for whole.
func (x *exchange) file(values variables) error {
	values["limit"] = int64(maxPage)
	rows := x.t.operations[x.route.Operation].shape.at(x.route.whole + ".edges.node")
	for first := true; ; first = false {
		page, err := x.page(values)
		if err != nil && first {
			return err
		}
		var text []byte
		if err == nil {
			text, err = x.route.file.write(rows, page.Edges, first)
		}
		if err != nil && first {
			return apierr.Wrap("write the file", err)
		}
		if err != nil {
			x.log(slog.LevelError, "the file broke off", err)
			return x.breakOff()
		}
		if first {
			x.beginFile()
		}
		x.deadline()
		if _, err := x.w.Write(text); err != nil {
			x.log(slog.LevelDebug, "the client went away", err)
			return nil
		}
		if !page.PageInfo.HasNextPage || page.PageInfo.EndCursor == nil {
			return nil
		}
		values["after"] = *page.PageInfo.EndCursor
	}
}

// breakOff keeps the answer's end from being written, so that the client sees
// the connection fail. A panic would not do: the server around the transport
// takes it and goes on writing.
func (x *exchange) breakOff() error {
	if err := x.control.SetWriteDeadline(time.Unix(1, 0)); err != nil {
		return apierr.Wrap("break an answer off", err)
	}
	return nil
}

func (x *exchange) beginFile() {
	h := x.w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Type", x.route.file.contentType()+"; charset=utf-8")
	h.Set("Content-Disposition", `attachment; filename="`+x.route.Pattern[strings.LastIndexByte(x.route.Pattern, '/')+1:]+`"`)
	x.began = true
	x.w.WriteHeader(x.route.Status)
}

// listPage is a page of a connection as the operation answers it.
type listPage struct {
	Edges []struct {
		Node json.RawMessage `json:"node"`
	} `json:"edges"`
	PageInfo struct {
		HasNextPage bool    `json:"hasNextPage"`
		EndCursor   *string `json:"endCursor"`
	} `json:"pageInfo"`
}

func (x *exchange) page(values variables) (*listPage, error) {
	ctx, cancel := context.WithTimeout(x.ctx, x.t.limits.Request)
	defer cancel()
	responses, ctx, err := x.dispatch(ctx, values)
	if err != nil {
		return nil, err
	}
	response := responses(ctx)
	switch {
	case response == nil:
		return nil, apierr.From(errors.Join(ctx.Err(), errors.New("the operation gave no answer")))
	case len(response.Errors) > 0:
		return nil, x.route.edgeError(response.Errors)
	}
	raw, err := dig(response.Data, x.route.whole)
	if err != nil {
		return nil, apierr.Wrap("read a page", err)
	}
	var page listPage
	return &page, apierr.Wrap("read a page", json.Unmarshal(raw, &page))
}

// write makes text of a page's rows; the first has the head of the file.
func (k fileKind) write(row *shape, edges []struct {
	Node json.RawMessage `json:"node"`
}, first bool) ([]byte, error) {
	var text bytes.Buffer
	table := csv.NewWriter(&text)
	if k == csvFile && first {
		head := make([]string, len(row.members))
		for i, m := range row.members {
			head[i] = m.key
		}
		if err := table.Write(head); err != nil {
			return nil, fmt.Errorf("write the head: %w", err)
		}
	}
	for _, edge := range edges {
		line, err := row.write(nil, edge.Node)
		if err != nil {
			return nil, err
		}
		if k != csvFile {
			text.Write(append(line, '\n'))
			continue
		}
		cells, err := cellsOf(row, line)
		if err != nil {
			return nil, err
		}
		if err := table.Write(cells); err != nil {
			return nil, fmt.Errorf("write a row: %w", err)
		}
	}
	table.Flush()
	return text.Bytes(), table.Error()
}

// cellsOf are a row's values in the order of its fields: texts as they are, the
// rest as JSON, null as nothing.
func cellsOf(row *shape, line []byte) ([]string, error) {
	var values map[string]json.RawMessage
	if err := json.Unmarshal(line, &values); err != nil {
		return nil, fmt.Errorf("read a row: %w", err)
	}
	cells := make([]string, len(row.members))
	for i, m := range row.members {
		raw := values[m.key]
		var text string
		switch {
		case isNull(raw):
		case json.Unmarshal(raw, &text) == nil:
		default:
			text = string(raw)
		}
		cells[i] = harmless(text)
	}
	return cells, nil
}

// harmless keeps a spreadsheet from taking a text for a formula.
func harmless(cell string) string {
	if cell != "" && strings.ContainsRune("=+-@\t\r\n", rune(cell[0])) {
		return "'" + cell
	}
	return cell
}
