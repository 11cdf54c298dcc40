package hubspot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/restapi"
)

// A family is a part of the API that has versions of its own.
type family string

// The families.
const (
	familyObjects      family = "objects"
	familyProperties   family = "properties"
	familyAssociations family = "associations"
	familySchemas      family = "schemas"
	familyOwners       family = "owners"
	familyAccount      family = "account"
)

// path returns the path of a family in the version with a date or the legacy one.
func (f family) path(legacy bool, parts ...string) string {
	prefix := map[family][2]string{
		familyObjects:      {"crm/objects/" + Version, "crm/v3/objects"},
		familyProperties:   {"crm/properties/" + Version, "crm/v3/properties"},
		familyAssociations: {"crm/associations/" + Version, "crm/v4/associations"},
		familySchemas:      {"crm-object-schemas/" + Version + "/schemas", "crm-object-schemas/v3/schemas"},
		familyOwners:       {"crm/owners/" + Version, "crm/v3/owners"},
		familyAccount:      {"account-info/" + Version + "/details", "account-info/v3/details"},
	}[f]
	path := prefix[0]
	if legacy {
		path = prefix[1]
	}
	for _, part := range parts {
		path += "/" + url.PathEscape(part)
	}
	return path
}

// A client sends requests to HubSpot.
type client struct {
	*restapi.Client
	legacyFirst bool
	clock       atomic.Int64 // HubSpot's time in the last response, in Unix seconds
	pause       atomic.Int64 // what the last response asks for, in nanoseconds

	mutex sync.Mutex
	known map[family]bool // whether the legacy version is used, once that is known
}

func newClient(dial connectors.Dial, s connectors.Settings) (*client, error) {
	base := strings.TrimRight(s.String(optionAPI), "/")
	if base == "" {
		base = defaultAPI
	}
	c := &client{known: map[family]bool{}, legacyFirst: s.String(optionVersion) == LegacyVersion}
	var err error
	c.Client, err = restapi.New(base, dial, restapi.Options{
		Platform: "HubSpot", Wait: s.Wait, Authorize: restapi.Bearer(s, s.Credentials[credentialToken]), ErrorMessage: errorMessage, RateLimited: rateLimited,
		Advice: "config." + optionAPI, GoneEndsAPI: true,
	})
	return c, err
}

// A failure is the body of an unsuccessful response.
type failure struct {
	Message, Category, PolicyName string
	Context                       map[string]json.RawMessage
	Errors                        []struct{ Context map[string]json.RawMessage }
}

func parseFailure(body []byte) failure {
	var f failure
	if json.Unmarshal(body, &f) != nil {
		return failure{}
	}
	return f
}

// scopes returns the scopes one of which is missing.
func (f failure) scopes() []string {
	contexts := []map[string]json.RawMessage{f.Context}
	for _, detail := range f.Errors {
		contexts = append(contexts, detail.Context)
	}
	for _, name := range []string{"requiredGranularScopes", "missingScopes", "requiredScopes"} {
		for _, values := range contexts {
			var scopes []string
			if json.Unmarshal(values[name], &scopes) == nil && len(scopes) > 0 {
				return scopes
			}
		}
	}
	return nil
}

func errorMessage(body []byte) string {
	f := parseFailure(body)
	if scopes := f.scopes(); len(scopes) > 0 {
		return f.Message + " (" + strings.Join(scopes[:min(len(scopes), 5)], ", ") + ")"
	}
	return f.Message
}

// rateLimited detects the limits of HubSpot: those of a second, of ten seconds and of a
// day, a locked record, and an account that moves to another place.
func rateLimited(r *http.Response) (time.Duration, bool) {
	const locked, moving, migration = http.StatusLocked, 477, 2 * time.Second
	switch {
	case r.StatusCode == locked || r.StatusCode == moving:
		return migration, true
	case r.StatusCode != http.StatusTooManyRequests || restapi.RetryAfter(r.Header) > 0:
		return 0, false
	}
	var f failure
	_ = json.NewDecoder(r.Body).Decode(&f) // a body of another shape names no policy
	switch policy := strings.ToUpper(f.PolicyName); {
	case strings.Contains(policy, "DAILY"):
		return time.Hour, true
	case strings.HasPrefix(policy, "SECONDLY"):
		return time.Second, true
	}
	return 10 * time.Second, true
}

// call makes a request in the version of a family that the account has: if the first
// request finds nothing, it is made in the other version.
func (c *client) call(ctx context.Context, f family, parts []string, r restapi.Request, out any) error {
	c.mutex.Lock()
	legacy, known := c.known[f]
	c.mutex.Unlock()
	if !known {
		legacy = c.legacyFirst
	}
	r.Path = f.path(legacy, parts...)
	err := c.request(ctx, r, out)
	if !known && !c.legacyFirst && errors.Is(err, connectors.ErrNotFound) {
		r.Path = f.path(true, parts...)
		if second := c.request(ctx, r, out); second == nil || !errors.Is(second, connectors.ErrNotFound) {
			legacy, err = true, second
		}
	}
	if err == nil {
		c.mutex.Lock()
		c.known[f] = legacy
		c.mutex.Unlock()
	}
	return err
}

func (c *client) request(ctx context.Context, r restapi.Request, out any) error {
	header, err := c.JSON(ctx, r, out)
	if now, parseErr := http.ParseTime(header.Get("Date")); parseErr == nil {
		c.clock.Store(now.Unix())
	}
	c.notePace(header)
	return err
}

