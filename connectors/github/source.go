package github

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/restapi"
)

var (
	_ connectors.Resolver   = (*source)(nil)
	_ connectors.Subscriber = (*source)(nil)

	errClosed  = errors.New("the source is closed")
	errChanged = errors.New("it was changed since it was listed")
)

type source struct {
	config config
	api    *restapi.Client
	web    *restapi.Client // git
	minter *restapi.Client // for the tokens of an app; nil without
	byApp  bool
	notes  connectors.State // nil while a connector is only being tested
	now    func() time.Time
	closed atomic.Bool

	mutex  sync.Mutex
	listed []repo          // what the walk goes through
	fresh  []repo          // as GitHub said since the source was opened
	trees  map[int64]*tree // the newest one of a repository
	wikis  map[int64]*wiki

	wikiMutex sync.Mutex // held while one is fetched
}

func open(dial connectors.Dial, s connectors.Settings, tokens *installationTokens) (*source, error) {
	if dial == nil {
		return nil, errors.New("open a GitHub source: no dialer was given")
	}
	c, err := configOf(s)
	if err != nil {
		return nil, connectors.Fatal(err)
	}
	src := &source{config: c, notes: s.State, now: time.Now, trees: map[int64]*tree{}, wikis: map[int64]*wiki{}}
	a := &authority{token: s.Credentials[credentialToken], grant: s.Token, tokens: tokens}
	options := restapi.Options{
		Platform: "GitHub", Wait: s.Wait, RateLimited: limited, ErrorMessage: explain, Advice: "config." + optionAPI,
		Header: http.Header{"Accept": {"application/vnd.github+json"}, "X-Github-Api-Version": {"2022-11-28"}},
	}
	if s.Credentials[credentialKey] != "" {
		key, err := parseKey(s.Credentials[credentialKey])
		if err != nil {
			return nil, connectors.Fatal(fmt.Errorf("credentials.%s %w", credentialKey, err))
		}
		if src.minter, err = restapi.New(c.rest, dial, options); err != nil {
			return nil, err
		}
		id, installation := s.Credentials[credentialApp], s.Credentials[credentialInstallation]
		a.app = &app{
			id: id, installation: installation, key: key, api: src.minter, now: src.now,
			fingerprint: sha256.Sum256([]byte(c.rest + "\n" + id + "\n" + installation + "\n" + s.Credentials[credentialKey])),
		}
		src.byApp = true
	}
	options.Authorize = a.authorize(false)
	if src.api, err = restapi.New(c.rest, dial, options); err != nil {
		return nil, err
	}
	// Pages of git are no requests of the API's limit.
	if src.web, err = restapi.New(c.web.String(), dial, restapi.Options{Platform: "GitHub", RateLimited: limited, Authorize: a.authorize(true), Advice: "config." + optionAPI}); err != nil {
		return nil, err
	}
	return src, nil
}

// Close implements [connectors.Source].
func (s *source) Close() error {
	s.closed.Store(true)
	s.api.Close()
	s.web.Close()
	if s.minter != nil {
		s.minter.Close()
	}
	return nil
}

func (s *source) ready(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.closed.Load() {
		return connectors.Fatal(errClosed)
	}
	return nil
}

const checkedRepos = 5

// Check implements [connectors.Source]: it asks for the beginning of everything
// that a sync would ask for, of a few repositories.
func (s *source) Check(ctx context.Context) error {
	if err := s.ready(ctx); err != nil {
		return err
	}
	repos, _, err := s.list(ctx)
	if err != nil {
		return err
	}
	for _, r := range repos[:min(checkedRepos, len(repos))] {
		for _, stage := range stages() {
			if err := stage.check(ctx, s, r); err != nil {
				return err
			}
		}
	}
	return nil
}
