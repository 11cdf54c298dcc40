package catalog

import (
	"slices"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/apierr"
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
	p.name, err = Name("name", p.name, MaxName)
	return err
}

func (p *plan) checkDescription() (err error) {
	p.description, err = OptionalText("description", p.description, MaxDescription)
	return err
}

func (p *plan) checkPrompt() error { return Text("systemPrompt", p.prompt, MaxPrompt) }

func (p *plan) checkTools() error { return CheckTools(p.tools) }

func (p *plan) checkGreeting() (err error) {
	p.greeting, err = OptionalText("startMessage", p.greeting, MaxGreeting)
	return err
}

// reach works out which collections may be searched. An empty list is never
// taken for all of them: an agent whose collections were deleted, or were all
// taken away, reaches none.
func (p *plan) reach(collections Set[[]uuid.UUID], all Set[bool]) error {
	named := collections.Given && len(collections.To) > 0
	switch {
	case all.Given && all.To && named:
		return apierr.Invalid("collections", "must be empty where allCollections is true")
	case all.Given && all.To:
		p.all, p.collections = true, nil
	case collections.Given && collections.To == nil && all.Given: // all.To is false
		return apierr.Invalid("collections", "must be a list where allCollections is false")
	case collections.Given && collections.To == nil:
		p.all, p.collections = true, nil
	case collections.Given:
		p.all, p.collections = false, distinct(collections.To)
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
