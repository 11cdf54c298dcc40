package command

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/magpie-search/magpie/cmd/magpie/wire"
	"github.com/magpie-search/magpie/internal/humanize"
	"github.com/magpie-search/magpie/internal/secret/reseal"
)

type secretsCommand struct {
	Status secretsStatus `cmd:"" default:"1" help:"Count the sealed values by the key that seals them."`
	Rotate secretsRotate `cmd:"" help:"Seal everything with the first key of SECRET_KEYS; can be repeated."`
}

type secretsStatus struct {
	Check bool `help:"Open every value, and count those that do not open."`
}

// sealedRow is a count as commands print it.
type sealedRow struct {
	What    string `json:"what"`
	Key     string `json:"key"`
	Current bool   `json:"current"`
	Values  int64  `json:"values"`
	Lost    *int64 `json:"lost,omitempty"` // with --check
}

// Run counts the sealed values.
func (s secretsStatus) Run(r *runtime) error {
	return r.open(func(app *wire.App) error {
		var counts []reseal.Count
		var err error
		if s.Check {
			counts, err = reseal.Check(r, app.DB.Pool, app.Secrets)
		} else {
			counts, err = reseal.Status(r, app.DB.Pool)
		}
		if err != nil {
			return err
		}
		rows := make([]sealedRow, 0, len(counts))
		for _, c := range counts {
			row := sealedRow{What: c.Column.What, Key: c.Key, Current: c.Key == app.Secrets.Current(), Values: c.Values}
			if s.Check {
				row.Lost = &c.Lost
			}
			rows = append(rows, row)
		}
		return r.console.Result(rows, func() {
			header := []string{"SEALED", "KEY", "VALUES"}
			if s.Check {
				header = append(header, "LOST")
			}
			table := make([][]string, 0, len(rows))
			old := false
			for _, row := range rows {
				old = old || !row.Current
				line := []string{row.What, row.Key, strconv.FormatInt(row.Values, 10)}
				if row.Lost != nil {
					line = append(line, strconv.FormatInt(*row.Lost, 10))
				}
				table = append(table, line)
			}
			r.console.Table(header, table, "Nothing is sealed yet.")
			switch {
			case old:
				r.console.Note("Not all are sealed with the current key %q: magpie secrets rotate seals them.", app.Secrets.Current())
			case len(rows) > 0:
				r.console.Note("All are sealed with the current key %q; other keys can be removed from SECRET_KEYS.", app.Secrets.Current())
			}
		})
	})
}

type secretsRotate struct{}

// Run seals everything with the current key. It fails if values are left that do not open.
func (secretsRotate) Run(r *runtime) error {
	return r.open(func(app *wire.App) error {
		shown := r.console.Progress("rotate")
		results, err := reseal.Rotate(r, app.DB.Pool, app.Secrets, func(c reseal.Column, done, total int) { shown.Show(done, total, c.What) })
		shown.Done("")
		type row struct {
			What   string           `json:"what"`
			Sealed int64            `json:"sealed"`
			Lost   map[string]int64 `json:"lost"`
			Left   int64            `json:"left"`
		}
		rows := make([]row, 0, len(results))
		var sealed, lost, left int64
		for _, one := range results {
			rows = append(rows, row{one.Column.What, one.Sealed, one.Lost, one.Left})
			sealed += one.Sealed
			left += one.Left
			for _, n := range one.Lost {
				lost += n
			}
		}
		if err != nil {
			return fmt.Errorf("%s were sealed again before this; start the command again to go on: %w", humanize.Count(int(sealed), "value"), err)
		}
		err = r.console.Result(rows, func() {
			table := [][]string{}
			for _, row := range rows {
				if row.Sealed > 0 {
					table = append(table, []string{row.What, strconv.FormatInt(row.Sealed, 10)})
				}
			}
			r.console.Table([]string{"SEALED AGAIN", "VALUES"}, table, "Everything is sealed with the current key.")
			for _, row := range rows {
				for _, reason := range slices.Sorted(maps.Keys(row.Lost)) {
					r.console.Warn("%s: %d not opened: %s", row.What, row.Lost[reason], reason)
				}
			}
		})
		if err != nil {
			return err
		}
		switch {
		case left > 0:
			return fmt.Errorf("%s changed all the time; run the command again", humanize.Count(int(left), "value"))
		case lost > 0:
			return fmt.Errorf("%s could not be opened and stay as they are; docs/secrets.md says how to repair them", humanize.Count(int(lost), "value"))
		}
		r.console.Note("Once all processes have the key %q first, older keys can be removed from SECRET_KEYS.", app.Secrets.Current())
		return nil
	})
}
