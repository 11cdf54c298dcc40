package sharepoint

import (
	"context"
	"fmt"
	"net/url"

	"github.com/magpie-search/magpie/connectors"
)

// Check implements [connectors.Source]. It tries the rights in tiers: reading, then
// permissions, then webhooks. Its error says which tiers work.
func (s *source) Check(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.resetCaches()
	selected, err := s.selectParts(ctx)
	if err != nil {
		return err
	}
	if len(selected.warnings) > 0 && len(s.namedSites()) > 0 {
		return connectors.NeedsAuth(fmt.Errorf("%s Grant the app access to it, or take it out of config.%s", selected.warnings[0], optionSites))
	}
	if len(selected.list) == 0 {
		return connectors.NeedsAuth(fmt.Errorf("the app does not see any library; correct config.%s and config.%s", optionSites, optionLibraries))
	}
	var drive *part
	seen := map[partKind]bool{}
	for i, p := range selected.list {
		if seen[p.kind] {
			continue
		}
		seen[p.kind] = true
		if p.kind == partDrive {
			drive = &selected.list[i]
		}
		if _, err := s.readPart(ctx, p, nil, ""); err != nil {
			return fmt.Errorf("read %s: %w", p.name, needsRight(err, "read "+p.name, "the application permission Sites.Read.All (or Sites.Selected and a grant for the site)"))
		}
	}
	if s.importsPermissions && drive != nil {
		if err := s.checkPermissions(ctx, *drive); err != nil {
			return fmt.Errorf("files can be read, permissions cannot: %w", err)
		}
	}
	if s.settings.WantsSubscription() {
		if _, err := list[graphSubscription](ctx, s.graph, "the subscriptions", "subscriptions", nil); err != nil {
			return fmt.Errorf("files can be read, webhooks cannot be set up: %w", needsRight(err, "list its subscriptions", "the application permission Files.Read.All or Sites.Read.All"))
		}
	}
	return nil
}

// checkPermissions checks the rights that an import of permissions needs.
func (s *source) checkPermissions(ctx context.Context, p part) error {
	var page listPage[permission]
	if err := s.graph.get(ctx, "drives/"+segment(p.id)+"/root/permissions", nil, &page, "value"); err != nil {
		return needsRight(err, "read who may see a file", "the application permission Sites.FullControl.All (or Sites.Selected with the role fullcontrol)")
	}
	groups := map[string]string{}
	for _, granted := range page.Value {
		for _, to := range granted.grantees() {
			if to.Group != nil && to.Group.ID != "" {
				groups[to.Group.ID] = to.Group.DisplayName
			}
		}
	}
	for id := range groups {
		if err := s.graph.get(ctx, "groups/"+segment(id)+"/transitiveMembers", url.Values{"$select": {"id"}, "$top": {"1"}}, &listPage[directoryObject]{}, "value"); err != nil {
			if _, hidden := isUnavailable(err); hidden {
				err = needsRight(err, "read the members of groups", "the application permission GroupMember.Read.All")
			}
			return err
		}
		break
	}
	return nil
}
