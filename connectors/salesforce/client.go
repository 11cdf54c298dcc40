package salesforce

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/restapi"
)

const (
	// rowsPerQuery is the number of rows of one answer: Salesforce's largest.
	rowsPerQuery = 2000
	// idsPerQuery is the number of ids in a condition, so that the address of the request
	// stays short enough.
	idsPerQuery = 300
	// maxAddress is the length of the longest query in an address; Salesforce refuses
	// longer addresses with 414 or 431.
	maxAddress = 12_000
	// requestsPerBatch is the number of requests that one batch can have.
	requestsPerBatch = 25
	maxTables        = 5000 // pages of a list
	// budgetPause is how long a sync waits when the allowance is used: Salesforce counts
	// the requests of the last 24 hours.
	budgetPause = time.Hour
)

// An api makes requests to one organization.
type api struct {
	settings connectors.Settings
	dial     connectors.Dial
	sessions sessionSource
	path     string // of the API, such as services/data/v62.0
	share    int    // percent of the allowance

	mutex      sync.Mutex
	client     *restapi.Client // nil before the first request
	base       string
	current    string // the token that was used last
	used, most int    // requests of the last 24 hours, and how many are allowed
	date       time.Time
}

func newAPI(dial connectors.Dial, s connectors.Settings) (*api, error) {
	version := s.String(optionVersion)
	if version == "" {
		version = apiVersion
	}
	share := int(s.Integer(optionQuota))
	if share <= 0 {
		share = defaultQuota
	}
	a := &api{settings: s, dial: dial, path: "services/data/v" + version, share: share}
	if s.Token != nil {
		a.sessions = grantSessions(s)
		return a, nil
	}
	tokens, err := newTokenSource(dial, s)
	if err != nil {
		return nil, err
	}
	a.sessions = tokens.get
	return a, nil
}

func (a *api) close() {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if a.client != nil {
		a.client.Close()
	}
}

// connect returns the client of the organization.
func (a *api) connect(ctx context.Context) (*restapi.Client, error) {
	a.mutex.Lock()
	client := a.client
	a.mutex.Unlock()
	if client != nil {
		return client, nil
	}
	at, err := a.sessions(ctx, "")
	if err != nil {
		return nil, err
	}
	made, err := restapi.New(at.base, a.dial, restapi.Options{
		Platform: platform, Wait: a.settings.Wait, Authorize: a.authorize, ErrorMessage: errorMessage, RateLimited: isLimited, GoneEndsAPI: true,
		SameHost: true, Advice: "config." + optionURL,
	})
	if err != nil {
		return nil, err
	}
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if a.client == nil {
		a.client, a.base = made, at.base
	}
	return a.client, nil
}

func (a *api) authorize(r *http.Request, refused bool) (bool, error) {
	rejected := ""
	if refused {
		a.mutex.Lock()
		rejected = a.current
		a.mutex.Unlock()
	}
	at, err := a.sessions(r.Context(), rejected)
	if err != nil {
		return false, err
	}
	a.mutex.Lock()
	a.current = at.token
	a.mutex.Unlock()
	r.Header.Set("Authorization", "Bearer "+at.token)
	return at.token != rejected, nil
}

// address returns the address of the organization, after the first request.
func (a *api) address() string {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	return a.base
}

// now returns the time of the last answer by Salesforce's clock, zero if it did not
// say.
func (a *api) now() time.Time {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	return a.date
}

type problem struct {
	Message   string `json:"message"`
	ErrorCode string `json:"errorCode"`
}

func problems(body []byte) []problem {
	var list []problem
	if json.Unmarshal(body, &list) != nil {
		return nil
	}
	return list
}

func errorMessage(body []byte) string {
	var texts []string
	for _, p := range problems(body) {
		texts = append(texts, strings.TrimSpace(p.ErrorCode+" "+p.Message))
	}
	return strings.Join(texts, "; ")
}

// codeOf returns Salesforce's code for an error, such as INVALID_TYPE.
func codeOf(err error) string {
	failure, ok := errors.AsType[*restapi.StatusError](err)
	if !ok {
		return ""
	}
	for _, p := range problems(failure.Body) {
		return p.ErrorCode
	}
	return ""
}

// isLimited reports whether Salesforce refuses a request because there were too many,
// or because others are in the way.
func isLimited(response *http.Response) (time.Duration, bool) {
	var list []problem
	if json.NewDecoder(response.Body).Decode(&list) != nil {
		return 0, false
	}
	for _, p := range list {
		switch p.ErrorCode {
		case "REQUEST_LIMIT_EXCEEDED":
			if strings.Contains(p.Message, "ConcurrentPerOrgLongTxn") || strings.Contains(p.Message, "ConcurrentRequests") {
				return time.Minute, true
			}
			return budgetPause, true
		case "QUERY_TIMEOUT", "UNABLE_TO_LOCK_ROW", "SERVER_UNAVAILABLE":
			return time.Minute, true
		}
	}
	return 0, false
}

