package googledrive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/magpie-search/magpie/connectors"
)

const maxCheckedUnits = 5

// Check implements [connectors.Source]. It tries the rights to read files and, if
// permissions are imported, to read groups.
func (s *source) Check(ctx context.Context) error {
	if err := s.checkOpen(ctx); err != nil {
		return err
	}
	if err := s.checkRead(ctx); err != nil || !s.importsPermissions {
		return err
	}
	if err := s.checkDirectory(ctx); err != nil {
		return fmt.Errorf("files can be read, but not the members of groups; people whose access comes from a group would find nothing: %w", err)
	}
	return nil
}

// CheckTiers implements [connectors.TierChecker]. Notification channels need no
// right but that to read; only a subscription shows whether Google delivers to the
// address.
func (s *source) CheckTiers(ctx context.Context) ([]connectors.Tier, error) {
	if err := s.checkOpen(ctx); err != nil {
		return nil, err
	}
	tiers := []connectors.Tier{{Name: connectors.TierRead, Err: s.checkRead(ctx)}}
	if s.importsPermissions {
		tiers = append(tiers, connectors.Tier{Name: connectors.TierPermissions, Err: s.checkDirectory(ctx)})
	}
	if s.settings.WantsSubscription() {
		page, err := s.presentToken(ctx)
		if err == nil && page.Next == "" {
			err = connectors.Fatal(errors.New("there are too many drives to follow their changes"))
		}
		tiers = append(tiers, connectors.Tier{Name: connectors.TierWebhooks, Err: err})
	}
	return tiers, ctx.Err()
}

// checkRead lists a file of some units.
func (s *source) checkRead(ctx context.Context) error {
	units, err := s.listUnits(ctx, nil)
	if err != nil {
		return err
	}
	for _, u := range units[:min(maxCheckedUnits, len(units))] {
		query := s.listQuery(u, "trashed = false", 1)
		if u.Type == unitFolder {
			query.Set("q", parentsQuery([]string{u.ID})+" and trashed = false")
			if _, err := s.fileByID(ctx, u.Subject, u.ID); err != nil {
				return fmt.Errorf("read the folder %s: %w", u.Name, s.accessError(err))
			}
		}
		if _, err := s.listPage(ctx, u, query); err != nil {
			return fmt.Errorf("read %s: %w", s.title(u), s.accessError(err))
		}
	}
	return nil
}

// accessError marks a missing place as a missing right: the account does not see
// what the config names.
func (s *source) accessError(err error) error {
	if errors.Is(err, connectors.ErrNotFound) {
		return connectors.NeedsAuth(errors.New("the account does not see it; share it with the account, or correct the config"))
	}
	return err
}

// checkDirectory asks for a group that does not exist: Google answers 404 to those
// who may read groups.
func (s *source) checkDirectory(ctx context.Context) error {
	address := s.admin()
	if address == "" {
		var about struct{ User struct{ EmailAddress string } }
		err := s.api.get(ctx, "", "about", url.Values{"fields": {"user(emailAddress)"}}, "user", &about)
		if err != nil && !errors.Is(err, connectors.ErrNotFound) {
			return err
		}
		address = about.User.EmailAddress
	}
	_, domain, _ := strings.Cut(cmp.Or(address, "@example.com"), "@")
	_, err := s.readMembers(ctx, "magpie-connection-test@"+domain, "")
	if errors.Is(err, connectors.ErrNotFound) {
		return nil
	}
	if isForbidden(err) {
		return connectors.NeedsAuth(fmt.Errorf("%s needs the administrator's right Groups, Read, and the scope %s: %w", address, scopeMembers, err))
	}
	return err
}
