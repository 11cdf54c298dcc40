package hubspot

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/restapi"
)

// A source is an opened account.
type source struct {
	api          *client
	settings     connectors.Settings
	associations bool

	mutex      sync.Mutex // guards the fields below
	chosen     []object   // nil until they are known, as is the rest
	owned      *account
	described  map[string]map[string]property // by object
	owners     map[string]string              // names by id
	names      map[string]string              // titles of records, by object and id
	warnings   []string
	warningSet map[string]bool
}

func open(dial connectors.Dial, s connectors.Settings) (*source, error) {
	api, err := newClient(dial, s)
	if err != nil {
		return nil, err
	}
	src := &source{api: api, settings: s, associations: s.Boolean(optionAssociations), warningSet: map[string]bool{}}
	src.resetCaches()
	return src, nil
}

// resetCaches deletes what a new walk must request again.
func (s *source) resetCaches() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.chosen, s.owned, s.owners = nil, nil, nil
	s.described, s.names = map[string]map[string]property{}, map[string]string{}
}

// addWarning adds a warning to the next page, once.
func (s *source) addWarning(text string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if !s.warningSet[text] {
		s.warningSet[text] = true
		s.warnings = append(s.warnings, text)
	}
}

func (s *source) takeWarnings() []string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	warnings := s.warnings
	s.warnings = nil
	return warnings
}

// Check implements [connectors.Source]. It names all scopes that are missing.
func (s *source) Check(ctx context.Context) error {
	s.resetCaches()
	if _, err := s.account(ctx); err != nil {
		return err
	}
	objects, err := s.objects(ctx)
	if err != nil {
		return err
	}
	var missing []error
	for _, o := range objects {
		_, _, err := s.api.listRecords(ctx, &o, "", 1, false, false)
		switch {
		case isRefused(err):
			missing = append(missing, scopeError(err, o.title, o.scope))
		case errors.Is(err, connectors.ErrNotFound):
			return connectors.NeedsAuth(fmt.Errorf("there is no object %q; correct config.%s", o.name, optionObjects))
		case err != nil:
			return err
		}
	}
	if len(missing) > 0 {
		return missingScopes(missing)
	}
	return nil
}

// missingScopes joins errors of missing scopes in one line.
func missingScopes(missing []error) error {
	if len(missing) == 1 {
		return missing[0]
	}
	scopes, what := "", ""
	for _, err := range missing {
		if one, ok := errors.AsType[*missingScope](err); ok {
			scopes, what = scopes+", "+one.scope, what+", "+one.what
		}
	}
	return connectors.NeedsAuth(fmt.Errorf("the token lacks scopes (%s), so that %s cannot be read; add the scopes to the app, or leave them out of config.%s", scopes[2:], what[2:], optionObjects))
}

// CheckTiers implements [connectors.TierChecker].
func (s *source) CheckTiers(ctx context.Context) ([]connectors.Tier, error) {
	return []connectors.Tier{{Name: connectors.TierRead, Err: s.Check(ctx)}}, ctx.Err()
}

// Close implements [connectors.Source].
func (s *source) Close() error {
	s.api.Close()
	return nil
}

// object returns the object of the settings with a name in ids.
func (s *source) object(ctx context.Context, name string) (*object, error) {
	objects, err := s.objects(ctx)
	if err != nil {
		return nil, err
	}
	for i := range objects {
		if objects[i].name == name {
			return &objects[i], nil
		}
	}
	return nil, fmt.Errorf("the object is none of the connector's: %w", connectors.ErrNotFound)
}

// isTooLarge reports whether an answer is too large to be read.
func isTooLarge(err error) bool { return errors.Is(err, restapi.ErrTooLarge) }
