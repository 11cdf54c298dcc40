package graph

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/graph/model"
)

// testConnector tries a connector as it is, or with changes that are not stored.
func (r *Resolver) testConnector(ctx context.Context, id uuid.UUID, config, credentials map[string]any) (*model.ConnectionTest, error) {
	row, err := r.Ent.Connector.Get(ctx, id)
	if _, err := found("Connector", row, err); err != nil {
		return nil, err
	}
	kind, err := r.kind(row.Type)
	if err != nil {
		return nil, err
	}
	if config != nil || credentials != nil {
		settings, grant, err := r.changedSettings(ctx, row, kind, config, credentials)
		if err != nil {
			return nil, err
		}
		return r.tested(ctx, id, row.Name, r.try(ctx, kind, settings, grant))
	}
	settings := connectors.Settings{ConnectorID: id.String(), Config: row.Config, Token: r.tokens(ctx, row.GrantID)}
	opened, lost := r.opened(ctx, row)
	if lost != "" {
		return r.tested(ctx, id, row.Name, &model.ConnectionTest{Message: lost, Details: map[string]any{"type": kind.Name, "needsAuth": true, "retryable": false}})
	}
	settings.Credentials = opened
	if err := r.suits(ctx, kind, row.Config, row.GrantID); err != nil {
		return nil, err
	}
	return r.tested(ctx, id, row.Name, r.try(ctx, kind, settings, row.GrantID))
}

func (r *Resolver) testConnection(ctx context.Context, kindName string, config, secrets map[string]any) (*model.ConnectionTest, error) {
	kind, err := r.kind(kindName)
	if err != nil {
		return nil, err
	}
	settings := connectors.Settings{}
	if settings.Config, err = merged(nil, config, asIs); err != nil {
		return nil, err
	}
	secrets, grant, _, err := r.granted(ctx, kind.Name, secrets)
	if err != nil {
		return nil, err
	}
	settings.Token = r.tokens(ctx, grant)
	if settings.Credentials, err = merged(nil, secrets, asText); err != nil {
		return nil, err
	}
	if err := r.suits(ctx, kind, settings.Config, grant); err != nil {
		return nil, err
	}
	if err := checkSettings(kind, settings); err != nil {
		return nil, err
	}
	return r.tested(ctx, uuid.Nil, kind.Name, r.try(ctx, kind, settings, grant))
}

func grantName(grant *uuid.UUID) string {
	if grant == nil {
		return ""
	}
	return grant.String()
}

// testTime is how long a connection test may take.
const testTime = 20 * time.Second

// try opens a source and asks it whether it can be reached. What it answers is
// a result, not an error of the request.
func (r *Resolver) try(ctx context.Context, kind connectors.Kind, settings connectors.Settings, grant *uuid.UUID) *model.ConnectionTest {
	inside, cancel := context.WithTimeout(ctx, testTime)
	defer cancel()
	if r.Pacer != nil {
		settings.Limiter = r.Pacer.Of(kind, settings, grantName(grant)).Turn
	}
	began := r.Now()
	err := check(inside, kind, settings)
	test := &model.ConnectionTest{Ok: err == nil, Message: "The connection works", Details: map[string]any{
		"type": kind.Name, "tookMs": r.Now().Sub(began).Milliseconds(),
	}}
	switch _, busy := connectors.RetryAfterOf(err); {
	case err == nil:
	case inside.Err() != nil && ctx.Err() == nil:
		test.Message = fmt.Sprintf("There was no answer within %d seconds", int(testTime.Seconds()))
		test.Details["needsAuth"], test.Details["retryable"] = false, true
	default:
		test.Message = kind.Redact(err.Error(), settings.Credentials)
		test.Details["needsAuth"], test.Details["retryable"] = connectors.IsNeedsAuth(err), busy
	}
	return test
}

// check opens what a connector stands for, a source or a database, and closes it.
func check(ctx context.Context, kind connectors.Kind, settings connectors.Settings) error {
	var place interface {
		Check(ctx context.Context) error
		Close() error
	}
	var err error
	if kind.AttachesDatabase() {
		place, err = kind.Attach(ctx, settings)
	} else {
		place, err = kind.New(ctx, settings)
	}
	if err != nil {
		return err
	}
	defer func() { _ = place.Close() }()
	return place.Check(ctx)
}
