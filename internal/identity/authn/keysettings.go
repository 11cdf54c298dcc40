package authn

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/apierr/check"
	"github.com/magpie-search/magpie/internal/patch"
)

// The bounds of a key's settings.
const (
	maxContext     = 8000 // characters
	maxPlaces      = 100  // hosts, referers
	maxPlace       = 2000 // bytes of one
	maxCollections = 1000
	maxRate        = 1_000_000
)

// NewKey is what a pair of keys is made of.
type NewKey struct {
	Name                   string
	AllCollections         bool
	Collections            []uuid.UUID
	Default                *uuid.UUID
	Hosts, Referers        []string
	ChatModel, ChatContext *string
	RequireSignature       bool
	RatePerMinute          *int
	ExpiresAt              *time.Time
}

// KeyChange describes what to change about a pair of keys.
type KeyChange struct {
	Name                   patch.Field[string]
	AllCollections         patch.Field[bool]
	Collections            patch.Field[[]uuid.UUID]
	Default                patch.Field[*uuid.UUID]
	Hosts, Referers        patch.Field[[]string]
	ChatModel, ChatContext patch.Field[*string]
	RequireSignature       patch.Field[bool]
	RatePerMinute          patch.Field[*int]
	ExpiresAt              patch.Field[*time.Time]
}

// all is the change that makes a pair from nothing.
func (in NewKey) all() KeyChange {
	return KeyChange{
		Name: patch.Set(in.Name), AllCollections: patch.Set(in.AllCollections), Collections: patch.Set(in.Collections), Default: patch.Set(in.Default),
		Hosts: patch.Set(in.Hosts), Referers: patch.Set(in.Referers), ChatModel: patch.Set(in.ChatModel), ChatContext: patch.Set(in.ChatContext),
		RequireSignature: patch.Set(in.RequireSignature), RatePerMinute: patch.Set(in.RatePerMinute), ExpiresAt: patch.Set(in.ExpiresAt),
	}
}

func settingsOf(row *ent.APIKey) NewKey {
	return NewKey{
		Name: row.Name, AllCollections: row.AllowAllCollections, Collections: row.AllowedCollections, Default: row.DefaultCollection,
		Hosts: row.AllowedHosts, Referers: row.AllowedReferers, ChatModel: row.WidgetModelID, ChatContext: row.WidgetContext,
		RequireSignature: row.RequireSignature, RatePerMinute: row.RateLimitPerMinute, ExpiresAt: row.ExpiresAt,
	}
}

// merge is what the settings become by a change. What is given is checked and
// put into its form; what stays is not, as times and configurations move on. How
// settings go together is checked in any case.
func (k *Keys) merge(old NewKey, c KeyChange) (NewKey, error) {
	in := old
	for _, set := range []func() error{
		func() error { return apply(&in.Name, c.Name, checkName) },
		func() error { return apply(&in.AllCollections, c.AllCollections, nil) },
		func() error { return apply(&in.Collections, c.Collections, checkCollections) },
		func() error { return apply(&in.Default, c.Default, nil) },
		func() error { return apply(&in.Hosts, c.Hosts, checkHosts) },
		func() error { return apply(&in.Referers, c.Referers, checkReferers) },
		func() error { return apply(&in.ChatModel, c.ChatModel, k.checkChatModel) },
		func() error { return apply(&in.ChatContext, c.ChatContext, checkContext) },
		func() error { return apply(&in.RequireSignature, c.RequireSignature, nil) },
		func() error { return apply(&in.RatePerMinute, c.RatePerMinute, checkRate) },
		func() error { return apply(&in.ExpiresAt, c.ExpiresAt, k.checkExpiry) },
	} {
		if err := set(); err != nil {
			return NewKey{}, err
		}
	}
	switch {
	case !in.AllCollections && len(in.Collections) == 0:
		return NewKey{}, apierr.Invalid("allowedCollections", "must name at least one collection, or set allowAllCollections")
	case !in.AllCollections && in.Default != nil && !slices.Contains(in.Collections, *in.Default):
		return NewKey{}, apierr.Invalid("defaultCollection", "must be one of allowedCollections")
	}
	return in, nil
}

