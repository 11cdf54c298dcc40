package command

import (
	"strconv"

	"github.com/magpie-search/magpie/internal/config"
	"github.com/magpie-search/magpie/internal/store"
)

type migrateCommand struct {
	Up     migrateUp     `cmd:"" help:"Bring the schema up to date; safe to run by several at once."`
	Status migrateStatus `cmd:"" help:"List the migrations."`
}

// owner finds the settings of the database to migrate.
func (r *runtime) owner() (*config.Config, error) {
	c, err := r.settings(nil)
	if err != nil {
		return nil, err
	}
	if c.DatabaseURL == "" && c.MigrateDatabaseURL == "" {
		return r.reach()
	}
	return c, nil
}

type migrateUp struct {
	Grant string `placeholder:"LOGIN" help:"Then let this login of PostgreSQL work as the application: that of DATABASE_URL."`
}

// Run migrates the database.
func (m migrateUp) Run(r *runtime) error {
	c, err := r.owner()
	if err != nil {
		return err
	}
	if err := store.Migrate(r, c.OwnerURL()); err != nil {
		return err
	}
	if m.Grant != "" {
		if err := store.Grant(r, c.OwnerURL(), m.Grant); err != nil {
			return err
		}
	}
	return r.console.Result(map[string]string{"status": "current"}, func() { r.console.Note("The schema is current.") })
}

type migrateStatus struct{}

// Run lists the migrations.
func (migrateStatus) Run(r *runtime) error {
	c, err := r.owner()
	if err != nil {
		return err
	}
	steps, err := store.Status(r, c.OwnerURL())
	if err != nil {
		return err
	}
	type row struct {
		Version int64  `json:"version"`
		Name    string `json:"name"`
		Applied bool   `json:"applied"`
	}
	rows := make([]row, 0, len(steps))
	for _, step := range steps {
		rows = append(rows, row{step.Version, step.Name, step.Applied})
	}
	return r.console.Result(rows, func() {
		table := make([][]string, 0, len(rows))
		for _, row := range rows {
			state := "to do"
			if row.Applied {
				state = "done"
			}
			table = append(table, []string{strconv.FormatInt(row.Version, 10), row.Name, state})
		}
		r.console.Table([]string{"VERSION", "NAME", "STATE"}, table, "There are no migrations.")
	})
}
