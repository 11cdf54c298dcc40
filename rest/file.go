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

// fileKind is the format of a list that is sent as a file.
type fileKind string

// File formats.
const (
	csvFile   fileKind = "csv"
	linesFile fileKind = "jsonl" // one JSON object per line
)

// contentType returns the media type.
func (k fileKind) contentType() string {
	if k == csvFile {
		return "text/csv"
	}
	return "application/x-ndjson"
}

// file sends all pages of a list as one file, with one page in memory at a time.
// An error before the first row is an error response. A later error aborts the
// connection, so that the client sees the file is incomplete.
func (x *exchange) file(values variables) error {
	values["limit"] = int64(maxPage)
	rows := x.t.operations[x.route.Operation].shape.lookup(x.route.fileConnection + ".edges.node")
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
			x.log(slog.LevelError, "file aborted", err)
			return x.abort()
		}
		if first {
			x.startFile()
		}
		x.extendDeadline()
		if _, err := x.w.Write(text); err != nil {
			x.log(slog.LevelDebug, "client disconnected", err)
			return nil
		}
		if !page.PageInfo.HasNextPage || page.PageInfo.EndCursor == nil {
			return nil
		}
		values["after"] = *page.PageInfo.EndCursor
	}
}

// abort prevents the end of the response from being written, so that the client
// sees an error. It does not panic, since the GraphQL server would recover and
// continue the response.
func (x *exchange) abort() error {
	if err := x.control.SetWriteDeadline(time.Unix(1, 0)); err != nil {
		return apierr.Wrap("abort the response", err)
	}
	return nil
}

func (x *exchange) startFile() {
	h := x.w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Type", x.route.file.contentType()+"; charset=utf-8")
	h.Set("Content-Disposition", `attachment; filename="`+x.route.Pattern[strings.LastIndexByte(x.route.Pattern, '/')+1:]+`"`)
	x.started = true
	x.w.WriteHeader(x.route.Status)
}

// listPage is a page of a connection in the result of an operation.
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
		return nil, apierr.From(errors.Join(ctx.Err(), errors.New("the operation has no result")))
	case len(response.Errors) > 0:
		return nil, x.route.apiError(response.Errors)
	}
	raw, err := valueAt(response.Data, x.route.fileConnection)
	if err != nil {
		return nil, apierr.Wrap("read page", err)
	}
	var page listPage
	return &page, apierr.Wrap("read page", json.Unmarshal(raw, &page))
}

// write formats the rows of a page, with the header of the file on the first one.
func (k fileKind) write(row *shape, edges []struct {
	Node json.RawMessage `json:"node"`
}, first bool) ([]byte, error) {
	var text bytes.Buffer
	table := csv.NewWriter(&text)
	if k == csvFile && first {
		header := make([]string, len(row.members))
		for i, m := range row.members {
			header[i] = m.key
		}
		if err := table.Write(header); err != nil {
			return nil, fmt.Errorf("write header: %w", err)
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
			return nil, fmt.Errorf("write row: %w", err)
		}
	}
	table.Flush()
	return text.Bytes(), table.Error()
}

// cellsOf returns the values of a row in the order of its fields. Texts are
// unquoted, null is empty, other values are JSON.
func cellsOf(row *shape, line []byte) ([]string, error) {
	var values map[string]json.RawMessage
	if err := json.Unmarshal(line, &values); err != nil {
		return nil, fmt.Errorf("read row: %w", err)
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
		cells[i] = escapeFormula(text)
	}
	return cells, nil
}

// escapeFormula prevents spreadsheets from evaluating a text as a formula.
func escapeFormula(cell string) string {
	if cell != "" && strings.ContainsRune("=+-@\t\r\n", rune(cell[0])) {
		return "'" + cell
	}
	return cell
}
