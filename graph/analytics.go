package graph

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent/apikey"
	"github.com/magpie-search/magpie/ent/collection"
	"github.com/magpie-search/magpie/graph/model"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/usage/analytics"
	"github.com/magpie-search/magpie/internal/viewer"
)

func (r *Resolver) queryAnalytics(ctx context.Context, from, to *time.Time, collectionID, keyID *uuid.UUID, kind *model.QueryKind) (*analytics.Report, error) {
	reach, err := scope(ctx)
	if err != nil {
		return nil, err
	}
	span := analytics.Span{Collection: orZero(collectionID), Key: orZero(keyID)}
	if from != nil {
		span.From = *from
	}
	if to != nil {
		span.To = *to
	}
	if kind != nil {
		span.Kind = analytics.Kind(strings.ToLower(string(*kind)))
	}
	if collectionID != nil {
		if there, err := r.client(ctx).Collection.Query().Where(collection.ID(*collectionID)).Exist(ctx); err != nil {
			return nil, err
		} else if !there {
			return nil, apierr.NotFound("Collection")
		}
	}
	if keyID != nil {
		if there, err := r.client(ctx).APIKey.Query().Where(apikey.ID(*keyID)).Exist(ctx); err != nil {
			return nil, err
		} else if !there {
			return nil, apierr.NotFound("API key")
		}
	}
	return r.Analytics.Report(ctx, reach, span)
}

func (r *Resolver) recordEvents(ctx context.Context, in model.RecordEventsInput) (*analytics.Recorded, error) {
	v, ok := viewer.From(ctx)
	if !ok || v.Kind != viewer.KindKey || !v.Secret {
		return nil, apierr.New(apierr.Forbidden, "Secret key required")
	}
	reach, err := scope(ctx)
	if err != nil {
		return nil, err
	}
	given, place := in.Events, func(i int) string { return fmt.Sprintf("events[%d].", i) }
	switch {
	case in.Event != nil && in.Events != nil:
		return nil, apierr.Invalid("events", "must not be given together with one event")
	case in.Event != nil:
		given, place = []*model.EventInput{in.Event}, func(int) string { return "" }
	}
	events := make([]analytics.Event, len(given))
	for i, e := range given {
		events[i] = event(e)
	}
	out, err := r.Analytics.Record(ctx, reach, v.Subject, events, place)
	if err != nil {
		return nil, err
	}
	return &out, nil
}

func event(in *model.EventInput) analytics.Event {
	e := analytics.Event{
		Type: strings.ToLower(string(in.Type)), Request: in.RequestID, Result: orZero(in.ResultID), Document: orZero(in.DocumentID),
		Position: in.Position, Comment: orEmpty(in.Comment), ID: orEmpty(in.EventID),
	}
	if in.Rating != nil {
		e.Rating = strings.ToLower(string(*in.Rating))
	}
	if in.Reason != nil {
		e.Reason = strings.ToLower(string(*in.Reason))
	}
	if in.OccurredAt != nil {
		e.OccurredAt = *in.OccurredAt
	}
	return e
}
