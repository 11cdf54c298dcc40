package graph

import (
	"context"
	"strings"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/graph/model"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/identity/principal"
)

func documentContent(ctx context.Context, row *ent.Document) (string, error) {
	text, err := loadersOf(ctx).contents.Load(ctx, row.ID)
	if err == nil && text == nil {
		err = apierr.NotFound("Document")
	}
	return orZero(text), err
}

// documentSummary returns the stored summary of a document. A document without one
// is summarized now.
func (r *Resolver) documentSummary(ctx context.Context, row *ent.Document) (string, error) {
	stored, err := loadersOf(ctx).summaries.Load(ctx, row.ID)
	switch {
	case err != nil:
		return "", err
	case stored == nil:
		return "", apierr.NotFound("Document")
	case *stored != "":
		return *stored, nil
	}
	return r.Documents.Summary(ctx, row)
}

func documentVisibility(a principal.Visibility, err error) (*model.DocumentVisibility, error) {
	if err != nil {
		return nil, err
	}
	out := &model.DocumentVisibility{
		DocumentID: a.Document, User: a.Email, Visible: a.Visible, Rule: model.VisibilityRule(a.Rule), Explanation: a.Explanation,
		Groups: make([]*model.VisibilityGroup, len(a.Groups)), ReadersReadAt: a.ReadersAt, GroupsReadAt: a.GroupsAt,
	}
	for i, g := range a.Groups {
		out.Groups[i] = &model.VisibilityGroup{ID: strings.TrimPrefix(g.Principal, "group:"), Name: g.Name}
	}
	return out, nil
}
