package servicenow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/restapi"
)

const (
	rowsPerPage = 500
	// maxBytes is the largest answer: each value comes twice.
	maxBytes = 64 << 20
)

// A client sends requests to an instance.
type client struct {
	*restapi.Client
	clock atomic.Int64 // the instance's time in the last response, in Unix seconds
}

func newClient(dial connectors.Dial, s connectors.Settings) (*client, error) {
	authorize := restapi.Bearer(s, "")
	if s.Token == nil {
		authorize = func(r *http.Request, refused bool) (bool, error) {
			if key := s.Credentials[credentialKey]; key != "" {
				r.Header.Set("x-sn-apikey", key)
			} else {
				r.SetBasicAuth(s.Credentials[credentialUser], s.Credentials[credentialWord])
			}
			return !refused, nil
		}
	}
	inner, err := restapi.New(s.String(optionURL), dial, restapi.Options{
		Platform: "ServiceNow", Wait: s.Wait, Authorize: authorize, ErrorMessage: errorMessage, RateLimited: rateLimited, Advice: "config." + optionURL,
		MaxBytes: maxBytes, SameHost: true,
	})
	return &client{Client: inner}, err
}

func errorMessage(body []byte) string {
	var failure struct {
		Error struct{ Message, Detail string }
	}
	if json.Unmarshal(body, &failure) != nil {
		return ""
	}
	return strings.TrimSuffix(failure.Error.Message+": "+failure.Error.Detail, ": ")
}

// rateLimited takes the time of the reset from the header.
func rateLimited(r *http.Response) (time.Duration, bool) {
	if r.StatusCode != http.StatusTooManyRequests || restapi.RetryAfter(r.Header) > 0 {
		return 0, false
	}
	reset, err := strconv.ParseInt(r.Header.Get("X-RateLimit-Reset"), 10, 64)
	if err != nil {
		return 0, false
	}
	wait, _ := restapi.Until(r.Header, time.Unix(reset, 0))
	return max(wait, time.Second), true
}

// request makes a request and decodes the answer.
func (c *client) request(ctx context.Context, r restapi.Request, out any) (http.Header, error) {
	header, err := c.JSON(ctx, r, out)
	if now, parseErr := http.ParseTime(header.Get("Date")); parseErr == nil {
		c.clock.Store(now.Unix())
	}
	return header, asleep(err)
}

// asleep says what a page in place of an answer means.
func asleep(err error) error {
	if page, ok := errors.AsType[*restapi.UnexpectedResponseError](err); ok && page.IsHTML && !page.IsLogin {
		return connectors.Retryable(fmt.Errorf("the instance is asleep, or a proxy stands in between: wake a developer instance at developer.servicenow.com: %w", err), 0)
	}
	return err
}

// download returns a content.
func (c *client) download(ctx context.Context, path string, want restapi.Expected) (io.ReadCloser, error) {
	content, err := c.Download(ctx, restapi.Request{Path: path}, want)
	if err != nil {
		return nil, asleep(err)
	}
	return content, nil
}

// now returns the instance's time as of the last response.
func (c *client) now() time.Time {
	if seconds := c.clock.Load(); seconds != 0 {
		return time.Unix(seconds, 0).UTC()
	}
	return time.Now().UTC()
}

func errInvalid(what string) error {
	return connectors.Retryable(fmt.Errorf("ServiceNow answered with %s that cannot be; check config.%s, and whether a proxy or a login stands between", what, optionURL), 0)
}

// isRefused reports whether the user lacks a right.
func isRefused(err error) bool { return restapi.StatusOf(err) == http.StatusForbidden }

// isAbsent reports whether the instance does not have a table or row.
func isAbsent(err error) bool {
	return errors.Is(err, connectors.ErrNotFound) || restapi.StatusOf(err) == http.StatusBadRequest
}

// A place is a place in a list: behind a row, and behind rows that were not shown.
type place struct {
	Last string `json:"i,omitempty"`
	Skip int    `json:"k,omitempty"`
	// Blind says that the last page had no row, and that the instance did not count them.
	Blind bool `json:"e,omitempty"`
}

func (p place) isValid() bool { return (p.Last == "" || isID(p.Last)) && p.Skip >= 0 }

