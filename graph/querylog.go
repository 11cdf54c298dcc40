package graph

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/graph/model"
	"github.com/magpie-search/magpie/internal/chat"
	"github.com/magpie-search/magpie/internal/request/requestid"
	"github.com/magpie-search/magpie/internal/search"
	"github.com/magpie-search/magpie/internal/usage/analytics"
	"github.com/magpie-search/magpie/internal/viewer"
)

// QueryLog takes note of what was asked; analytics.Log does. Add never waits.
type QueryLog interface {
	Add(q analytics.Query)
}

// asked begins the note of a question; false for those that are not noted:
// without a log, and on the surface of Magpie itself.
func (r *Resolver) asked(ctx context.Context, kind analytics.Kind, text string) (analytics.Query, bool) {
	v, ok := viewer.From(ctx)
	if r.Queries == nil || !ok || v.Surface != viewer.SurfacePublic && v.Surface != viewer.SurfaceDashboard {
		return analytics.Query{}, false
	}
	q := analytics.Query{
		Workspace: v.Workspace, Surface: v.Surface, Kind: kind, Text: text, Request: requestid.From(ctx), At: r.Now(),
	}
	if v.Kind == viewer.KindKey {
		q.Key = v.Subject
	}
	return q, true
}

// noteSearch takes note of a search that was answered.
func (r *Resolver) noteSearch(ctx context.Context, reach viewer.Scope, query search.Query, found *search.Results) {
	if query.AsYouType {
		return // the beginning of a question is none
	}
	q, ok := r.asked(ctx, analytics.Search, query.Text)
	if !ok {
		return
	}
	if ids, all := reach.Collections(); !all && len(ids) == 1 {
		q.Collection = ids[0]
	}
	q.Language, q.Filters = query.Filters.Language, filterNames(&query.Filters)
	q.Results, q.NextPage, q.Took = found.Total, query.Offset > 0, found.Took
	if len(found.Hits) > 0 && !q.NextPage {
		q.TopScore = &found.Hits[0].Score
	}
	r.Queries.Add(q)
}

// filterNames says which fields filter, not for what.
func filterNames(f *search.Filters) []string {
	var names []string
	for _, filter := range []struct {
		name string
		used bool
	}{
		{"section", f.Section != ""}, {"version", f.Version != ""}, {"language", f.Language != ""},
		{"tags", len(f.Tags) > 0}, {"doc_types", len(f.DocTypes) > 0},
		{"section", f.Section == "" && len(f.Sections) > 0}, {"version", f.Version == "" && len(f.Versions) > 0},
		{"language", f.Language == "" && len(f.Languages) > 0}, {"sources", len(f.Sources) > 0}, {"connectors", len(f.Connectors) > 0},
		{"collections", len(f.Collections) > 0}, {"changed_from", !f.From.IsZero()}, {"changed_until", !f.Until.IsZero()},
		{"date_after", !f.After.IsZero()}, {"date_before", !f.Before.IsZero()},
	} {
		if filter.used {
			names = append(names, filter.name)
		}
	}
	return names
}

// chatNote is the note of a question while it is answered.
type chatNote struct {
	log   QueryLog
	now   func() time.Time
	query analytics.Query

	once sync.Once
}

// noteChat begins the note of a chat question; nil where none is taken.
func (r *Resolver) noteChat(ctx context.Context, in model.ChatInput) *chatNote {
	q, ok := r.asked(ctx, analytics.Chat, in.Message)
	if !ok {
		return nil
	}
	q.Collection = r.chatCollection(ctx, in.Collection)
	return &chatNote{log: r.Queries, now: r.Now, query: q}
}

// chatCollection is the one that a question is answered from; zero for all.
func (r *Resolver) chatCollection(ctx context.Context, named *uuid.UUID) uuid.UUID {
	v, _ := viewer.From(ctx)
	switch {
	case named != nil:
		return *named
	case v.Kind != viewer.KindKey:
		return uuid.Nil
	case v.DefaultCollection == uuid.Nil && !v.AllCollections && len(v.Collections) == 1:
		return v.Collections[0]
	}
	id, err := r.defaultCollection(ctx, v)
	if err != nil {
		return uuid.Nil
	}
	return id
}

// event learns from an event of an answer, and passes it on.
func (n *chatNote) event(e chat.Event) chat.Event {
	if n != nil {
		switch e := e.(type) {
		case chat.Start:
			n.query.Conversation = e.Conversation
		case chat.Sources:
			n.query.Results = len(e.Sources)
		case chat.Done:
			sourced := n.query.Results > 0
			n.query.Sourced = &sourced
			n.end()
		}
	}
	return e
}

// end takes the note when the stream ends, whole or broken off.
func (n *chatNote) end() {
	if n == nil {
		return
	}
	n.once.Do(func() {
		n.query.Took = n.now().Sub(n.query.At)
		n.log.Add(n.query)
	})
}
