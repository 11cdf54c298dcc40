package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/restapi"
)

const (
	hooksNote    = "hooks"
	maxHookPages = 5
)

// hook is a webhook at GitHub.
type hook struct {
	ID     int64    `json:"id"`
	Name   string   `json:"name"`
	Active bool     `json:"active"`
	Events []string `json:"events"`
	Config struct {
		URL string `json:"url"`
	} `json:"config"`
}

// Subscribe implements [connectors.Subscriber]: a webhook of each repository, or
// of an organisation where all its repositories are taken. The subscription's id
// is the address; which webhooks there are is noted.
func (s *source) Subscribe(ctx context.Context, address, secret string) (connectors.Subscription, error) {
	if err := s.ready(ctx); err != nil {
		return connectors.Subscription{}, err
	}
	places, err := s.hookPlaces(ctx)
	if err != nil {
		return connectors.Subscription{}, err
	}
	var made []string
	for _, place := range places {
		path, err := s.hookAt(ctx, place, address, secret)
		if err != nil {
			return connectors.Subscription{}, fmt.Errorf("set up a webhook of %s: %w", strings.TrimSuffix(place, "/hooks"), hookError(err))
		}
		made = append(made, path)
	}
	// Webhooks of what is no longer followed.
	var before []string
	if err := s.recall(ctx, hooksNote, &before); err != nil {
		return connectors.Subscription{}, err
	}
	for _, path := range before {
		if !slices.Contains(made, path) {
			if err := s.unhook(ctx, path); err != nil && !connectors.IsNeedsAuth(err) {
				return connectors.Subscription{}, err
			}
		}
	}
	if err := s.remember(ctx, hooksNote, made); err != nil {
		return connectors.Subscription{}, err
	}
	return connectors.Subscription{ID: address}, nil
}

// Unsubscribe implements [connectors.Subscriber].
func (s *source) Unsubscribe(ctx context.Context, sub connectors.Subscription) error {
	if err := s.ready(ctx); err != nil {
		return err
	}
	var made []string
	if err := s.recall(ctx, hooksNote, &made); err != nil {
		return err
	}
	if len(made) == 0 { // without notes: by the address
		places, err := s.hookPlaces(ctx)
		if err != nil {
			return err
		}
		for _, place := range places {
			hooks, err := s.hooksTo(ctx, place, sub.ID)
			if err != nil {
				return hookError(err)
			}
			for _, h := range hooks {
				made = append(made, place+"/"+strconv.FormatInt(h.ID, 10))
			}
		}
	}
	for _, path := range made {
		if err := s.unhook(ctx, path); err != nil {
			return err
		}
	}
	if s.notes == nil {
		return nil
	}
	return s.notes.DeletePrefix(ctx, hooksNote)
}

func (s *source) unhook(ctx context.Context, path string) error {
	_, err := s.api.JSON(ctx, restapi.Request{Method: http.MethodDelete, Path: path}, nil)
	if err != nil && !errors.Is(err, connectors.ErrNotFound) {
		return fmt.Errorf("delete a webhook: %w", err)
	}
	return nil
}

// hookError says what GitHub hides behind a 404.
func hookError(err error) error {
	if errors.Is(err, connectors.ErrNotFound) {
		return connectors.NeedsAuth(errors.New("the credentials may not set up webhooks: a fine-grained token or app needs the permission Webhooks (read and write), a classic token the scope admin:repo_hook or admin:org_hook"))
	}
	return err
}

// hookPlaces are the lists of webhooks that cover the config. Those of
// repositories go by their numbers, which outlive a change of the name.
func (s *source) hookPlaces(ctx context.Context) ([]string, error) {
	repos, _, err := s.list(ctx)
	if err != nil {
		return nil, err
	}
	var places, organisations []string
	for _, p := range s.config.repos {
		if !p.all() {
			continue
		}
		var who struct {
			Type string `json:"type"`
		}
		if _, err := s.api.JSON(ctx, restapi.Request{Path: "users/" + p.owner, RequiredFields: []string{"type"}}, &who); err != nil {
			return nil, fmt.Errorf("ask for the owner %s: %w", p.owner, err)
		}
		if who.Type == "Organization" {
			organisations = append(organisations, strings.ToLower(p.owner))
			places = append(places, "orgs/"+strings.ToLower(p.owner)+"/hooks")
		}
	}
	for _, r := range repos {
		if !slices.Contains(organisations, strings.ToLower(r.owner())) {
			places = append(places, "repositories/"+strconv.FormatInt(r.ID, 10)+"/hooks")
		}
	}
	slices.Sort(places)
	return slices.Compact(places), nil
}

// hooksTo are the webhooks of a list that go to an address.
func (s *source) hooksTo(ctx context.Context, place, address string) ([]hook, error) {
	var found []hook
	query := url.Values{"per_page": {"100"}}
	var trail restapi.LoopDetector
	for range maxHookPages {
		var page []hook
		header, err := s.api.JSON(ctx, restapi.Request{Path: place, Query: query}, &page)
		if err != nil {
			return nil, err
		}
		for _, h := range page {
			if h.ID <= 0 {
				return nil, connectors.Retryable(errors.New("GitHub lists a webhook that cannot be; "+advice), 0)
			}
			if h.Config.URL == address {
				found = append(found, h)
			}
		}
		next, err := nextQuery(header)
		if err == nil && next == "" {
			break
		}
		if err == nil {
			err = trail.Visit("GitHub", "the webhooks", next)
		}
		if err != nil {
			return nil, err
		}
		query, _ = url.ParseQuery(next) // it was looked at before
	}
	return found, nil
}

// hookAt makes the webhook of a list what it is to be, and the only one to its
// address. The secret is set anew each time: GitHub does not show it.
func (s *source) hookAt(ctx context.Context, place, address, secret string) (path string, err error) {
	hooks, err := s.hooksTo(ctx, place, address)
	if err != nil {
		return "", err
	}
	body := map[string]any{
		"active": true, "events": events(),
		"config": map[string]any{"url": address, "content_type": "json", "secret": secret, "insecure_ssl": "0"},
	}
	if len(hooks) == 0 {
		body["name"] = "web"
		var made hook
		if _, err := s.api.JSON(ctx, restapi.Request{Method: http.MethodPost, Path: place, Body: body, RequiredFields: []string{"id"}}, &made); err != nil {
			return "", err
		}
		return place + "/" + strconv.FormatInt(made.ID, 10), nil
	}
	for _, extra := range hooks[1:] {
		if err := s.unhook(ctx, place+"/"+strconv.FormatInt(extra.ID, 10)); err != nil {
			return "", err
		}
	}
	path = place + "/" + strconv.FormatInt(hooks[0].ID, 10)
	_, err = s.api.JSON(ctx, restapi.Request{Method: http.MethodPatch, Path: path, Body: body}, nil)
	return path, err
}
