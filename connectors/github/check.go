package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/restapi"
)

const maxCheckedRepos = 5

// Check implements [connectors.Source]. It makes the first requests of a sync
// for a few repositories.
func (s *source) Check(ctx context.Context) error {
	if err := s.checkOpen(ctx); err != nil {
		return err
	}
	return s.checkRead(ctx)
}

// CheckTiers implements [connectors.TierChecker].
func (s *source) CheckTiers(ctx context.Context) ([]connectors.Tier, error) {
	if err := s.checkOpen(ctx); err != nil {
		return nil, err
	}
	err := s.checkRead(ctx)
	tiers := []connectors.Tier{{Name: connectors.TierRead, Err: err}}
	if s.config.subscribes {
		if err == nil || !isUnauthorized(err) {
			err = s.checkHooks(ctx)
		}
		tiers = append(tiers, connectors.Tier{Name: connectors.TierWebhooks, Err: err})
	}
	return tiers, ctx.Err()
}

func isUnauthorized(err error) bool { return restapi.StatusOf(err) == http.StatusUnauthorized }

// checkRead makes the first requests of a sync for a few repositories.
func (s *source) checkRead(ctx context.Context) error {
	repos, _, err := s.listRepos(ctx)
	if err != nil {
		return err
	}
	for _, r := range repos[:min(maxCheckedRepos, len(repos))] {
		for _, stage := range stages() {
			if err := stage.check(ctx, s, r); err != nil {
				return rightError(err, stage.name)
			}
		}
	}
	return nil
}

// rightError names the right that a stage needs if GitHub refuses its request.
func rightError(err error, stage string) error {
	refused := restapi.StatusOf(err) == http.StatusForbidden
	if _, ok := errors.AsType[*queryRefusal](err); !connectors.IsNeedsAuth(err) || !ok && !refused {
		return err
	}
	right := map[string]string{contentFiles: "Contents", threadStageName: "Issues and Pull requests", contentDiscussions: "Discussions", contentWiki: "Contents"}[stage]
	return connectors.NeedsAuth(fmt.Errorf("%w; a fine-grained token or app needs the permission %s (read) for the repository, a classic token the scope repo", err, right))
}

// checkHooks lists the webhooks of a few repositories and organisations. GitHub lists
// them to those who may administer them, so that a token which may only read them is
// found by the scopes of a classic token, and otherwise when the webhooks are set up.
func (s *source) checkHooks(ctx context.Context) error {
	lists, err := s.hookPaths(ctx)
	if err != nil {
		return err
	}
	for _, list := range lists[:min(maxCheckedRepos, len(lists))] {
		var page []webhookOf
		header, err := s.api.JSON(ctx, restapi.Request{Path: list, Query: url.Values{"per_page": {"1"}}}, &page)
		if err == nil {
			err = hookScopeError(header, strings.HasPrefix(list, "orgs/"))
		}
		if err != nil {
			return fmt.Errorf("read the webhooks of %s: %w", strings.TrimSuffix(list, "/hooks"), hookError(err))
		}
	}
	return nil
}

// hookScopeError returns an error if a classic token, whose scopes GitHub names,
// cannot write webhooks.
func hookScopeError(header http.Header, ofOrganisation bool) error {
	scopes := header.Get("X-Oauth-Scopes")
	if scopes == "" {
		return nil
	}
	sufficient := []string{"repo", "public_repo", "admin:repo_hook", "write:repo_hook"}
	if ofOrganisation {
		sufficient = []string{"admin:org_hook"}
	}
	for scope := range strings.SplitSeq(scopes, ",") {
		if slices.Contains(sufficient, strings.TrimSpace(scope)) {
			return nil
		}
	}
	return errHookRights
}
