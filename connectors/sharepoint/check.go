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

// Check implements [connectors.Source]. It tries the rights in tiers: reading, then
// permissions, then webhooks. Its error says which tiers work.
func (s *source) Check(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	limit := 0
	if len(s.namedSites()) == 0 {
		limit = maxCheckedSites
	}
	selected, err := s.listParts(ctx, limit)
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
	var example string // an item of the drive
	seen := map[partKind]bool{}
	for i, p := range selected.list {
		if seen[p.kind] {
			continue
		}
		seen[p.kind] = true
		read, err := s.readPart(ctx, p, nil, "")
		if p.kind == partDrive && err == nil {
			drive = &selected.list[i]
			for _, item := range read.driveItems {
				example = item.ID
			}
		}
		if p.kind == partPages && hasNoPages(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", p.name, needsRight(err, "read "+p.name, "the application permission Sites.Read.All (or Sites.Selected and a grant for the site)"))
		}
	}
	if s.importsPermissions && example != "" {
		if err := s.checkPermissions(ctx, *drive, example); err != nil {
			return fmt.Errorf("files can be read, permissions cannot: %w", err)
		}
	}
	if s.settings.WantsSubscription() {
		if _, err := list[graphSubscription](ctx, s.graph, "the subscriptions", "subscriptions", nil); err != nil && !isNoQuery(err) {
			return fmt.Errorf("files can be read, webhooks cannot be set up: %w", needsRight(err, "list its subscriptions", "the application permission Files.Read.All or Sites.Read.All"))
		}
	}
	return nil
}

// checkPermissions checks the rights that an import of permissions needs at an item
// of a library.
func (s *source) checkPermissions(ctx context.Context, p part, item string) error {
	at := "drives/" + segment(p.id) + "/items/" + segment(item) + "/permissions"
	answers := map[string]permissionAnswer{}
	if err := s.readBatch(ctx, []string{at}, answers); err != nil {
		return err
	}
	if answers[at].forbidden {
		return connectors.NeedsAuth(errors.New("the app may not read who may see a file; give it the application permission Sites.FullControl.All " +
			"(or Sites.Selected with the role fullcontrol) in Microsoft Entra, with an administrator's consent"))
	}
	groups := map[string]string{}
	for _, granted := range answers[at].permissions {
		for _, to := range granted.grantees() {
			if to.Group != nil && to.Group.ID != "" {
				groups[to.Group.ID] = to.Group.DisplayName
			}
		}
	}
	for id, name := range groups {
		_, warning, err := s.groupWithMembers(ctx, savedGroup{ID: id, Name: name})
		if err == nil && warning != "" {
			err = connectors.NeedsAuth(errors.New(warning))
		}
		return err // one group is enough
	}
	return nil
}
