package graph

import (
	"context"
	"fmt"
	"math"

	"entgo.io/contrib/entgql"
	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/graph/model"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/viewer"
)

// maxAround is how many neighbours of a passage are returned on each side at most.
const maxAround = 10

// documentPassages returns a page of the passages of a document.
func (r *Resolver) documentPassages(ctx context.Context, row *ent.Document, after cursor, first *int) (*model.PassageConnection, error) {
	page := index.PassageRange{After: -1, First: pageSize(first, nil) + 1}
	if after != nil {
		position, err := positionOf(after)
		if err != nil {
			return nil, err
		}
		page.After = position
	}
	found, err := loadersOf(ctx).passages.of(page).Load(ctx, row.ID)
	if err != nil {
		return nil, err
	}
	if found == nil {
		return nil, apierr.NotFound("Document")
	}
	out := &model.PassageConnection{TotalCount: row.PassageCount, PageInfo: &entgql.PageInfo[uuid.UUID]{HasPreviousPage: after != nil}}
	if len(found) == page.First {
		found, out.PageInfo.HasNextPage = found[:len(found)-1], true
	}
	out.Edges = make([]*model.PassageEdge, len(found))
	for i, p := range passages(found) {
		out.Edges[i] = &model.PassageEdge{Node: p, Cursor: cursorOf(p)}
	}
	if n := len(out.Edges); n > 0 {
		out.PageInfo.StartCursor, out.PageInfo.EndCursor = &out.Edges[0].Cursor, &out.Edges[n-1].Cursor
	}
	return out, nil
}

// cursorOf returns the cursor of a passage. Its value is the position from 1, because
// a zero is left out of cursors.
func cursorOf(p *model.Passage) entgql.Cursor[uuid.UUID] {
	return entgql.Cursor[uuid.UUID]{ID: p.ID, Value: int64(p.Position) + 1}
}

// positionOf returns the position that a cursor of passages contains.
func positionOf(c cursor) (int, error) {
	n, ok := c.Value.(int64)
	if !ok || n < 1 || n > math.MaxInt32 {
		return 0, apierr.Invalid("after", "must be a cursor of passages")
	}
	return int(n) - 1, nil
}

// passage returns a passage with its document and its neighbours.
func (r *Resolver) passage(ctx context.Context, id uuid.UUID, around int) (*model.PassageInContext, error) {
	if around < 0 || around > maxAround {
		return nil, apierr.Invalid("around", fmt.Sprintf("must be between 0 and %d", maxAround))
	}
	scope, err := viewer.ScopeOf(ctx)
	if err != nil {
		return nil, err
	}
	before, found, after, err := r.Index.Passage(ctx, scope, id, around)
	if err != nil {
		return nil, err
	}
	row, err := r.Documents.Get(ctx, found.Document, nil)
	if err != nil {
		return nil, err
	}
	return &model.PassageInContext{Passage: passages([]index.StoredPassage{found})[0], Document: row, Before: passages(before), After: passages(after)}, nil
}

func passages(in []index.StoredPassage) []*model.Passage {
	out := make([]*model.Passage, len(in))
	for i, p := range in {
		out[i] = &model.Passage{
			ID: p.ID, DocumentID: p.Document, Position: p.Ordinal, HeadingPath: append([]string{}, p.Headings...), Text: p.Text,
			Anchor: nilIfZero(p.Anchor), Page: nilIfZero(p.Page),
		}
	}
	return out
}
