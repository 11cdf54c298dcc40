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
	// Limits of a key's settings.
	maxContext     = 8000 // characters
	maxEntries     = 100  // hosts, referers
	maxEntryBytes  = 2000 // bytes of one
	maxCollections = 1000
	maxRate        = 1_000_000
)

// KeyDraft describes a pair of keys to create.
type KeyDraft struct {
	Name                   string
	AllCollections         bool
	Collections            []uuid.UUID
	Default                *uuid.UUID
	Hosts, Referers        []string
	ChatModel, ChatContext *string
	RequireSignature       bool
	DatabaseTools          bool // of the secret key, at /mcp
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
	DatabaseTools          patch.Field[bool]
	RatePerMinute          patch.Field[*int]
	ExpiresAt              patch.Field[*time.Time]
}

// asChange returns the change that sets all fields.
func (in KeyDraft) asChange() KeyChange {
	return KeyChange{
		Name: patch.Set(in.Name), AllCollections: patch.Set(in.AllCollections), Collections: patch.Set(in.Collections), Default: patch.Set(in.Default),
		Hosts: patch.Set(in.Hosts), Referers: patch.Set(in.Referers), ChatModel: patch.Set(in.ChatModel), ChatContext: patch.Set(in.ChatContext),
		RequireSignature: patch.Set(in.RequireSignature), DatabaseTools: patch.Set(in.DatabaseTools), RatePerMinute: patch.Set(in.RatePerMinute), ExpiresAt: patch.Set(in.ExpiresAt),
	}
}

func settingsOf(row *ent.APIKey) KeyDraft {
	return KeyDraft{
		Name: row.Name, AllCollections: row.AllowAllCollections, Collections: row.AllowedCollections, Default: row.DefaultCollection,
		Hosts: row.AllowedHosts, Referers: row.AllowedReferers, ChatModel: row.WidgetModelID, ChatContext: row.WidgetContext,
		RequireSignature: row.RequireSignature, DatabaseTools: row.DatabaseTools, RatePerMinute: row.RateLimitPerMinute, ExpiresAt: row.ExpiresAt,
	}
}

// merge returns the settings after a change. It checks and normalizes the given
// fields. It does not check the others, since time and configuration may have
// invalidated them, but it checks how the fields fit together.
func (k *Keys) merge(old KeyDraft, c KeyChange) (KeyDraft, error) {
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
		func() error { return apply(&in.DatabaseTools, c.DatabaseTools, nil) },
		func() error { return apply(&in.RatePerMinute, c.RatePerMinute, checkRate) },
		func() error { return apply(&in.ExpiresAt, c.ExpiresAt, k.checkExpiry) },
	} {
		if err := set(); err != nil {
			return KeyDraft{}, err
		}
	}
	switch {
	case !in.AllCollections && len(in.Collections) == 0:
		return KeyDraft{}, apierr.Invalid("allowedCollections", "must name at least one collection, or set allowAllCollections")
	case !in.AllCollections && in.Default != nil && !slices.Contains(in.Collections, *in.Default):
		return KeyDraft{}, apierr.Invalid("defaultCollection", "must be one of allowedCollections")
	}
	return in, nil
}

// apply checks and normalizes a given value and sets it.
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
	*hosts = normalizeList(*hosts)
	if len(*hosts) == 0 {
		return apierr.Invalid("allowedHosts", `must name at least one host from which the publishable key works; "*" is any`)
	}
	return checkEntries("allowedHosts", *hosts, func(h string) error { _, err := parseHostRule(h); return err })
}

func checkReferers(referers *[]string) error {
	*referers = normalizeList(*referers)
	return checkEntries("allowedReferers", *referers, func(r string) error { _, err := parseRefererRule(r); return err })
}

func checkEntries(field string, entries []string, check func(string) error) error {
	if len(entries) > maxEntries {
		return apierr.Invalid(field, fmt.Sprintf("must have at most %d entries", maxEntries))
	}
	for _, p := range entries {
		if len(p) > maxEntryBytes {
			return apierr.Invalid(field, fmt.Sprintf("has an entry of more than %d bytes", maxEntryBytes))
		}
		if err := check(p); err != nil {
			return apierr.Invalid(field, fmt.Sprintf("has an entry %q that %s", p, err))
		}
	}
	return nil
}

// checkChatModel checks that the model is configured.
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
	exact := (*at).Truncate(time.Microsecond) // the precision of the database
	*at = &exact
	return nil
}

// blankIsNil sets blank text to nil.
func blankIsNil(text **string) {
	if *text != nil && strings.TrimSpace(**text) == "" {
		*text = nil
	}
}

func normalizeList(in []string) []string {
	out := make([]string, 0, len(in))
	for _, s := range in {
		if s = strings.TrimSpace(s); s != "" && !slices.Contains(out, s) {
			out = append(out, s)
		}
		if len(out) > maxEntries {
			break // checkEntries reports too many entries
		}
	}
	return out
}
