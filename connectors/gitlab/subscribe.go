package gitlab

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

var _ connectors.Subscriber = (*source)(nil)

const (
	hooksKey    = "hooks"
	maxHooked   = 500 // projects with a webhook of their own
	scopeForAll = "api"
)

// A projectHook is a webhook of a project at GitLab.
type projectHook struct {
	ID  int64  `json:"id"`
	URL string `json:"url"`
}

// Subscribe implements [connectors.Subscriber]. It creates a webhook for each project,
// since those of groups need a paid plan. The id of the subscription is the address. The
// webhooks are in the state.
func (s *source) Subscribe(ctx context.Context, address, secret string) (connectors.Subscription, error) {
	all, err := s.selected(ctx)
	switch {
	case err != nil:
		return connectors.Subscription{}, err
	case len(all.projects) > maxHooked:
		return connectors.Subscription{}, connectors.Fatal(fmt.Errorf("webhooks are set up for at most %d projects; set one up in the group yourself, or name fewer projects", maxHooked))
	}
	var before, hooks []string
	if _, err := connectors.GetJSON(ctx, s.settings.State, hooksKey, &before); err != nil {
		return connectors.Subscription{}, err
	}
	for _, p := range all.projects {
		path, err := s.ensureHook(ctx, p, address, secret)
		if err != nil {
			return connectors.Subscription{}, fmt.Errorf("set up a webhook of %s: %w", p.Path, hookError(err, p))
		}
		hooks = append(hooks, path)
	}
	for _, path := range before {
		if !slices.Contains(hooks, path) && !all.incomplete {
			if err := s.deleteHook(ctx, path); err != nil && !connectors.IsNeedsAuth(err) {
				return connectors.Subscription{}, err
			}
		}
	}
	if all.incomplete {
		hooks = append(hooks, before...)
		slices.Sort(hooks)
		hooks = slices.Compact(hooks)
	}
	if err := connectors.PutJSON(ctx, s.settings.State, hooksKey, hooks); err != nil {
		return connectors.Subscription{}, err
	}
	return connectors.Subscription{ID: address}, nil
}

// Unsubscribe implements [connectors.Subscriber].
func (s *source) Unsubscribe(ctx context.Context, sub connectors.Subscription) error {
	var paths []string
	if _, err := connectors.GetJSON(ctx, s.settings.State, hooksKey, &paths); err != nil {
		return err
	}
	if len(paths) == 0 { // without state
		all, err := s.selected(ctx)
		if err != nil {
			return err
		}
		for _, p := range all.projects {
			hooks, err := s.hooksTo(ctx, p, sub.ID)
			if err != nil {
				return hookError(err, p)
			}
			for _, h := range hooks {
				paths = append(paths, p.path("/hooks/"+strconv.FormatInt(h.ID, 10)))
			}
		}
	}
	for _, path := range paths {
		if err := s.deleteHook(ctx, path); err != nil {
			return err
		}
	}
	if s.settings.State == nil {
		return nil
	}
	if err := s.settings.State.DeletePrefix(ctx, hooksKey); err != nil {
		return fmt.Errorf("forget the webhooks: %w", err)
	}
	return nil
}

func (s *source) deleteHook(ctx context.Context, path string) error {
	_, err := s.request(ctx, restapi.Request{Method: http.MethodDelete, Path: path}, nil)
	if err != nil && !errors.Is(err, connectors.ErrNotFound) {
		return fmt.Errorf("delete a webhook: %w", err)
	}
	return nil
}

// hookError says which right is missing.
func hookError(err error, p project) error {
	switch {
	case errors.Is(err, errScope):
		return connectors.NeedsAuth(fmt.Errorf("%w; webhooks need the scope %s", err, scopeForAll))
	case isHidden(err), restapi.StatusOf(err) == http.StatusUnauthorized:
		return connectors.NeedsAuth(fmt.Errorf("the account may not set up webhooks of %s: give it the role Maintainer, and the token the scope %s", p.Path, scopeForAll))
	default:
		return err
	}
}

// hooksTo returns the webhooks of a project that deliver to an address.
func (s *source) hooksTo(ctx context.Context, p project, address string) ([]projectHook, error) {
	list, err := listAll[projectHook](ctx, s, p.path("/hooks"), "the webhooks of "+p.Path, map[string][]string{"per_page": {perPage}})
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(list, func(h projectHook) bool { return h.ID <= 0 }) {
		return nil, errInvalid("a webhook")
	}
	return slices.DeleteFunc(list, func(h projectHook) bool { return h.URL != address }), nil
}

// ensureHook makes sure that a project has exactly one webhook to an address, with the
// right events and secret. It always sets the secret, since GitLab does not return it.
func (s *source) ensureHook(ctx context.Context, p project, address, secret string) (path string, err error) {
	hooks, err := s.hooksTo(ctx, p, address)
	if err != nil {
		return "", err
	}
	body := map[string]any{
		"url": address, "token": secret, "enable_ssl_verification": true, "push_events": true, "issues_events": true, "confidential_issues_events": true,
		"merge_requests_events": true, "note_events": true, "confidential_note_events": true, "wiki_page_events": true,
	}
	if len(hooks) == 0 {
		var created projectHook
		if _, err := s.request(ctx, restapi.Request{Method: http.MethodPost, Path: p.path("/hooks"), Body: body, RequiredFields: []string{"id"}}, &created); err != nil {
			return "", err
		}
		return p.path("/hooks/" + strconv.FormatInt(created.ID, 10)), nil
	}
	for _, extra := range hooks[1:] {
		if err := s.deleteHook(ctx, p.path("/hooks/"+strconv.FormatInt(extra.ID, 10))); err != nil {
			return "", err
		}
	}
	path = p.path("/hooks/" + strconv.FormatInt(hooks[0].ID, 10))
	_, err = s.request(ctx, restapi.Request{Method: http.MethodPut, Path: path, Body: body}, nil)
	return path, err
}

// checkHooks tests the rights to set up webhooks.
func (s *source) checkHooks(ctx context.Context, projects []project) error {
	var token struct{ Scopes []string }
	// OAuth tokens have no such page, and versions before 15.5 neither.
	if _, err := s.get(ctx, "personal_access_tokens/self", nil, &token); err == nil && len(token.Scopes) > 0 && !slices.Contains(token.Scopes, scopeForAll) {
		return connectors.NeedsAuth(fmt.Errorf("%w: webhooks need %s, and it has %s", errScope, scopeForAll, strings.Join(token.Scopes, ", ")))
	} else if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	for _, p := range projects[:min(maxCheckProjects, len(projects))] {
		if _, err := s.hooksTo(ctx, p, ""); err != nil {
			return hookError(err, p)
		}
	}
	return nil
}
