package gitlab

import (
	"context"
	"errors"
	"fmt"

	"github.com/magpie-search/magpie/connectors"
)

var _ connectors.TierChecker = (*source)(nil)

// Check implements [connectors.Source]. It makes the first requests of a sync for a
// few projects.
func (s *source) Check(ctx context.Context) error {
	_, err := s.checkRead(ctx)
	return err
}

// CheckTiers implements [connectors.TierChecker].
func (s *source) CheckTiers(ctx context.Context) ([]connectors.Tier, error) {
	projects, err := s.checkRead(ctx)
	tiers := []connectors.Tier{{Name: connectors.TierRead, Err: err}}
	if len(projects) > 0 && s.imports {
		tiers = append(tiers, connectors.Tier{Name: connectors.TierPermissions, Err: s.checkPermissions(ctx, projects[0])})
	}
	if len(projects) > 0 && s.settings.WantsSubscription() {
		tiers = append(tiers, connectors.Tier{Name: connectors.TierWebhooks, Err: s.checkHooks(ctx, projects)})
	}
	return tiers, ctx.Err()
}

// checkRead returns the projects, also with an error of their content. Parts that a
// server does not have are no error if it has others.
func (s *source) checkRead(ctx context.Context) ([]project, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	all, err := s.selected(ctx)
	switch {
	case err != nil:
		return nil, err
	case len(all.warnings) > 0:
		return all.projects, connectors.NeedsAuth(errors.New(all.warnings[0]))
	}
	var missing error
	isRead := false
	for _, p := range all.projects[:min(maxCheckProjects, len(all.projects))] {
		for stage := range stages() {
			if !s.applies(stage, p) {
				continue
			}
			_, err := s.step(ctx, p, position{Stage: stage})
			if err != nil {
				err = fmt.Errorf("read the %s of %s: %w", stages()[stage], p.Path, err)
			}
			switch {
			case err == nil:
				isRead = true
			case !errors.Is(err, connectors.ErrNotFound):
				return all.projects, err
			case missing == nil:
				missing = err
			}
		}
	}
	if isRead {
		return all.projects, nil
	}
	return all.projects, missing
}

// checkPermissions reads the members of a project, and whether any of them has an
// address.
func (s *source) checkPermissions(ctx context.Context, p project) error {
	members, err := s.members(ctx, p)
	if err != nil && isHidden(err) && !errors.Is(err, errScope) {
		return connectors.NeedsAuth(fmt.Errorf("GitLab does not show the members of %s; make the account a member of it", p.Path))
	}
	if err != nil {
		return fmt.Errorf("read the members of %s: %w", p.Path, err)
	}
	people, err := s.people(ctx, true)
	if err != nil {
		return err
	}
	for _, m := range members[:min(maxCheckProjects, len(members))] {
		if err := people.addMember(ctx, m); err != nil {
			return err
		}
	}
	if unknown, total := people.unknown(); total > 0 && unknown == total {
		return connectors.NeedsAuth(fmt.Errorf("GitLab shows the email address of none of %d members of %s: use the token of an administrator, or let people set a public email", total, p.Path))
	}
	return nil
}