// errCancelled says that the instance took too long and broke off.
var errCancelled = errors.New("the instance broke off a query that took too long")

// A rowPage is a part of a list.
type rowPage struct {
	rows []row
	next place
	done bool
	// unsure says that the list ended with pages without rows, which the instance did not
	// count: it may have rows that follow others that the user may not read.
	unsure bool
	// total is the number of rows from the place on, with those that are not shown, -1 if
	// the instance did not tell it.
	total int
}

// list returns rows of a list that is in the order of sys_id, and the next place. The
// instance applies its access rules after the limit: a short page is not the end, and
// an empty one only if no rows are left.
func (c *client) list(ctx context.Context, path, query string, fields []string, at place, limit int) (rowPage, error) {
	for ; ; limit /= 5 {
		page, err := c.page(ctx, path, query, fields, at, limit)
		if limit < 20 || !errors.Is(err, errCancelled) && !errors.Is(err, restapi.ErrTooLarge) {
			return page, err
		}
	}
}

func (c *client) page(ctx context.Context, path, query string, fields []string, at place, limit int) (rowPage, error) {
	if at.Last != "" {
		query = join(query, "sys_id>"+at.Last)
	}
	parameters := url.Values{"sysparm_query": {join(query, "ORDERBYsys_id")}, "sysparm_limit": {strconv.Itoa(limit)}}
	if at.Skip > 0 {
		parameters.Set("sysparm_offset", strconv.Itoa(at.Skip))
	}
	if len(fields) > 0 {
		parameters.Set("sysparm_fields", strings.Join(fields, ","))
		parameters.Set("sysparm_display_value", "all")
		parameters.Set("sysparm_exclude_reference_link", "true")
	}
	var answer struct {
		Result []row
		Error  json.RawMessage
	}
	header, err := c.request(ctx, restapi.Request{Path: path, Query: parameters, RequiredFields: []string{"result"}}, &answer)
	if err != nil {
		return rowPage{}, err
	}
	if len(answer.Error) > 0 && string(answer.Error) != "null" {
		return rowPage{}, connectors.Retryable(errCancelled, 0)
	}
	page := rowPage{rows: answer.Result, next: at, total: -1}
	for _, r := range answer.Result {
		if !r.isValid() {
			return rowPage{}, errInvalid("a row")
		}
		if r.id() <= page.next.Last {
			return rowPage{}, restapi.LoopError("ServiceNow", "the rows", r.id())
		}
		page.next = place{Last: r.id()}
	}
	if total, err := strconv.Atoi(header.Get("X-Total-Count")); err == nil && total >= 0 {
		page.total = total
	}
	page.end(at, limit)
	return page, nil
}

// behind returns the place behind a row of the page, and whether the list ends there.
func (p *rowPage) behind(last string) (next place, end bool) {
	if n := len(p.rows); n > 0 {
		return place{Last: last}, p.done && p.rows[n-1].id() == last
	}
	return p.next, p.done
}

// end judges whether a page from a place on is the last one.
func (p *rowPage) end(at place, limit int) {
	if len(p.rows) > 0 {
		// Whether hidden rows are counted or not: if all that are counted were shown, none is
		// left.
		p.done = at.Skip == 0 && p.total == len(p.rows)
		return
	}
	p.next.Skip += limit
	switch {
	case p.total >= 0:
		p.done = p.total <= p.next.Skip
	case at.Blind:
		p.done, p.unsure = true, true
	default: // the next rows may be shown
		p.next.Blind = true
	}
}

// all returns all rows of a table that match a query.
func (c *client) all(ctx context.Context, name, query string, fields []string, yield func(r row) error) error {
	for at, done := (place{}), false; !done; {
		page, err := c.list(ctx, tablePath(name), query, append([]string{"sys_id", "sys_updated_on"}, fields...), at, rowsPerPage)
		if err != nil {
			return err
		}
		for _, r := range page.rows {
			if err := yield(r); err != nil {
				return err
			}
		}
		at, done = page.next, page.done
	}
	return nil
}

// The versions of the APIs that requests name.
const (
	apiVersion = "v2 (Table), v1 (Attachment)"
	tablesPath = "api/now/v2/table/"
	filePath   = "api/now/v1/attachment"
)

func tablePath(name string) string { return tablesPath + url.PathEscape(name) }
