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
	config    config
	api       *restapi.Client
	git       *restapi.Client // git
	appClient *restapi.Client // for the tokens of an app, nil without
	byApp     bool
	state     connectors.State // nil in a connection test
	now       func() time.Time
	closed    atomic.Bool

	mutex  sync.Mutex
	walked []repo          // the repositories of the walk
	listed []repo          // the repositories, as listed by this source
	trees  map[int64]*tree // the current one, by repository
	wikis  map[int64]*wiki

	wikiMutex sync.Mutex // held while a wiki is fetched
}

func open(dial connectors.Dial, s connectors.Settings, tokens *installationTokens) (*source, error) {
	if dial == nil {
		return nil, errors.New("open a GitHub source: no dialer was given")
	}
	c, err := parseConfig(s)
	if err != nil {
		return nil, connectors.Fatal(err)
	}
	src := &source{config: c, state: s.State, now: time.Now, trees: map[int64]*tree{}, wikis: map[int64]*wiki{}}
	a := &authorizer{token: s.Credentials[credentialToken], grant: s.Token, tokens: tokens}
	options := restapi.Options{
		Platform: "GitHub", Wait: s.Wait, RateLimited: RateLimited, ErrorMessage: errorMessage, Advice: "config." + optionAPI,
		Header: http.Header{"Accept": {"application/vnd.github+json"}, "X-Github-Api-Version": {apiVersion}},
	}
	if s.Credentials[credentialKey] != "" {
		key, err := parseKey(s.Credentials[credentialKey])
		if err != nil {
			return nil, connectors.Fatal(fmt.Errorf("credentials.%s %w", credentialKey, err))
		}
		if src.appClient, err = restapi.New(c.rest, dial, options); err != nil {
			return nil, err
		}
		id, installation := s.Credentials[credentialApp], s.Credentials[credentialInstallation]
		a.app = &app{
			id: id, installation: installation, key: key, client: src.appClient, now: src.now,
			fingerprint: sha256.Sum256([]byte(c.rest + "\n" + id + "\n" + installation + "\n" + s.Credentials[credentialKey])),
		}
		src.byApp = true
	}
	options.Authorize = a.authorize(false)
	if src.api, err = restapi.New(c.rest, dial, options); err != nil {
		return nil, err
	}
	// Pages of git are no requests of the API's limit.
	if src.git, err = restapi.New(c.web.String(), dial, restapi.Options{Platform: "GitHub", RateLimited: RateLimited, Authorize: a.authorize(true), Advice: "config." + optionAPI}); err != nil {
		return nil, err
	}
	return src, nil
}

// Close implements [connectors.Source].
func (s *source) Close() error {
	s.closed.Store(true)
	s.api.Close()
	s.git.Close()
	if s.appClient != nil {
		s.appClient.Close()
	}
	return nil
}

func (s *source) checkOpen(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.closed.Load() {
		return connectors.Fatal(errClosed)
	}
	return nil
}