// notePace keeps the pause that the rest of the present interval asks for.
func (c *client) notePace(header http.Header) {
	number := func(name string) (int64, bool) {
		n, err := strconv.ParseInt(header.Get("X-HubSpot-RateLimit-"+name), 10, 64)
		return n, err == nil && n >= 0
	}
	remaining, known := number("Remaining")
	most, hasMost := number("Max")
	interval, hasInterval := number("Interval-Milliseconds")
	pause := time.Duration(0)
	if known && hasMost && hasInterval && remaining*10 < most {
		pause = min(time.Duration(interval)*time.Millisecond, time.Minute)
	}
	c.pause.Store(int64(pause))
}

// now returns HubSpot's time as of the last response.
func (c *client) now() time.Time {
	if seconds := c.clock.Load(); seconds != 0 {
		return time.Unix(seconds, 0).UTC()
	}
	return time.Now().UTC()
}

func errInvalid(what string) error {
	return connectors.Retryable(fmt.Errorf("HubSpot answered with %s that cannot be; check config.%s, and whether a proxy or a login stands between", what, optionAPI), 0)
}

// isRefused reports whether the token lacks a right.
func isRefused(err error) bool { return restapi.StatusOf(err) == http.StatusForbidden }

// scopeError names the scope that the token lacks.
func scopeError(err error, what, usual string) error {
	if !isRefused(err) {
		return err
	}
	scope := usual
	if refusal, ok := errors.AsType[*restapi.StatusError](err); ok {
		if scopes := parseFailure(refusal.Body).scopes(); len(scopes) > 0 && !slices.Contains(scopes, usual) {
			scope = scopes[0]
		}
	}
	return connectors.NeedsAuth(&missingScope{what: what, scope: scope, cause: err})
}

// A missingScope says which scope the token lacks.
type missingScope struct {
	what, scope string
	cause       error
}

func (e *missingScope) Error() string {
	return fmt.Sprintf("the token lacks the scope %s, so that %s cannot be read; add the scope to the app, or leave them out of config.%s", e.scope, e.what, optionObjects)
}
func (e *missingScope) Unwrap() error { return e.cause }

const recordsPerPage = 100

// listRecords returns a page of the records of an object, at most limit, in the order
// of ids, and the position of the next page, "" at the end.
func (c *client) listRecords(ctx context.Context, o *object, after string, limit int, archived, withAssociations bool) ([]record, string, error) {
	query := url.Values{"limit": {strconv.Itoa(limit)}, "archived": {strconv.FormatBool(archived)}}
	if after != "" {
		query.Set("after", after)
	}
	if archived {
		query.Set("properties", propertyID)
	} else {
		query.Set("properties", strings.Join(o.properties(), ","))
	}
	if withAssociations && len(o.associated) > 0 {
		query.Set("associations", strings.Join(o.associated, ","))
	}
	var page recordPage
	if err := c.call(ctx, familyObjects, []string{o.name}, restapi.Request{Query: query}, &page); err != nil {
		return nil, "", err
	}
	for i := range page.Results {
		if !page.Results[i].isValid() || page.Results[i].Archived != archived {
			return nil, "", errInvalid("a record")
		}
	}
	next := page.Paging.Next.After
	if next != "" && (next == after || len(next) > maxAfter) {
		return nil, "", restapi.LoopError("HubSpot", "the records", next)
	}
	return page.Results, next, nil
}

const maxAfter = 200

// record returns the record with an id.
func (c *client) record(ctx context.Context, o *object, id string, withAssociations bool) (*record, error) {
	query := url.Values{"properties": {strings.Join(o.properties(), ",")}, "archived": {"false"}}
	if withAssociations && len(o.associated) > 0 {
		query.Set("associations", strings.Join(o.associated, ","))
	}
	var found record
	if err := c.call(ctx, familyObjects, []string{o.name, id}, restapi.Request{Query: query}, &found); err != nil {
		return nil, err
	}
	switch {
	case !found.isValid():
		return nil, errInvalid("a record")
	case found.Archived || string(found.ID) != id: // another one took it up
		return nil, fmt.Errorf("the record is archived or merged: %w", connectors.ErrNotFound)
	}
	return &found, nil
}

// A filter is a condition of a search.
type filter struct {
	Property string `json:"propertyName"`
	Operator string `json:"operator"`
	Value    string `json:"value"`
}

const searchedPerPage = 200

// search returns records that meet all filters, at most limit, in an order, and the
// number of all that do.
func (c *client) search(ctx context.Context, o *object, filters []filter, order, direction string, limit int, properties []string) ([]record, int, error) {
	body := map[string]any{"limit": limit, "properties": properties}
	if len(filters) > 0 {
		body["filterGroups"] = []any{map[string]any{"filters": filters}}
	}
	if order != "" {
		body["sorts"] = []any{map[string]any{"propertyName": order, "direction": direction}}
	}
	var page recordPage
	r := restapi.Request{Method: http.MethodPost, Body: body, RequiredFields: []string{"total"}}
	if err := c.call(ctx, familyObjects, []string{o.name, "search"}, r, &page); err != nil {
		return nil, 0, err
	}
	for i := range page.Results {
		if !page.Results[i].isValid() {
			return nil, 0, errInvalid("a record")
		}
	}
	return page.Results, *page.Total, nil
}
