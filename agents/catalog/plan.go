package catalog

import (
	"slices"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/apierr/check"
	"github.com/magpie-search/magpie/internal/patch"
)

// plan is an agent as it is to become.
type plan struct {
	name, prompt                 string
	description, greeting, model *string
	tools                        []string
	collections                  []uuid.UUID
	all                          bool
}

func (p *plan) checkName() (err error) {
	p.name, err = check.Name("name", p.name)
	return err
}

func (p *plan) checkDescription() (err error) {
	p.description, err = check.Optional("description", p.description, check.MaxDescription)
	return err
}

func (p *plan) checkPrompt() error { return check.Text("systemPrompt", p.prompt, MaxPrompt) }

func (p *plan) checkTools() error { return CheckTools(p.tools) }

func (p *plan) checkGreeting() (err error) {
	p.greeting, err = check.Optional("startMessage", p.greeting, MaxGreeting)
	return err
}

// reach works out which collections may be searched. An empty list is never
// taken for all of them: an agent whose collections were deleted, or were all
// taken away, reaches none.
func (p *plan) reach(collections patch.Field[[]uuid.UUID], all patch.Field[bool]) error {
	named := collections.Given && len(collections.Value) > 0
	switch {
	case all.Given && all.Value && named:
		return apierr.Invalid("collections", "must be empty where allCollections is true")
	case all.Given && all.Value:
		p.all, p.collections = true, nil
	case collections.Given && collections.Value == nil && all.Given: // all.Value is false
		return apierr.Invalid("collections", "must be a list where allCollections is false")
	case collections.Given && collections.Value == nil:
		p.all, p.collections = true, nil
	case collections.Given:
		p.all, p.collections = false, distinct(collections.Value)
	case all.Given:
		p.all = false
	}
	return nil
}

func distinct(ids []uuid.UUID) []uuid.UUID {
	out := make([]uuid.UUID, 0, len(ids))
	seen := make(map[uuid.UUID]bool, len(ids))
	for _, id := range ids {
		if !seen[id] {
			seen[id] = true
			out = append(out, id)
		}
	}
	return slices.Clip(out)
}