// apply checks a new value, which the check may put into its form, and sets it.
func apply[T any](to *T, c patch.Field[T], check func(*T) error) error {
	if !c.Given {
		return nil
	}
	if check != nil {
		if err := check(&c.Value); err != nil {
			return err
		}
	}
	*to = c.Value
	return nil
}

func checkName(name *string) (err error) {
	*name, err = check.Name("name", *name)
	return err
}

func checkCollections(ids *[]uuid.UUID) error {
	distinct := make([]uuid.UUID, 0, len(*ids))
	for _, id := range *ids {
		if !slices.Contains(distinct, id) {
			distinct = append(distinct, id)
		}
		if len(distinct) > maxCollections {
			return apierr.Invalid("allowedCollections", fmt.Sprintf("must name at most %d collections; allowAllCollections is for more", maxCollections))
		}
	}
	*ids = distinct
	return nil
}

func checkHosts(hosts *[]string) error {
	*hosts = trimmed(*hosts)
	if len(*hosts) == 0 {
		return apierr.Invalid("allowedHosts", `must name at least one host from which the publishable key works; "*" is any`)
	}
	return checkPlaces("allowedHosts", *hosts, func(h string) error { _, err := readHost(h); return err })
}

func checkReferers(referers *[]string) error {
	*referers = trimmed(*referers)
	return checkPlaces("allowedReferers", *referers, func(r string) error { _, err := readReferer(r); return err })
}

func checkPlaces(field string, places []string, check func(string) error) error {
	if len(places) > maxPlaces {
		return apierr.Invalid(field, fmt.Sprintf("must have at most %d entries", maxPlaces))
	}
	for _, p := range places {
		if len(p) > maxPlace {
			return apierr.Invalid(field, fmt.Sprintf("has an entry of more than %d bytes", maxPlace))
		}
		if err := check(p); err != nil {
			return apierr.Invalid(field, fmt.Sprintf("has an entry %q that %s", p, err))
		}
	}
	return nil
}

// checkChatModel lets a key choose among the models that there are.
func (k *Keys) checkChatModel(name **string) error {
	blankIsNil(name)
	switch {
	case *name == nil:
	case len(k.chatModels) > 0 && !slices.Contains(k.chatModels, **name):
		return apierr.Invalid("widgetModelId", "must be one of "+strings.Join(k.chatModels, ", "))
	case utf8.RuneCountInString(**name) > check.MaxName || !check.Printable(**name):
		return apierr.Invalid("widgetModelId", "is no name of a model")
	}
	return nil
}

func checkContext(text **string) error {
	blankIsNil(text)
	if *text == nil {
		return nil
	}
	return check.Length("widgetContext", **text, maxContext)
}

func checkRate(perMinute **int) error {
	if *perMinute != nil && (**perMinute < 0 || **perMinute > maxRate) {
		return apierr.Invalid("rateLimitPerMinute", fmt.Sprintf("must be 0 (no limit) to %d", maxRate))
	}
	return nil
}

func (k *Keys) checkExpiry(at **time.Time) error {
	if *at == nil {
		return nil
	}
	if !(*at).After(k.now()) {
		return apierr.Invalid("expiresAt", "must be in the future")
	}
	if (*at).Year() > 9999 {
		return apierr.Invalid("expiresAt", "is too far away")
	}
	exact := (*at).Truncate(time.Microsecond) // as exact as the database keeps it
	*at = &exact
	return nil
}

// blankIsNil takes nothing but blanks for nothing at all.
func blankIsNil(text **string) {
	if *text != nil && strings.TrimSpace(**text) == "" {
		*text = nil
	}
}

func trimmed(in []string) []string {
	out := make([]string, 0, len(in))
	for _, s := range in {
		if s = strings.TrimSpace(s); s != "" && !slices.Contains(out, s) {
			out = append(out, s)
		}
		if len(out) > maxPlaces {
			break // too many is all there is to say
		}
	}
	return out
}
