package command

import (
	"context"
	"errors"
	"strings"

	"github.com/google/uuid"
)

type filesCommand struct {
	List   filesList   `cmd:"" help:"List the files of a connector."`
	Upload filesUpload `cmd:"" help:"Upload files and whole folders; a sync indexes them."`
	Delete filesDelete `cmd:"" help:"Delete files and their documents."`
}

type filesList struct {
	Connector string `arg:"" help:"Id or name of a file_upload connector."`
}

// Run lists the files.
func (c filesList) Run(r *runtime) error {
	return r.withConnector(c.Connector, func(s *session, id uuid.UUID) error {
		rows, err := listFiles(r, s, id)
		if err != nil {
			return err
		}
		return r.console.Result(rows, func() {
			table := make([][]string, 0, len(rows))
			for _, row := range rows {
				table = append(table, []string{row.Path, size(row.Bytes), row.MediaType, moment(&row.UpdatedAt)})
			}
			r.console.Table([]string{"PATH", "SIZE", "TYPE", "CHANGED"}, table, "There are no files.")
		})
	})
}

func listFiles(ctx context.Context, s *session, connector uuid.UUID) ([]fileRow, error) {
	type answer struct {
		Connector pages[fileRow] `json:"connector"`
	}
	return everyOf(ctx, s, "ListFiles", variables{"connector": connector}, 0,
		func(a *answer) *connection[fileRow] { return &a.Connector.Page })
}

type filesUpload struct {
	Connector string   `arg:"" help:"Id or name of a file_upload connector."`
	Paths     []string `arg:"" type:"path" help:"Files and folders."`
	Prefix    string   `help:"Folder that stands before the paths."`
}

// Run uploads the files.
func (c filesUpload) Run(r *runtime) error {
	return r.withConnector(c.Connector, func(s *session, id uuid.UUID) error {
		var all []diskFile
		for _, path := range c.Paths {
			found, left, err := gather(path)
			if err != nil {
				return err
			}
			for _, l := range left {
				r.console.Warn("left out: %s: %s", l.path, l.reason)
			}
			all = append(all, found...)
		}
		if prefix := strings.Trim(c.Prefix, "/"); prefix != "" {
			for i := range all {
				all[i].path = prefix + "/" + all[i].path
			}
		}
		if len(all) == 0 {
			return errors.New("there is no file to upload")
		}
		outcome, err := upload(r, r.console, s, id, all)
		if err != nil {
			return err
		}
		return r.console.Result(outcome, func() { outcome.print(r.console) })
	})
}

type filesDelete struct {
	Connector string   `arg:"" help:"Id or name of a file_upload connector."`
	Paths     []string `arg:"" help:"Paths as files list shows them."`
}

// Run deletes the files.
func (c filesDelete) Run(r *runtime) error {
	return r.withConnector(c.Connector, func(s *session, id uuid.UUID) error {
		deleted, err := deleteFiles(r, s, id, c.Paths)
		if err != nil {
			return err
		}
		return r.console.Result(map[string][]string{"deleted": deleted}, func() {
			for _, path := range deleted {
				r.console.Printf("%s\n", path)
			}
			if missing := len(c.Paths) - len(deleted); missing > 0 {
				r.console.Note("%d of %d paths were not there.", missing, len(c.Paths))
			}
		})
	})
}

func deleteFiles(ctx context.Context, s *session, connector uuid.UUID, paths []string) ([]string, error) {
	var answer struct {
		Deleted []string `json:"deleted"`
	}
	err := s.do(ctx, "DeleteFiles", variables{"connector": connector, "paths": paths}, &answer)
	return answer.Deleted, err
}
