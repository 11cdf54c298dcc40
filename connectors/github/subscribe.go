package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/restapi"
)

const (
	hooksKey     = "hooks"
	maxHookPages = 5
)

// A webhookOf is a webhook at GitHub.
type webhookOf struct {
	ID     int64    `json:"id"`
	Name   string   `json:"name"`
	Active bool     `json:"active"`
	Events []string `json:"events"`
	Config struct {
		URL string `json:"url"`
	} `json:"config"`
}

// Subscribe implements [connectors.Subscriber]. It creates a webhook for each
// repository, or for an organisation if all its repositories are included. The
// id of the subscription is the address. The webhooks are in the state.
func (s *source) Subscribe(ctx context.Context, address, secret string) (connectors.Subscription, error) {
	if err := s.checkOpen(ctx); err != nil {
		return connectors.Subscription{}, err
	}
	lists, err := s.hookPaths(ctx)
	if err != nil {
		return connectors.Subscription{}, err
	}
	var hooks []string
	for _, list := range lists {
		path, err := s.ensureHook(ctx, list, address, secret)
		if err != nil {
			return connectors.Subscription{}, fmt.Errorf("set up a webhook of %s: %w", strings.TrimSuffix(list, "/hooks"), hookError(err))
		}
		hooks = append(hooks, path)
	}
	// Delete webhooks of repositories that are no longer followed.
	var before []string
	if _, err := connectors.GetJSON(ctx, s.state, hooksKey, &before); err != nil {
		return connectors.Subscription{}, err
	}
	for _, path := range before {
		if !slices.Contains(hooks, path) {
			if err := s.deleteHook(ctx, path); err != nil && !connectors.IsNeedsAuth(err) {
				return connectors.Subscription{}, err
			}
		}
	}
	if err := connectors.PutJSON(ctx, s.state, hooksKey, hooks); err != nil {
		return connectors.Subscription{}, err
	}
	return connectors.Subscription{ID: address}, nil
}

// Unsubscribe implements [connectors.Subscriber].
func (s *source) Unsubscribe(ctx context.Context, sub connectors.Subscription) error {
	if err := s.checkOpen(ctx); err != nil {
		return err
	}
	var paths []string
	if _, err := connectors.GetJSON(ctx, s.state, hooksKey, &paths); err != nil {
		return err
	}
	if len(paths) == 0 { // without state
		lists, err := s.hookPaths(ctx)
		if err != nil {
			return err
		}
		for _, list := range lists {
			hooks, err := s.findHooks(ctx, list, sub.ID)
			if err != nil {
				return hookError(err)
			}
			for _, h := range hooks {
				paths = append(paths, list+"/"+strconv.FormatInt(h.ID, 10))
			}
		}
	}
	for _, path := range paths {
		if err := s.deleteHook(ctx, path); err != nil {
			return err
		}
	}
	if s.state == nil {
		return nil
	}
	return s.state.DeletePrefix(ctx, hooksKey)
}

func (s *source) deleteHook(ctx context.Context, path string) error {
	_, err := s.api.JSON(ctx, restapi.Request{Method: http.MethodDelete, Path: path}, nil)
	if err != nil && !errors.Is(err, connectors.ErrNotFound) {
		return fmt.Errorf("delete a webhook: %w", err)
	}
	return nil
}

// errHookRights says that the credentials lack the right to webhooks.
var errHookRights = connectors.NeedsAuth(errors.New("the credentials may not set up webhooks: a fine-grained token or app needs the permission Webhooks (read and write), a classic token the scope admin:repo_hook or, for owner/*, admin:org_hook"))

// hookError returns the error that GitHub hides behind a 404 or says in a 403.
func hookError(err error) error {
	if errors.Is(err, connectors.ErrNotFound) || restapi.StatusOf(err) == http.StatusForbidden && connectors.IsNeedsAuth(err) {
		return errHookRights
	}
	return err
}

// hookPaths returns the paths of the lists of webhooks that cover the config.
// Repositories have their numbers, which do not change with names.
func (s *source) hookPaths(ctx context.Context) ([]string, error) {
	repos, _, err := s.listRepos(ctx)
	if err != nil {
		return nil, err
	}
	var paths, organisations []string
	for _, p := range s.config.repos {
		if !p.isAll() {
			continue
		}
		var user struct {
			Type string `json:"type"`
		}
		if _, err := s.api.JSON(ctx, restapi.Request{Path: "users/" + p.owner, RequiredFields: []string{"type"}}, &user); err != nil {
			return nil, fmt.Errorf("ask for the owner %s: %w", p.owner, err)
		}
		if user.Type == "Organization" {
			organisations = append(organisations, strings.ToLower(p.owner))
			paths = append(paths, "orgs/"+strings.ToLower(p.owner)+"/hooks")
		}
	}
	for _, r := range repos {
		if !slices.Contains(organisations, strings.ToLower(r.owner())) {
			paths = append(paths, "repositories/"+strconv.FormatInt(r.ID, 10)+"/hooks")
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths), nil
}

// findHooks returns the webhooks of a list that deliver to an address.
func (s *source) findHooks(ctx context.Context, path, address string) (found []webhookOf, err error) {
	_, err = restapi.Pages("GitHub", "the webhooks", maxHookPages, func(cursor string) (next string, err error) {
		var page []webhookOf
		header, err := s.api.JSON(ctx, restapi.Request{Path: path, Query: pageQuery(cursor)}, &page)
		if err != nil {
			return "", err
		}
		for _, h := range page {
			if h.ID <= 0 {
				return "", connectors.Retryable(errors.New("GitHub lists a webhook that cannot be; "+checkAdvice), 0)
			}
			if h.Config.URL == address {
				found = append(found, h)
			}
		}
		return restapi.NextLink("GitHub", header)
	})
	return found, err
}

// ensureHook makes sure that a list has exactly one webhook to an address, with
// the right events and secret. It always sets the secret since GitHub does not
// return it.
func (s *source) ensureHook(ctx context.Context, list, address, secret string) (path string, err error) {
	hooks, err := s.findHooks(ctx, list, address)
	if err != nil {
		return "", err
	}
	body := map[string]any{
		"active": true, "events": events(),
		"config": map[string]any{"url": address, "content_type": "json", "secret": secret, "insecure_ssl": "0"},
	}
	if len(hooks) == 0 {
		body["name"] = "web"
		var created webhookOf
		if _, err := s.api.JSON(ctx, restapi.Request{Method: http.MethodPost, Path: list, Body: body, RequiredFields: []string{"id"}}, &created); err != nil {
			return "", err
		}
		return list + "/" + strconv.FormatInt(created.ID, 10), nil
	}
	for _, extra := range hooks[1:] {
		if err := s.deleteHook(ctx, list+"/"+strconv.FormatInt(extra.ID, 10)); err != nil {
			return "", err
		}
	}
	path = list + "/" + strconv.FormatInt(hooks[0].ID, 10)
	_, err = s.api.JSON(ctx, restapi.Request{Method: http.MethodPatch, Path: path, Body: body}, nil)
	return path, err
}
