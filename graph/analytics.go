package graph

import (
	"context"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/graph/model"
	"github.com/magpie-search/magpie/internal/usage/analytics"
	"github.com/magpie-search/magpie/internal/usage/quota"
	"github.com/magpie-search/magpie/internal/viewer"
)

func (r *Resolver) queryAnalytics(ctx context.Context, from, to *time.Time, collectionID, keyID *uuid.UUID, kind *model.QueryKind) (*analytics.Report, error) {
	scope, err := viewer.ScopeOf(ctx)
	if err != nil {
		return nil, err
	}
	if collectionID != nil {
		if err := r.Collections.Exists(ctx, *collectionID); err != nil {
			return nil, err
		}
	}
	if keyID != nil {
		if err := r.Keys.Exists(ctx, *keyID); err != nil {
			return nil, err
		}
	}
	return r.Analytics.Report(ctx, scope, analytics.Span{
		From: orZero(from), To: orZero(to), Collection: orZero(collectionID), Key: orZero(keyID),
		Kind: analytics.Kind(strings.ToLower(string(orZero(kind)))),
	})
}

func analyticsEvents(in model.RecordEventsInput) (one *analytics.Event, many []analytics.Event) {
	if in.Event != nil {
		e := analyticsEvent(in.Event)
		one = &e
	}
	if in.Events != nil {
		many = make([]analytics.Event, len(in.Events))
	}
	for i, e := range in.Events {
		many[i] = analyticsEvent(e)
	}
	return one, many
}

func analyticsEvent(in *model.EventInput) analytics.Event {
	return analytics.Event{
		Type: strings.ToLower(string(in.Type)), Request: in.RequestID, Result: orZero(in.ResultID), Document: orZero(in.DocumentID),
		Position: in.Position, Rating: strings.ToLower(string(orZero(in.Rating))), Reason: strings.ToLower(string(orZero(in.Reason))),
		Comment: orZero(in.Comment), OccurredAt: orZero(in.OccurredAt), ID: orZero(in.EventID),
	}
}

func visitorEvent(in *model.VisitorEventInput) analytics.Event {
	return analytics.Event{
		Type: strings.ToLower(string(in.Type)), Request: in.RequestID, Result: orZero(in.ResultID), Document: orZero(in.DocumentID),
		Position: in.Position, Rating: strings.ToLower(string(orZero(in.Rating))), Reason: strings.ToLower(string(orZero(in.Reason))),
	}
}

func (r *Resolver) usage(ctx context.Context) (*model.Usage, error) {
	scope, err := viewer.ScopeOf(ctx)
	if err != nil {
		return nil, err
	}
	return usageModel(r.Quota.Usage(ctx, scope))
}

func usageModel(u quota.Usage, err error) (*model.Usage, error) {
	if err != nil {
		return nil, err
	}
	out := &model.Usage{PeriodStart: u.Start, PeriodEnd: u.End, Queries: u.Queries}
	if u.Limit > 0 {
		left := u.Remaining()
		out.Limit, out.Remaining = &u.Limit, &left
	}
	return out, nil
}