// An exhaustedError says that the share of the allowance is used.
type exhaustedError struct{ used, most, share int }

func (e *exhaustedError) Error() string {
	return fmt.Sprintf("%s counts %d of %d API requests in the last 24 hours, which is the share of %d %% that config.%s lets syncs use; the sync goes on when the count falls",
		platform, e.used, e.most, e.share, optionQuota)
}

// checkBudget returns an error if the share of the allowance was used at the last
// answer.
func (a *api) checkBudget() error {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if a.most > 0 && a.used*100 >= a.most*a.share {
		return connectors.Retryable(&exhaustedError{a.used, a.most, a.share}, budgetPause)
	}
	return nil
}

// note remembers what the header of an answer says.
func (a *api) note(header http.Header) {
	match := regexp.MustCompile(`(?:^|[;,\s])api-usage=(\d{1,9})/(\d{1,9})`).FindStringSubmatch(header.Get("Sforce-Limit-Info"))
	date, dateErr := http.ParseTime(header.Get("Date"))
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if match != nil {
		a.used, _ = strconv.Atoi(match[1])
		a.most, _ = strconv.Atoi(match[2])
	}
	if dateErr == nil {
		a.date = date.UTC()
	}
}

// request makes a request, if the allowance lets it, and decodes the answer into out.
func (a *api) request(ctx context.Context, r restapi.Request, out any) error {
	if err := a.checkBudget(); err != nil {
		return err
	}
	return a.send(ctx, r, out)
}

// send is request without the check of the allowance.
func (a *api) send(ctx context.Context, r restapi.Request, out any) error {
	client, err := a.connect(ctx)
	if err != nil {
		return err
	}
	header, err := client.JSON(ctx, r, out)
	if header != nil {
		a.note(header)
	}
	return err
}

// errInvalid returns the retryable error of an answer without something.
func errInvalid(what string) error {
	return connectors.Retryable(fmt.Errorf("%s sent %s that is not complete", platform, what), 0)
}

// A call is one request of a batch: a path below the API with its query.
type call struct {
	path  string
	query url.Values
}

func queryCall(soql string, deleted bool) call {
	path := "query"
	if deleted {
		path = "queryAll"
	}
	return call{path: path, query: url.Values{"q": {soql}}}
}

// get makes a request and returns the body of the answer.
func (a *api) get(ctx context.Context, c call) (json.RawMessage, error) {
	if len(c.query.Encode()) > maxAddress {
		answers, err := a.sendBatch(ctx, []call{c})
		if err != nil {
			return nil, err
		}
		if !answers[0].isGood() {
			return nil, connectors.Fatal(fmt.Errorf("%s refuses a long query: %s", platform, errorMessage(answers[0].Result)))
		}
		return answers[0].Result, nil
	}
	var body json.RawMessage
	err := a.request(ctx, restapi.Request{Path: a.path + "/" + c.path, Query: c.query}, &body)
	return body, err
}

type batchAnswer struct {
	StatusCode int             `json:"statusCode"`
	Result     json.RawMessage `json:"result"`
}

func (b batchAnswer) isGood() bool { return b.StatusCode/100 == 2 }

// batch makes requests and returns the bodies of their answers. What fails within a
// batch is requested again by itself, for its error. An error that skip accepts makes a
// nil body.
func (a *api) batch(ctx context.Context, calls []call, skip func(n int, err error) bool) ([]json.RawMessage, error) {
	bodies := make([]json.RawMessage, 0, len(calls))
	for start := 0; start < len(calls); start += requestsPerBatch {
		part := calls[start:min(start+requestsPerBatch, len(calls))]
		answers, err := a.sendBatch(ctx, part)
		if err != nil {
			return nil, err
		}
		for i, answer := range answers {
			if answer.isGood() {
				bodies = append(bodies, answer.Result)
				continue
			}
			body, err := a.get(ctx, part[i])
			if err != nil && (skip == nil || !skip(start+i, err)) {
				return nil, err
			}
			bodies = append(bodies, body)
		}
	}
	return bodies, nil
}

