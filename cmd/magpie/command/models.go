package command

import (
	"fmt"
	"strconv"

	"github.com/magpie-search/magpie/cmd/magpie/wire"
	"github.com/magpie-search/magpie/internal/client"
)

type modelsCommand struct {
	List   modelsList   `cmd:"" default:"1" help:"List the embedding models that collections can have."`
	Accept modelsAccept `cmd:"" help:"Take the present vectors of an embedding model for right, after a warning that they are others than before."`
}

type modelsList struct{}

// Run lists the embedding models.
func (modelsList) Run(r *runtime) error {
	return r.operate(func(api *client.Client) error {
		var got struct {
			Models []struct {
				Name       string `json:"name"`
				Dimensions int    `json:"dimensions"`
				IsDefault  bool   `json:"isDefault"`
				Failing    bool   `json:"failing"`
			} `json:"models"`
		}
		if err := api.Do(r, "ListEmbeddingModels", nil, &got); err != nil {
			return err
		}
		return r.console.Result(got.Models, func() {
			table := make([][]string, 0, len(got.Models))
			for _, model := range got.Models {
				state := ""
				if model.IsDefault {
					state = "default"
				}
				if model.Failing {
					state = "failing"
				}
				table = append(table, []string{model.Name, strconv.Itoa(model.Dimensions), state})
			}
			r.console.Table([]string{"NAME", "DIMENSIONS", "STATE"}, table, "There are no embedding models.")
		})
	})
}

type modelsAccept struct {
	Model string `arg:"" help:"Name of the model."`
}

// Run accepts the vectors of a model.
func (c modelsAccept) Run(r *runtime) error {
	return r.open(func(app *wire.App) error {
		if _, configured := app.Models.Lookup(c.Model); !configured {
			return fmt.Errorf("there is no embedding model %q; `magpie models` lists them", c.Model)
		}
		found, err := app.Fingerprints.Accept(r, c.Model)
		switch {
		case err != nil && found:
			return fmt.Errorf("the former vectors are forgotten, and new ones are kept when the service works: %w", err)
		case err != nil:
			return fmt.Errorf("accept the model: %w", err)
		}
		return r.console.Result(map[string]string{"accepted": c.Model}, func() { r.console.Note("Accepted the present vectors of %s.", c.Model) })
	})
}
