package sharepoint

import (
	"context"
	"errors"
	"fmt"

	"github.com/magpie-search/magpie/connectors"
)

// maxCheckedSites bounds the sites that a test looks at, if the config names none. A
// person waits for it.
const maxCheckedSites = 3

// An example is a file or folder of the connector, to try permissions with.
type example struct {
	part part
	item string
}

// Check implements [connectors.Source]. It tries the rights in tiers: reading, then
// permissions, then webhooks. Its error says which tiers work.
func (s *source) Check(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	e, err := s.checkRead(ctx)
	if err != nil {
		return err
	}
	if s.importsPermissions {
		if err := s.checkPermissions(ctx, e); err != nil {
			return fmt.Errorf("files can be read, permissions cannot: %w", err)
		}
	}
	if s.settings.WantsSubscription() {
		if err := s.checkWebhooks(ctx); err != nil {
			return fmt.Errorf("files can be read, webhooks cannot be set up: %w", err)
		}
	}
	return nil
}

// CheckTiers implements [connectors.TierChecker].
func (s *source) CheckTiers(ctx context.Context) ([]connectors.Tier, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	e, err := s.checkRead(ctx)
	tiers := []connectors.Tier{{Name: connectors.TierRead, Err: err}}
	if s.importsPermissions && err == nil {
		tiers = append(tiers, connectors.Tier{Name: connectors.TierPermissions, Err: s.checkPermissions(ctx, e)})
	}
	if s.settings.WantsSubscription() {
		tiers = append(tiers, connectors.Tier{Name: connectors.TierWebhooks, Err: s.checkWebhooks(ctx)})
	}
	return tiers, ctx.Err()
}

// checkRead checks the rights to read one part of each sort. It returns a file or
// folder, if there is one.
func (s *source) checkRead(ctx context.Context) (example, error) {
	limit := 0
	if len(s.namedSites()) == 0 {
		limit = maxCheckedSites
	}
	selected, err := s.listParts(ctx, limit)
	if err != nil {
		return example{}, err
	}
	if len(selected.warnings) > 0 && len(s.namedSites()) > 0 {
		return example{}, connectors.NeedsAuth(fmt.Errorf("%s Grant the app access to it, or take it out of config.%s", selected.warnings[0], optionSites))
	}
	if len(selected.list) == 0 {
		return example{}, connectors.NeedsAuth(fmt.Errorf("the app does not see any library; correct config.%s and config.%s", optionSites, optionLibraries))
	}
	var e example
	seen := map[partKind]bool{}
	for _, p := range selected.list {
		if seen[p.kind] {
			continue
		}
		seen[p.kind] = true
		read, err := s.readPart(ctx, p, nil, "")
		if p.kind == partPages && hasNoPages(err) {
			continue
		}
		if err != nil {
			return example{}, fmt.Errorf("read %s: %w", p.name, needsRight(err, "read all of "+p.name, "the application permission Sites.Read.All (or Sites.Selected and a grant for the site)"))
		}
		for _, item := range read.driveItems {
			e = example{part: p, item: item.ID}
		}
	}
	return e, nil
}

// checkWebhooks checks the rights that subscriptions need.
func (s *source) checkWebhooks(ctx context.Context) error {
	_, err := list[graphSubscription](ctx, s.graph, "the subscriptions", "subscriptions", nil)
	if err == nil || isNoQuery(err) {
		return nil
	}
	return needsRight(err, "list its subscriptions", "the application permission Files.Read.All or Sites.Read.All")
}

// checkPermissions checks the rights that an import of permissions needs.
func (s *source) checkPermissions(ctx context.Context, e example) error {
	if e.item == "" {
		return nil
	}
	at := "drives/" + segment(e.part.id) + "/items/" + segment(e.item) + "/permissions"
	answers := map[string]permissionAnswer{}
	if err := s.readBatch(ctx, []string{at}, answers); err != nil {
		return err
	}
	if answers[at].forbidden {
		return connectors.NeedsAuth(errors.New("the app may not read who may see a file; give it the application permission Sites.FullControl.All " +
			"(or Sites.Selected with the role fullcontrol) in Microsoft Entra, with an administrator's consent"))
	}
	for _, granted := range answers[at].permissions {
		for _, to := range granted.grantees() {
			if to.Group == nil || to.Group.ID == "" {
				continue
			}
			_, warning, err := s.groupWithMembers(ctx, savedGroup{ID: to.Group.ID, Name: to.Group.DisplayName})
			if err == nil && warning != "" {
				err = connectors.NeedsAuth(errors.New(warning))
			}
			return err // one group is enough
		}
	}
	return nil
}
