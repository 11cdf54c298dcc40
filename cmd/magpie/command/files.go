package command

import (
	"errors"
	"strings"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/cmd/magpie/console"
	"github.com/magpie-search/magpie/internal/client"
	"github.com/magpie-search/magpie/internal/humanize"
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
	return r.withConnector(c.Connector, func(api *client.Client, id uuid.UUID) error {
		rows, err := api.Files(r, id)
		if err != nil {
			return err
		}
		return r.console.Result(rows, func() {
			table := make([][]string, 0, len(rows))
			for _, row := range rows {
				table = append(table, []string{row.Path, humanize.Bytes(row.Bytes), row.MediaType, moment(&row.UpdatedAt)})
			}
			r.console.Table([]string{"PATH", "SIZE", "TYPE", "CHANGED"}, table, "There are no files.")
		})
	})
}

type filesUpload struct {
	Connector string   `arg:"" help:"Id or name of a file_upload connector."`
	Paths     []string `arg:"" type:"path" help:"Files and folders."`
	Prefix    string   `help:"Folder that stands before the paths."`
}

// Run uploads the files.
func (c filesUpload) Run(r *runtime) error {
	return r.withConnector(c.Connector, func(api *client.Client, id uuid.UUID) error {
		var all []client.DiskFile
		for _, path := range c.Paths {
			found, skipped, err := client.Scan(path)
			if err != nil {
				return err
			}
			for _, file := range skipped {
				r.console.Warn("left out: %s: %s", file.Path, file.Reason)
			}
			all = append(all, found...)
		}
		if prefix := strings.Trim(c.Prefix, "/"); prefix != "" {
			for i := range all {
				all[i].Path = prefix + "/" + all[i].Path
			}
		}
		if len(all) == 0 {
			return errors.New("there is no file to upload")
		}
		result, err := api.Upload(r, id, all, reporter{r.console})
		if err != nil {
			return err
		}
		return r.console.Result(result, func() { printUpload(r.console, result) })
	})
}

func printUpload(c *console.Console, result client.UploadResult) {
	c.Note("Uploaded %s (%s), %d were there already.", humanize.Count(result.Uploaded, "file"), humanize.Bytes(result.Bytes), result.Unchanged)
	for _, refused := range result.Refused {
		c.Warn("not uploaded: %s: %s", refused.Path, refused.Reason)
	}
}

type filesDelete struct {
	Connector string   `arg:"" help:"Id or name of a file_upload connector."`
	Paths     []string `arg:"" help:"Paths as files list shows them."`
}

// Run deletes the files.
func (c filesDelete) Run(r *runtime) error {
	return r.withConnector(c.Connector, func(api *client.Client, id uuid.UUID) error {
		deleted, err := api.DeleteFiles(r, id, c.Paths)
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
