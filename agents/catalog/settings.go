package catalog

import (
	"encoding/json"
	"slices"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/agents/policy"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/apierr/check"
	"github.com/magpie-search/magpie/internal/patch"
)

// settings are the new settings of an agent. Its methods validate and normalize
// them.
type settings struct {
	name, prompt                     string
	description, startMessage, model *string
	tools                            []string
	collections                      []uuid.UUID
	all                              bool
	toolPolicy                       map[string]any
	policyText                       json.RawMessage // of toolPolicy, once it is checked
}

func (s *settings) checkName() (err error) {
	s.name, err = check.Name("name", s.name)
	return err
}

func (s *settings) checkDescription() (err error) {
	s.description, err = check.Optional("description", s.description, check.MaxDescription)
	return err
}

func (s *settings) checkPrompt() error { return check.Text("systemPrompt", s.prompt, MaxPrompt) }

func (s *settings) checkToolPolicy() (err error) {
	s.policyText, err = policy.SetText("toolPolicy", s.toolPolicy)
	return err
}

func (s *settings) checkTools() error { return CheckTools(s.tools) }

func (s *settings) checkStartMessage() (err error) {
	s.startMessage, err = check.Optional("startMessage", s.startMessage, MaxStartMessage)
	return err
}

// setCollections determines the searchable collections. An empty list never
// means all: an agent whose collections were deleted or removed searches none.
func (s *settings) setCollections(collections patch.Field[[]uuid.UUID], all patch.Field[bool]) error {
	named := collections.Given && len(collections.Value) > 0
	switch {
	case all.Given && all.Value && named:
		return apierr.Invalid("collections", "must be empty where allCollections is true")
	case all.Given && all.Value:
		s.all, s.collections = true, nil
	case collections.Given && collections.Value == nil && all.Given: // all.Value is false
		return apierr.Invalid("collections", "must be a list where allCollections is false")
	case collections.Given && collections.Value == nil:
		s.all, s.collections = true, nil
	case collections.Given:
		s.all, s.collections = false, unique(collections.Value)
	case all.Given:
		s.all = false
	}
	return nil
}

func unique(ids []uuid.UUID) []uuid.UUID {
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