func (a *api) sendBatch(ctx context.Context, calls []call) ([]batchAnswer, error) {
	type entry struct {
		Method string `json:"method"`
		URL    string `json:"url"`
	}
	var body struct {
		BatchRequests []entry `json:"batchRequests"`
	}
	version := strings.TrimPrefix(a.path, "services/data/")
	for _, c := range calls {
		address := version + "/" + c.path
		if len(c.query) > 0 {
			address += "?" + c.query.Encode()
		}
		body.BatchRequests = append(body.BatchRequests, entry{http.MethodGet, address})
	}
	var answer struct {
		Results []batchAnswer `json:"results"`
	}
	if err := a.request(ctx, restapi.Request{Method: http.MethodPost, Path: a.path + "/composite/batch", Body: body, RequiredFields: []string{"results"}}, &answer); err != nil {
		return nil, err
	}
	if len(answer.Results) != len(calls) {
		return nil, errInvalid("a batch of answers")
	}
	for _, result := range answer.Results {
		if result.StatusCode == 0 || len(result.Result) == 0 {
			return nil, errInvalid("an answer of a batch")
		}
	}
	return answer.Results, nil
}

// A page is one answer to a query.
type page struct {
	rows []row
	more bool
}

// parsePage decodes an answer to a query for the rows after an id.
func parsePage(body []byte, q selection, after string, limit int) (page, error) {
	var answer struct {
		TotalSize *int  `json:"totalSize"`
		Done      *bool `json:"done"`
		Records   []row `json:"records"`
	}
	if json.Unmarshal(body, &answer) != nil || answer.TotalSize == nil || answer.Done == nil || answer.Records == nil {
		return page{}, errInvalid("an answer to a query for " + q.object)
	}
	if *answer.Done && len(answer.Records) != *answer.TotalSize {
		return page{}, errInvalid(fmt.Sprintf("%d of %d rows of %s", len(answer.Records), *answer.TotalSize, q.object))
	}
	for _, r := range answer.Records {
		id := r.text(q.keyField())
		switch {
		case !isID(id):
			return page{}, errInvalid("a row of " + q.object)
		case after != "" && compareIDs(id, after) <= 0:
			return page{}, restapi.LoopError(platform, "the rows of "+q.object, id)
		}
		after = id
	}
	return page{rows: answer.Records, more: !*answer.Done || len(answer.Records) >= limit}, nil
}

// readPage returns the rows of a query that follow an id.
func (a *api) readPage(ctx context.Context, q selection, after string, limit int) (page, error) {
	body, err := a.get(ctx, queryCall(q.text(after, limit), q.deleted))
	if err != nil {
		return page{}, err
	}
	return parsePage(body, q, after, limit)
}

// each calls visit with all rows of a query.
func (a *api) each(ctx context.Context, q selection, visit func(r row) error) error {
	return a.eachAfter(ctx, q, "", visit)
}

func (a *api) eachAfter(ctx context.Context, q selection, after string, visit func(r row) error) error {
	for range maxTables {
		found, err := a.readPage(ctx, q, after, rowsPerQuery)
		if err != nil {
			return err
		}
		for _, r := range found.rows {
			if err := visit(r); err != nil {
				return err
			}
		}
		if !found.more {
			return nil
		}
		if len(found.rows) == 0 {
			return errInvalid("an empty part of the rows of " + q.object)
		}
		after = found.rows[len(found.rows)-1].text(q.keyField())
	}
	return connectors.Retryable(fmt.Errorf("the list of %s in %s does not come to an end", q.object, platform), 0)
}

// A table is a query, and what its rows are for. absent is called if the organization
// does not have the object; without it, that is an error.
type table struct {
	query  selection
	visit  func(r row) error
	absent func()
}

// tables reads several tables. The first pages of them are one batch.
func (a *api) tables(ctx context.Context, list []table) error {
	calls := make([]call, len(list))
	for i, t := range list {
		calls[i] = queryCall(t.query.text("", rowsPerQuery), t.query.deleted)
	}
	bodies, err := a.batch(ctx, calls, func(n int, err error) bool { return list[n].absent != nil && isAbsent(err) })
	if err != nil {
		return err
	}
	for i, t := range list {
		if bodies[i] == nil {
			t.absent()
			continue
		}
		found, err := parsePage(bodies[i], t.query, "", rowsPerQuery)
		if err != nil {
			return err
		}
		last := ""
		for _, r := range found.rows {
			last = r.text(t.query.keyField())
			if err := t.visit(r); err != nil {
				return err
			}
		}
		if found.more {
			if last == "" {
				return errInvalid("an empty part of the rows of " + t.query.object)
			}
			if err := a.eachAfter(ctx, t.query, last, t.visit); err != nil {
				return err
			}
		}
	}
	return nil
}

// isAbsent reports whether the organization does not have an object or field, or does
// not show it to the account.
func isAbsent(err error) bool {
	switch codeOf(err) {
	case "INVALID_TYPE", "INVALID_FIELD", "NOT_FOUND", "INSUFFICIENT_ACCESS", "INSUFFICIENT_ACCESS_OR_READONLY", "INVALID_TYPE_FOR_OPERATION", "ENTITY_NOT_QUERYABLE":
		return true
	}
	return false
}
