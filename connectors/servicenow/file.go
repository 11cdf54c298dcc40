package servicenow

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/restapi"
)

// rowsPerFileList is the number of rows whose files one request lists: their ids are a
// part of its address.
const rowsPerFileList = 50

// filesOf returns the files of rows by the rows' ids.
func (s *source) filesOf(ctx context.Context, t *table, rows []row) (map[string][]row, error) {
	files := map[string][]row{}
	if !s.withFiles {
		return files, nil
	}
	for part := range slices.Chunk(rows, rowsPerFileList) {
		var ids []string
		for _, r := range part {
			ids = append(ids, r.id())
		}
		err := s.eachFile(ctx, "table_name="+t.name+"^table_sys_idIN"+strings.Join(ids, ","), func(f row) error {
			files[f["table_sys_id"].Value] = append(files[f["table_sys_id"].Value], f)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return files, nil
}

// eachFile calls yield with each file of a query.
func (s *source) eachFile(ctx context.Context, query string, yield func(f row) error) error {
	for at, done := (place{}), false; !done; {
		page, err := s.api.list(ctx, filePath, query, nil, at, rowsPerPage)
		if err != nil {
			return tableError(err, "sys_attachment")
		}
		for _, f := range page.rows {
			if !isID(f["table_sys_id"].Value) {
				return errInvalid("a file")
			}
			if err := yield(f); err != nil {
				return err
			}
		}
		at, done = page.next, page.done
	}
	return nil
}

// fileItems returns the items of the files of a row.
func (s *source) fileItems(t *table, r row, files []row) []connectors.Item {
	var items []connectors.Item
	names := map[string]bool{}
	for _, f := range files {
		name := connectors.PathSegment(f["file_name"].Value)
		if names[name] || len(name) > 500 {
			extension := path.Ext(name)
			name = strings.ToValidUTF8(strings.TrimSuffix(name, extension)[:min(400, len(name)-len(extension))], "") + " (" + f.id() + ")" + extension[:min(len(extension), 20)]
		}
		names[name] = true
		items = append(items, connectors.Item{
			ID: fileTable + ":" + f.id(), Path: rowPath(t, r) + "/" + name, Version: f["sys_updated_on"].Value + "-" + f["size_bytes"].Value, Title: f["file_name"].Value,
			URL: strings.TrimRight(s.settings.String(optionURL), "/") + "/" + t.name + ".do?sys_id=" + r.id(), MediaType: f["content_type"].Value, Author: f["sys_created_by"].Value,
			Container: t.name, Size: sizeOf(f), CreatedAt: f.timeOf("sys_created_on"), ModifiedAt: f.timeOf("sys_updated_on"), Metadata: map[string]string{"table": t.name, "number": r["number"].Value},
		})
	}
	return items
}

func sizeOf(f row) int64 {
	size, err := strconv.ParseInt(f["size_bytes"].Value, 10, 64)
	if err != nil || size < 0 {
		return -1
	}
	return size
}

// file returns a file with its row, if the row is one of the connector's.
func (s *source) file(ctx context.Context, id string) (f, of row, t *table, err error) {
	if !s.withFiles {
		return nil, nil, nil, fmt.Errorf("files are none of the connector's: %w", connectors.ErrNotFound)
	}
	var found struct{ Result row }
	if _, err := s.api.request(ctx, restapi.Request{Path: filePath + "/" + url.PathEscape(id), RequiredFields: []string{"result.sys_id"}}, &found); err != nil {
		return nil, nil, nil, err
	}
	f = found.Result
	if f.id() != id || !f.isValid() {
		return nil, nil, nil, errInvalid("a file")
	}
	t, ok := s.table(f["table_name"].Value)
	if !ok {
		return nil, nil, nil, fmt.Errorf("the file is of another table: %w", connectors.ErrNotFound)
	}
	of, err = s.row(ctx, t, f["table_sys_id"].Value)
	return f, of, t, err
}

// openFile returns the content of a file.
func (s *source) openFile(ctx context.Context, item connectors.Item, id string) (io.ReadCloser, error) {
	f, _, _, err := s.file(ctx, id)
	if err != nil {
		return nil, err
	}
	if version := f["sys_updated_on"].Value + "-" + f["size_bytes"].Value; item.Version != "" && item.Version != version {
		return nil, connectors.Retryable(errChanged, 0)
	}
	want := restapi.Expected{Size: sizeOf(f), AllowHTML: strings.Contains(f["content_type"].Value, "html")}
	return s.api.download(ctx, filePath+"/"+url.PathEscape(id)+"/file", want)
}
