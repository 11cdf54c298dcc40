package servicenow_test

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/connectortest"
	. "github.com/magpie-search/magpie/internal/testkit/servicenowserver"
)

func TestTheSampleIsRead(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	i.AddSample()
	source := i.open(t, map[string]any{"includeAttachments": true, "fields": []any{"incident.close_code"}})
	if err := source.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	found, pages := walk(t, source)
	if len(found) != 5 || len(pages[0].Warnings) > 0 {
		t.Errorf("found are %q, warnings %q", slices.Sorted(maps.Keys(found)), pages[0].Warnings)
	}
	incident := found["incident/INC0010001"]
	for _, want := range []string{"<h1>INC0010001 The printer eats paper</h1>", "<li>state: In Progress</li>", "<div>Since Monday.<br>\nOnly thick paper.</div>"} {
		if !strings.Contains(string(incident.Content), want) {
			t.Errorf("the incident lacks %q: %s", want, incident.Content)
		}
	}
	if incident.URL != i.URL+"/incident.do?sys_id="+strings.TrimPrefix(incident.ID, "incident:") || incident.Metadata["state"] != "In Progress" {
		t.Errorf("the incident is %+v", incident)
	}
	file := found["incident/INC0010001/photo.txt"]
	reader, err := source.Open(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(reader); err != nil || string(text) != "A very crumpled page." {
		t.Errorf("the file is %q, %v", text, err)
	}
	resolver, ok := source.(connectors.Resolver)
	if !ok {
		t.Fatal("the source is no Resolver")
	}
	names := slices.Collect(maps.Keys(found))
	for _, item := range found {
		names = append(names, item.ID)
	}
	if items, missing, err := resolver.Resolve(t.Context(), append(names, "incident/INC9")); err != nil || len(items) != 5 || !slices.Equal(missing, []string{"incident/INC9"}) {
		t.Errorf("resolved %d, missing %q, %v", len(items), missing, err)
	}
}

// Access rules hide rows after the limit: neither a short page nor an empty one is the
// end while rows are left.
func TestHiddenRows(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	i.MaxPage = 500
	var ids []string
	for range 1300 {
		ids = append(ids, i.Add("incident", Row{"short_description": "x"}))
	}
	slices.Sort(ids)
	i.Hide(true, ids[3:1290]...) // two pages have nothing to show
	found, _ := walk(t, i.open(t, map[string]any{"tables": []any{"incident"}}))
	if len(found) != 13 {
		t.Errorf("%d rows of 13", len(found))
	}
}

// Without the header that counts, an empty page may be followed by others: one more is
// read, and what is missing does not count as deleted.
func TestHiddenRowsWithoutACount(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	i.NoCount, i.MaxPage = true, 500
	var ids []string
	for range 1300 {
		ids = append(ids, i.Add("incident", Row{"short_description": "x"}))
	}
	slices.Sort(ids)
	i.Hide(true, ids[500:1000]...)
	found, pages := walk(t, i.open(t, map[string]any{"tables": []any{"incident"}}))
	var incomplete, warnings []string
	for _, page := range pages {
		incomplete, warnings = append(incomplete, page.Incomplete...), append(warnings, page.Warnings...)
	}
	if len(found) != 800 || !slices.Equal(incomplete, []string{"incident"}) || len(warnings) != 1 || !strings.Contains(warnings[0], "X-Total-Count") || pages[0].Total != 0 {
		t.Errorf("%d rows of 800, incomplete %q, warnings %q, in all %d", len(found), incomplete, warnings, pages[0].Total)
	}
}

// The walk tells how many items there are, and compares what it saw.
func TestRowsAreCounted(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	var ids []string
	for n := range 600 {
		ids = append(ids, i.Add("incident", Row{"number": fmt.Sprint("INC", n)}))
	}
	i.Add("sc_cat_item", Row{"name": "Desk", "active": "true"})
	i.Attach("incident", ids[0], "a.txt", "text/plain", []byte("a"))
	i.Refuse("kb_knowledge", true)
	config := map[string]any{"tables": []any{"incident", "kb_knowledge", "sc_cat_item"}, "includeAttachments": true}
	found, pages := walk(t, i.open(t, config))
	if last := pages[len(pages)-1]; len(found) != 602 || len(pages) < 2 || pages[0].Total < 601 || last.Total != 602 || len(last.Warnings) != 1 {
		t.Errorf("%d items, in all %d, then %d, warnings %q", len(found), pages[0].Total, last.Total, last.Warnings)
	}
	i.Refuse("kb_knowledge", false)
	slices.Sort(ids)
	for hidden, want := range map[int]string{6: "", 20: "ServiceNow showed 580 of about 600 rows of incident: its access rules hide the others from the user."} {
		i.Hide(true, ids[100:100+hidden]...)
		_, pages := walk(t, i.open(t, config))
		if got := strings.Join(pages[len(pages)-1].Warnings, " "); got != want {
			t.Errorf("%d are hidden: the warnings are %q", hidden, got)
		}
		i.Hide(false, ids...)
	}
}

// Rows with more files than a page has room for come with the next pages.
func TestRowsWithManyFiles(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	source := i.open(t, map[string]any{"tables": []any{"incident"}, "includeAttachments": true})
	_, _, token, _ := feed(t, source, "")
	for n := range 150 {
		row := i.Add("incident", Row{"number": fmt.Sprint("INC", n)})
		for part := range 4 {
			i.Attach("incident", row, fmt.Sprint(part, ".txt"), "text/plain", []byte("text"))
		}
	}
	if found, _ := walk(t, source); len(found) != 750 {
		t.Errorf("the walk gives %d of 750 items", len(found))
	}
	items, _, _, _ := feed(t, source, token)
	slices.Sort(items)
	if got := len(slices.Compact(items)); got != 750 {
		t.Errorf("the feed gives %d of 750 items", got)
	}
}

func TestRowsAreSelected(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	other := i.AddBase("HR")
	i.AddArticle(i.base, Row{"number": "KB1", "short_description": "IT"})
	i.AddArticle(other, Row{"number": "KB2", "short_description": "HR"})
	i.AddArticle(i.base, Row{"number": "KB3", "workflow_state": "draft"})
	i.AddArticle(i.base, Row{"number": "KB4", "valid_to": "2020-01-01"})
	i.Add("incident", Row{"number": "INC1", "state": "1"})
	i.Add("incident", Row{"number": "INC2", "state": "7"})
	i.Add("incident", Row{"number": "INC3", "state": "2"})
	for name, c := range map[string]struct {
		config map[string]any
		want   []string
	}{
		"all":            {map[string]any{}, []string{"incident/INC1", "incident/INC2", "incident/INC3", "kb_knowledge/KB1", "kb_knowledge/KB2"}},
		"a base":         {map[string]any{"knowledgeBases": []any{"HR"}, "tables": []any{"kb_knowledge"}}, []string{"kb_knowledge/KB2"}},
		"a base by id":   {map[string]any{"knowledgeBases": []any{other}, "tables": []any{"kb_knowledge"}}, []string{"kb_knowledge/KB2"}},
		"two bases":      {map[string]any{"knowledgeBases": []any{other, "IT"}, "tables": []any{"kb_knowledge"}}, []string{"kb_knowledge/KB1", "kb_knowledge/KB2"}},
		"a query":        {map[string]any{"query": []any{"incident: state=1"}, "tables": []any{"incident"}}, []string{"incident/INC1"}},
		"an alternative": {map[string]any{"query": []any{"incident: state=1^ORstate=7"}, "tables": []any{"incident"}}, []string{"incident/INC1", "incident/INC2"}},
	} {
		found, _ := walk(t, i.open(t, c.config))
		if got := slices.Sorted(maps.Keys(found)); !slices.Equal(got, c.want) {
			t.Errorf("%s: found are %q, want %q", name, got, c.want)
		}
	}
	for option, wrong := range map[string][]string{
		"query": {"state=1", "incident:", "incident: a=1^NQb=2", "incident: a=1^ORDERBYb", "Incident: a=1"}, "tables": {"", "Incident", "a b", "file"},
		"fields": {"close_code", "incident.", "incident.A"}, "knowledgeBases": {"", "a^b", "a,b"},
	} {
		for _, value := range wrong {
			if i.kind(t).Validate(map[string]any{"instanceUrl": i.URL, option: []any{value}}, map[string]string{"apiKey": "x"}) == nil {
				t.Errorf("%s: %q is accepted", option, value)
			}
		}
	}
}

func feed(t *testing.T, source connectors.Source, token string) (items, gone []string, next string, warnings []string) {
	t.Helper()
	feeder, ok := source.(connectors.Feeder)
	if !ok {
		t.Fatal("the source is no Feeder")
	}
	for range 100 {
		page, err := feeder.Changes(t.Context(), token)
		if err != nil || page.Expired {
			t.Fatal(err, page.Expired)
		}
		for _, item := range page.Items {
			items = append(items, item.Path)
		}
		gone, warnings = append(gone, page.Gone...), append(warnings, page.Warnings...)
		if token = page.Next; !page.More {
			return items, gone, token, warnings
		}
	}
	t.Fatal("the changes do not end")
	return nil, nil, "", nil
}

// A file changes without its row, and deletions may be readable or not.
func TestFilesAndDeletions(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	row := i.Add("incident", Row{"number": "INC1"})
	old := i.Attach("incident", row, "old.txt", "text/plain", []byte("old"))
	other := i.Add("incident", Row{"number": "INC2"})
	source := i.open(t, map[string]any{"tables": []any{"incident"}, "includeAttachments": true})
	_, _, token, _ := feed(t, source, "")
	i.Advance(time.Hour)
	i.Attach("incident", row, "new.txt", "text/plain", []byte("new"))
	i.Attach("incident", row, "new.txt", "text/plain", []byte("second"))
	i.Remove("sys_attachment", old, true)
	i.Remove("incident", other, true)
	items, gone, token, _ := feed(t, source, token)
	slices.Sort(items)
	slices.Sort(gone)
	if len(items) != 3 || items[0] != "incident/INC1" || !slices.Contains(items, "incident/INC1/new.txt") || !slices.Equal(gone, []string{"file:" + old, "incident:" + other}) {
		t.Errorf("changed are %q, gone %q", items, gone)
	}
	i.Refuse("sys_audit_delete", true)
	if _, gone, _, warnings := feed(t, source, token); len(gone) > 0 || len(warnings) != 1 || !strings.Contains(warnings[0], "sys_audit_delete") {
		t.Errorf("without the audit, gone are %q, warnings %q", gone, warnings)
	}
}

func TestTablesThatCannotBeRead(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	i.AddSample()
	i.Refuse("incident", true)
	source := i.open(t, map[string]any{"tables": []any{"kb_knowledge", "incident", "u_missing"}})
	if err := source.Check(t.Context()); !connectors.IsNeedsAuth(err) || !strings.Contains(err.Error(), "may not read the table incident") {
		t.Errorf("the check: %v", err)
	}
	found, pages := walk(t, source)
	if len(found) != 2 || !slices.Equal(pages[0].Incomplete, []string{"incident", "u_missing"}) || len(pages[0].Warnings) != 2 {
		t.Errorf("found are %d, incomplete %q, warnings %q", len(found), pages[0].Incomplete, pages[0].Warnings)
	}
	if _, err := i.open(t, map[string]any{"tables": []any{"u_missing"}}).Walk(t.Context(), ""); !connectors.IsNeedsAuth(err) || !strings.Contains(err.Error(), "config.tables") {
		t.Errorf("only a table that does not exist: %v", err)
	}
}

func TestAnInstanceThatSleeps(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	i.AddSample()
	source := i.open(t, nil)
	i.Fail(func(*http.Request) *Fault {
		return &Fault{Status: http.StatusOK, Header: http.Header{"Content-Type": {"text/html;charset=UTF-8"}}, Body: "<html><head><title>Instance Hibernating page</title></head><body>Your instance is hibernating.</body></html>"}
	})
	asleep := func(what string, err error) {
		t.Helper()
		if _, retryable := connectors.RetryAfterOf(err); !retryable || !strings.Contains(err.Error(), "asleep") || !strings.Contains(err.Error(), "developer.servicenow.com") {
			t.Errorf("%s of a sleeping instance: %v", what, err)
		}
	}
	_, err := source.Walk(t.Context(), "")
	asleep("a walk", err)
	// It falls asleep before the content of a file.
	i.Fail(nil)
	withFiles := i.open(t, map[string]any{"includeAttachments": true})
	found, _ := walk(t, withFiles)
	i.Fail(func(r *http.Request) *Fault {
		if !strings.HasSuffix(r.URL.Path, "/file") {
			return nil
		}
		return &Fault{Status: http.StatusOK, Header: http.Header{"Content-Type": {"text/html;charset=UTF-8"}}, Body: "<html><body>Your instance is hibernating.</body></html>"}
	})
	_, err = withFiles.Open(t.Context(), found["incident/INC0010001/photo.txt"])
	asleep("a file", err)
}

// Requests name the versions of the APIs, which the kind tells.
func TestTheVersionIsNamed(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	i.AddSample()
	walk(t, i.open(t, map[string]any{"includeAttachments": true}))
	if all, tables, files := i.Requests(""), i.Requests("/api/now/v2/table/"), i.Requests("/api/now/v1/attachment"); tables == 0 || files == 0 || all != tables+files {
		t.Errorf("%d requests, %d of the Table API, %d of the Attachment API", all, tables, files)
	}
	if version := i.kind(t).APIVersion; version != "v2 (Table), v1 (Attachment)" {
		t.Errorf("the version is %q", version)
	}
}

// A query that the instance breaks off is repeated for fewer rows.
func TestQueriesThatTakeTooLong(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	for range 30 {
		i.Add("incident", Row{"short_description": "x"})
	}
	i.Fail(func(r *http.Request) *Fault {
		if limit := r.URL.Query().Get("sysparm_limit"); len(limit) < 3 {
			return nil
		}
		return &Fault{Status: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: `{"result":[{"sys_id":"1"}],"error":{"message":"Transaction cancelled: maximum execution time exceeded","detail":""},"status":"failure"}`}
	})
	if found, _ := walk(t, i.open(t, map[string]any{"tables": []any{"incident"}})); len(found) != 30 {
		t.Errorf("%d rows of 30", len(found))
	}
}

func TestCredentials(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	i.AddSample()
	settings := i.settings(nil)
	settings.Credentials = map[string]string{"apiKey": i.Key}
	if found, _ := walk(t, connectortest.Open(t, i.kind(t), settings)); len(found) != 4 {
		t.Errorf("by key: %d rows", len(found))
	}
	current, renewed := "expired", 0
	settings.Credentials = map[string]string{}
	settings.Token = func(_ context.Context, refused string) (string, map[string]string, error) {
		if refused != "" && refused == current {
			renewed++
			current = i.Key
		}
		return current, nil, nil
	}
	if found, _ := walk(t, connectortest.Open(t, i.kind(t), settings)); len(found) != 4 || renewed != 1 {
		t.Errorf("by a grant: %d rows, renewed %d times", len(found), renewed)
	}
	for _, incomplete := range []map[string]string{{}, {"username": "u"}, {"password": "p"}} {
		if i.kind(t).Validate(map[string]any{"instanceUrl": i.URL}, incomplete) == nil {
			t.Errorf("the credentials %v are accepted", incomplete)
		}
	}
	i.Fail(func(*http.Request) *Fault {
		return &Fault{Status: http.StatusTooManyRequests, Header: http.Header{"X-Ratelimit-Reset": {"1777622460"}, "Date": {"Fri, 01 May 2026 08:00:00 GMT"}}}
	})
	_, err := i.open(t, nil).Walk(t.Context(), "")
	if after, retryable := connectors.RetryAfterOf(err); !retryable || after != time.Minute {
		t.Errorf("the rate limit: %v, after %s", err, after)
	}
}

func FuzzPositions(f *testing.F) {
	f.Add(`{"t":0,"i":"0123456789abcdef0123456789abcdef"}`)
	f.Add(`{"s":1,"n":["incident"]}`)
	i := newInstance(f)
	i.AddSample()
	source := i.open(f, map[string]any{"tables": []any{"incident"}})
	feeder, ok := source.(connectors.Feeder)
	if !ok {
		f.Fatal("the source is no Feeder")
	}
	f.Fuzz(func(t *testing.T, text string) {
		if page, err := source.Walk(t.Context(), text); err == nil && len(page.Items) > connectors.MaxPageItems {
			t.Error("too many items")
		}
		if page, err := feeder.Changes(t.Context(), text); err == nil && !page.Expired && page.Next == "" {
			t.Error("a page without a token")
		}
	})
}
