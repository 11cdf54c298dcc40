package authn

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/internal/apierr"
)

// The bounds of a key's settings.
const (
	maxName        = 200  // characters
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

// Change is a new value for one setting; the zero value leaves it as it is.
type Change[T any] struct {
	Given bool
	To    T
}

// KeyChange is what is to be different about a pair of keys. Nil clears a
// setting that need not be there.
type KeyChange struct {
	Name                   Change[string]
	AllCollections         Change[bool]
	Collections            Change[[]uuid.UUID]
	Default                Change[*uuid.UUID]
	Hosts, Referers        Change[[]string]
	ChatModel, ChatContext Change[*string]
	RequireSignature       Change[bool]
	RatePerMinute          Change[*int]
	ExpiresAt              Change[*time.Time]
}

// all is the change that makes a pair from nothing.
func (in NewKey) all() KeyChange {
	return KeyChange{
		Name: given(in.Name), AllCollections: given(in.AllCollections), Collections: given(in.Collections), Default: given(in.Default),
		Hosts: given(in.Hosts), Referers: given(in.Referers), ChatModel: given(in.ChatModel), ChatContext: given(in.ChatContext),
		RequireSignature: given(in.RequireSignature), RatePerMinute: given(in.RatePerMinute), ExpiresAt: given(in.ExpiresAt),
	}
}

func given[T any](v T) Change[T] { return Change[T]{Given: true, To: v} }

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
func apply[T any](to *T, c Change[T], check func(*T) error) error {
	if !c.Given {
		return nil
	}
	if check != nil {
		if err := check(&c.To); err != nil {
			return err
		}
	}
	*to = c.To
	return nil
}

func checkName(name *string) error {
	*name = strings.TrimSpace(*name)
	switch {
	case *name == "":
		return apierr.Invalid("name", "must not be blank")
	case utf8.RuneCountInString(*name) > maxName:
		return apierr.Invalid("name", fmt.Sprintf("must have at most %d characters", maxName))
	case !printable(*name):
		return apierr.Invalid("name", "must not have control characters")
	}
	return nil
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
	case utf8.RuneCountInString(**name) > maxName || !printable(**name):
		return apierr.Invalid("widgetModelId", "is no name of a model")
	}
	return nil
}

func checkContext(text **string) error {
	switch blankIsNil(text); {
	case *text == nil:
	case utf8.RuneCountInString(**text) > maxContext:
		return apierr.Invalid("widgetContext", fmt.Sprintf("must have at most %d characters", maxContext))
	case !utf8.ValidString(**text) || strings.ContainsRune(**text, 0):
		return apierr.Invalid("widgetContext", "must be text without NUL characters")
	}
	return nil
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

func printable(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, unicode.IsControl)
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
