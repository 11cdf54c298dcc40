package authn

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"time"
	_ "time/tzdata" // the time zones, for systems that have none

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/user"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/patch"
	"github.com/magpie-search/magpie/internal/store/transaction"
	"github.com/magpie-search/magpie/internal/viewer"
)

// ProfileChange is a change of a person's own name and preferences. A field that is
// not given stays. Nil is the value of the browser.
type ProfileChange struct {
	Name     patch.Field[string]
	Language patch.Field[*string] // a language tag
	Theme    patch.Field[user.Theme]
	TimeZone patch.Field[*string] // a name of the time zone database
	// HideFirstSteps is about the workspace of the session.
	HideFirstSteps patch.Field[bool]
}

// languageTag is a language with an optional script, region and variants.
var languageTag = regexp.MustCompile(`^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8}){0,3}$`)

// ChangeProfile changes the name and the preferences of the viewer. At least one
// field must be given.
func (a *Accounts) ChangeProfile(ctx context.Context, in ProfileChange) (*ent.User, error) {
	v, err := requirePerson(ctx)
	if err != nil {
		return nil, err
	}
	if !in.Name.Given && !in.Language.Given && !in.Theme.Given && !in.TimeZone.Given && !in.HideFirstSteps.Given {
		return nil, apierr.Invalid("name", "or preferences must be given")
	}
	update := transaction.Client(ctx, a.ent).User.UpdateOneID(v.Subject)
	if in.Name.Given {
		name, err := CleanName("name", in.Name.Value, false)
		if err != nil {
			return nil, err
		}
		update.SetName(name)
	}
	if language := in.Language.Value; language != nil && !languageTag.MatchString(*language) {
		return nil, apierr.Invalid("preferences.language", "must be a language tag such as de or pt-BR")
	}
	if zone := in.TimeZone.Value; zone != nil && !isTimeZone(*zone) {
		return nil, apierr.Invalid("preferences.timeZone", "must be a name of the time zone database such as Europe/Berlin")
	}
	if in.Theme.Given {
		update.SetTheme(in.Theme.Value)
	}
	patch.Apply(in.Language, update.SetLanguage, update.ClearLanguage)
	patch.Apply(in.TimeZone, update.SetTimeZone, update.ClearTimeZone)
	if in.HideFirstSteps.Given {
		if err := a.hideFirstSteps(ctx, update, v, in.HideFirstSteps.Value); err != nil {
			return nil, err
		}
	}
	row, err := update.Save(asSystem(ctx))
	return row, apierr.Wrap("change the profile", err)
}

// hideFirstSteps adds the workspace of the viewer to those whose first steps are hidden, or removes it.
func (a *Accounts) hideFirstSteps(ctx context.Context, update *ent.UserUpdateOne, v viewer.Viewer, hide bool) error {
	row, err := transaction.Client(ctx, a.ent).User.Query().Where(user.ID(v.Subject)).ForUpdate().Only(asSystem(ctx))
	if err != nil {
		return fmt.Errorf("read the profile: %w", err)
	}
	hidden := slices.DeleteFunc(slices.Clone(row.HiddenSteps), func(id uuid.UUID) bool { return id == v.Workspace })
	if hide {
		hidden = append(hidden, v.Workspace)
	}
	update.SetHiddenSteps(hidden)
	return nil
}

// isTimeZone reports whether the time zone database has a name. Local is the zone of
// this machine.
func isTimeZone(name string) bool {
	if name == "" || name == "Local" || len(name) > 64 {
		return false
	}
	_, err := time.LoadLocation(name)
	return err == nil
}
