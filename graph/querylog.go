package graph

import (
	"context"
	"sync"
	"time"

	"github.com/magpie-search/magpie/internal/chat"
	"github.com/magpie-search/magpie/internal/request/requestid"
	"github.com/magpie-search/magpie/internal/search"
	"github.com/magpie-search/magpie/internal/usage/analytics"
	"github.com/magpie-search/magpie/internal/viewer"
)

// A QueryLog records queries (analytics.Log). Add does not block.
type QueryLog interface {
	Add(q analytics.Query)
}

// loggedQuery returns the log record of a query that begins now. ok is false if there is
// no log, or for queries of Magpie itself.
func (r *Resolver) loggedQuery(ctx context.Context, kind analytics.Kind, text string) (q analytics.Query, ok bool) {
	v, ok := viewer.From(ctx)
	if r.Queries == nil || !ok || v.Surface == viewer.SurfaceInternal {
		return analytics.Query{}, false
	}
	q = analytics.Query{
		Workspace: v.Workspace, Surface: v.Surface, Kind: kind, Text: text, Request: requestid.From(ctx), At: r.Now(),
	}
	if v.Kind == viewer.KindKey {
		q.Key = v.Subject
	}
	return q, true
}

// logSearch logs an answered search.
func (r *Resolver) logSearch(ctx context.Context, query search.Query, found *search.Results) {
	if query.AsYouType {
		return // the question is incomplete
	}
	q, ok := r.loggedQuery(ctx, analytics.Search, query.Text)
	if !ok {
		return
	}
	q.Collection = found.Collection
	q.Language, q.Filters = query.Filters.Language, filterNames(&query.Filters)
	q.Results, q.NextPage, q.Took = found.Total, query.Offset > 0, found.Took
	if len(found.Hits) > 0 && !q.NextPage {
		q.TopScore = &found.Hits[0].Score
	}
	r.Queries.Add(q)
}

// filterNames returns the names of the fields that filter a search, without their
// values.
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

// A chatLog is the log record of a chat question while it is answered. A nil
// chatLog records nothing.
type chatLog struct {
	log   QueryLog
	now   func() time.Time
	query analytics.Query

	once sync.Once
}

// logChat begins the log record of a chat question.
func (r *Resolver) logChat(ctx context.Context, message string) *chatLog {
	q, ok := r.loggedQuery(ctx, analytics.Chat, message)
	if !ok {
		return nil
	}
	return &chatLog{log: r.Queries, now: r.Now, query: q}
}

// event completes the record from an event of the answer, and returns the event.
func (l *chatLog) event(e chat.Event) chat.Event {
	if l == nil {
		return e
	}
	switch e := e.(type) {
	case chat.Start:
		l.query.Conversation, l.query.Collection = e.Conversation, e.Collection
	case chat.Sources:
		l.query.Results = len(e.Sources)
	case chat.Done:
		sourced := l.query.Results > 0
		l.query.Sourced = &sourced
		l.end()
	}
	return e
}

// end writes the record. The answer may be incomplete.
func (l *chatLog) end() {
	if l == nil {
		return
	}
	l.once.Do(func() {
		l.query.Took = l.now().Sub(l.query.At)
		l.log.Add(l.query)
	})
}
