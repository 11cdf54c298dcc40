package syncer

import (
	"context"
	"fmt"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/internal/connector/credential"
	"github.com/magpie-search/magpie/internal/viewer"
)

// settings returns the settings to open the source of a connector with.
func (e *Engine) settings(scope viewer.Scope, row *ent.Connector) (connectors.Settings, error) {
	s, err := credential.NewVault(e.secrets).Settings(row)
	if err != nil {
		return connectors.Settings{}, &stopError{message: err.Error(), needsAuth: true, cause: err}
	}
	if row.GrantID != nil && e.opt.Grants != nil {
		s.Token = e.opt.Grants.TokenSource(row.WorkspaceID, *row.GrantID)
	}
	if e.opt.States != nil {
		if s.State, err = e.opt.States.Of(scope, row.ID); err != nil {
			return connectors.Settings{}, fmt.Errorf("open the state of a connector: %w", err)
		}
	}
	return s, nil
}

// OpenSource opens the source of a connector for work other than a sync. redact
// removes credentials from a text. The caller closes the source.
func (e *Engine) OpenSource(ctx context.Context, row *ent.Connector) (source connectors.Source, redact func(string) string, err error) {
	kind, ok := e.kinds.Lookup(row.Type)
	if !ok || kind.New == nil {
		return nil, nil, fmt.Errorf("connectors of the type %q have no source here", row.Type)
	}
	scope, err := viewer.System(row.WorkspaceID).Scope()
	if err != nil {
		return nil, nil, fmt.Errorf("open a source: %w", err)
	}
	settings, err := e.settings(scope, row)
	if err != nil {
		return nil, nil, err
	}
	e.limiterOf(kind, row, &settings)
	redact = func(text string) string { return kind.Redact(text, settings.Credentials) }
	source, err = kind.New(ctx, settings)
	return source, redact, err
}
