package salesforce_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/connectortest"
	. "github.com/magpie-search/magpie/internal/testkit/salesforceserver"
)

func TestARecordHasItsFieldsAndChildren(t *testing.T) {
	t.Parallel()
	o := newOrganization(t)
	c := o.Add("Case", Row{"Subject": "It leaks", "Status": "New", "Description": "Water\neverywhere"})
	o.Add("CaseComment", Row{"ParentId": c, "CommentBody": "We look at it"})
	o.Add("EmailMessage", Row{"ParentId": c, "Subject": "Re: leak", "HtmlBody": "<p>Thank <b>you</b></p><script>x</script>", "FromName": "Ann", "FromAddress": "ann@example.com", "MessageDate": "2026-05-01T09:00:00.000+0000"})
	o.Add("Task", Row{"WhatId": c, "Subject": "Call Ann", "Status": "Open", "ActivityDate": "2026-05-02"})
	lead := o.Add("Lead", Row{"Name": "Lea", "Company": "Bolts"})
	o.Add("Task", Row{"WhoId": lead, "Subject": "Write to Lea"})
	source := o.open(t, map[string]any{})
	items, warnings := walk(t, source)
	if len(items) != 2 || len(warnings) != 0 {
		t.Fatalf("the walk gives %q, warnings %q", slices.Sorted(maps.Keys(items)), warnings)
	}
	item := only(t, items, "Case/")
	if !strings.HasPrefix(item.Path, "Case/0") || !strings.HasSuffix(item.Path, ": It leaks ("+c+")") || item.Author != "Rea Der" || item.Container != "Case" ||
		item.URL != o.URL+"/"+c || item.Metadata["status"] != "New" || item.MediaType != "text/markdown" {
		t.Errorf("the item is %+v", item)
	}
	content := string(item.Content)
	for _, part := range []string{": It leaks\n", "- **Status**: New\n", "## Description\n\nWater\neverywhere\n", "## Comment\n\nRea Der, 2026-05-01\n\nWe look at it\n", "## Mail: Re: leak\n\nAnn <ann@example.com>", "Thank you", "## Task: Call Ann (Open, 2026-05-02)"} {
		if !strings.Contains(content, part) {
			t.Errorf("the document lacks %q:\n%s", part, content)
		}
	}
	if strings.Contains(content, "<p>") || strings.Contains(content, "x</") {
		t.Errorf("the document has HTML:\n%s", content)
	}
	if other := string(only(t, items, "Lead/").Content); !strings.Contains(other, "Write to Lea") || strings.Contains(other, "Call Ann") {
		t.Errorf("the lead is:\n%s", other)
	}
	item.Content = nil
	if opened, err := readContent(t.Context(), source, item); err != nil || opened != content {
		t.Errorf("Open gives %q, %v", opened, err)
	}
}

// The walk tells how many items there are, and compares what it saw.
func TestRecordsAreCounted(t *testing.T) {
	t.Parallel()
	o := newOrganization(t)
	var last string
	for range 350 {
		last = o.Add("Case", Row{"Subject": "It leaks"})
	}
	o.Add("Case", Row{"Status": "Draft"})
	o.AddFile("plan.txt", []byte("plan"), last)
	config := map[string]any{"objects": []any{"Account", "Case"}, "soqlFilter": "Case: Subject != null", "includeFiles": true}
	for uncounted, want := range map[int]string{0: "", 1: "", 3: "Salesforce listed 0 of about 3 records of Account", 9: "Salesforce listed 350 of about 359 records of Case"} {
		o.Uncounted = uncounted
		source := o.open(t, config)
		page, err := source.Walk(t.Context(), "")
		if err != nil || page.Done || page.Total != 350+2*uncounted {
			t.Fatalf("the first page has %d items, in all %d, done %v, %v", len(page.Items), page.Total, page.Done, err)
		}
		warnings := page.Warnings
		if page, err = source.Walk(t.Context(), page.Next); err != nil || !page.Done || page.Total != 351+2*uncounted {
			t.Fatalf("the last page has %d items, in all %d, done %v, %v", len(page.Items), page.Total, page.Done, err)
		}
		if got := strings.Join(append(warnings, page.Warnings...), " "); !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("with %d too many, the warnings are %q", uncounted, got)
		}
	}
	// A walk does not need the counts.
	o.Uncounted, o.NoCounts = 0, true
	page, err := o.open(t, config).Walk(t.Context(), "")
	if err != nil || page.Total != 0 || len(page.Items) == 0 || len(page.Warnings) > 0 {
		t.Errorf("without counts, the page has %d items, in all %d, warnings %q, %v", len(page.Items), page.Total, page.Warnings, err)
	}
}

func TestOptionsSelect(t *testing.T) {
	t.Parallel()
	o := newOrganization(t)
	o.Define(NewObject("Project__c", "a00", Field{Name: "Budget__c", Label: "Budget", Type: "currency"}))
	project := o.Add("Project__c", Row{"Name": "Bridge", "Budget__c": 5000})
	open := o.Add("Case", Row{"Subject": "Open", "Status": "New"})
	o.Add("Case", Row{"Subject": "Draft (1) it's", "Status": "Draft"})
	o.Add("CaseComment", Row{"ParentId": open, "CommentBody": "hidden"})
	items, _ := walk(t, o.open(t, map[string]any{
		"objects": []any{"Case"}, "includeCustomObjects": true, "soqlFilter": "Case: Status != 'Draft' AND (Subject = 'Open' OR Subject LIKE '%it\\'s%')", "includeComments": false,
		"fields": []any{"Project__c: Budget__c"},
	}))
	if got := slices.Sorted(maps.Keys(items)); !slices.Equal(got, []string{"Case/" + open, "Project__c/" + project}) {
		t.Fatalf("the walk gives %q", got)
	}
	if text := string(only(t, items, "Case/").Content); strings.Contains(text, "hidden") {
		t.Errorf("the case is:\n%s", text)
	}
	if text := string(only(t, items, "Project__c/").Content); !strings.Contains(text, "- **Budget**: 5000") {
		t.Errorf("the project is:\n%s", text)
	}
}

func TestKnowledgeIsReadByLanguage(t *testing.T) {
	t.Parallel()
	o := newOrganization(t)
	const article = "kA0000000000001AAA"
	add := func(title, language, status string) string {
		return o.Add("Knowledge__kav", Row{"Title": title, "Language": language, "PublishStatus": status, "KnowledgeArticleId": article, "Answer__c": "<ul><li>Press</li><li>Wait</li></ul>"})
	}
	english := add("Reset", "en_US", "Online")
	add("Zurücksetzen", "de", "Online")
	add("Réinitialiser", "fr", "Draft")
	state := &connectortest.State{}
	config := map[string]any{"objects": []any{"Knowledge__kav"}}
	source := o.openWith(t, config, state)
	token := present(t, source)
	items, _ := walk(t, source)
	want := []string{"Knowledge__kav/" + article + ".de", "Knowledge__kav/" + article + ".en_US"}
	if got := slices.Sorted(maps.Keys(items)); !slices.Equal(got, want) {
		t.Fatalf("the walk gives %q, want %q", got, want)
	}
	if item := items[want[1]]; item.Path != "Knowledge__kav/en_US/Reset ("+article+")" || !strings.Contains(string(item.Content), "- Press\n- Wait") {
		t.Errorf("the article is %+v", item)
	}
	if found, _ := walk(t, o.open(t, map[string]any{"objects": []any{"Knowledge__kav"}, "knowledgeLanguages": []any{"de"}})); len(found) != 1 {
		t.Errorf("with a language, the walk gives %q", slices.Sorted(maps.Keys(found)))
	}
	o.Advance(time.Hour)
	o.Change(english, Row{"PublishStatus": "Archived"}) // and a new version replaces it
	newer := add("Reset it", "en_US", "Online")
	items, gone, token := changes(t, source, token)
	if len(gone) != 0 || items[want[1]].Title != "Reset it" || !strings.HasSuffix(items[want[1]].URL, newer) {
		t.Errorf("the changes are %v, gone %q", items, gone)
	}
	o.Advance(time.Hour)
	o.Change(newer, Row{"PublishStatus": "Archived"})
	if items, gone, _ = changes(t, source, token); len(items) != 0 || !slices.Equal(gone, want[1:]) {
		t.Errorf("after it was archived, the changes are %v, gone %q", items, gone)
	}
}

// present returns the token of the present.
func present(t testing.TB, source connectors.Source) string {
	t.Helper()
	page, err := source.(connectors.Feeder).Changes(t.Context(), "")
	if err != nil || page.Next == "" {
		t.Fatalf("the token of the present is %q, %v", page.Next, err)
	}
	return page.Next
}

// changes reads all changes since a token.
func changes(t testing.TB, source connectors.Source, token string) (items map[string]connectors.Item, gone []string, next string) {
	t.Helper()
	items = map[string]connectors.Item{}
	for range 100 {
		page, err := source.(connectors.Feeder).Changes(t.Context(), token)
		if err != nil || page.Expired {
			t.Fatalf("Changes: expired %v, %v", page.Expired, err)
		}
		for _, item := range page.Items {
			items[item.ID] = item
		}
		gone, token = append(gone, page.Gone...), page.Next
		if !page.More {
			slices.Sort(gone)
			return items, gone, token
		}
	}
	t.Fatal("the changes do not end")
	return nil, nil, ""
}

func TestChildrenTouchTheirRecord(t *testing.T) {
	t.Parallel()
	o := newOrganization(t)
	c, account := o.Add("Case", Row{"Subject": "It leaks"}), o.Add("Account", Row{"Name": "Acme"})
	comment := o.Add("CaseComment", Row{"ParentId": c, "CommentBody": "first"})
	source := o.open(t, map[string]any{"includeFiles": true})
	token := present(t, source)
	before, _ := walk(t, source)
	file := ""
	for _, step := range []struct {
		name, want string
		change     func()
	}{
		{"a comment is added", "Case/" + c, func() { o.Add("CaseComment", Row{"ParentId": c, "CommentBody": "second"}) }},
		{"a comment is edited", "Case/" + c, func() { o.Change(comment, Row{"CommentBody": "edited"}) }},
		{"a comment is deleted", "Case/" + c, func() { o.Remove(comment) }},
		{"a mail comes", "Account/" + account, func() { o.Add("EmailMessage", Row{"RelatedToId": account, "Subject": "Hello", "TextBody": "Hi"}) }},
		{"a task is added", "Account/" + account, func() { o.Add("Task", Row{"WhatId": account, "Subject": "Call"}) }},
		{"a file is added", "Account/" + account, func() { file = o.AddFile("plan.txt", []byte("plan"), account) }},
		{"a file is replaced", "Account/" + account, func() { o.ReplaceFile(file, []byte("other")) }},
	} {
		o.Advance(time.Hour)
		step.change()
		items, gone, next := changes(t, source, token)
		token = next
		if item := items[step.want]; len(gone) > 0 || item.ID == "" || (item.Version == before[step.want].Version && !strings.Contains(step.name, "file")) {
			t.Errorf("%s: the changes are %q, gone %q, the version %q before %q", step.name, slices.Sorted(maps.Keys(items)), gone, item.Version, before[step.want].Version)
		}
		maps.Copy(before, items)
		if after, _ := walk(t, source); len(after) != len(before) || after[step.want].Version != before[step.want].Version {
			t.Errorf("%s: a walk gives %q, the changes %q", step.name, slices.Sorted(maps.Keys(after)), slices.Sorted(maps.Keys(before)))
		}
	}
	o.Advance(time.Hour)
	o.Remove(file)
	if _, gone, _ := changes(t, source, token); !slices.Equal(gone, []string{"Account/" + account + "/" + file}) {
		t.Errorf("after a file was deleted, gone are %q", gone)
	}
	o.Advance(time.Hour)
	o.Remove(account)
	o.EmptyBin()
	if _, gone, _ := changes(t, source, token); !slices.Contains(gone, "Account/"+account) || !slices.Contains(gone, "Account/"+account+"/"+file) {
		t.Errorf("after an account was deleted, gone are %q", gone)
	}
}

func TestARecordThatLeavesTheFilterIsGone(t *testing.T) {
	t.Parallel()
	o := newOrganization(t)
	c := o.Add("Case", Row{"Subject": "It leaks", "Status": "New"})
	source := o.open(t, map[string]any{"objects": []any{"Case"}, "soqlFilter": "Status = 'New'"})
	token := present(t, source)
	o.Advance(time.Hour)
	o.Change(c, Row{"Status": "Closed"})
	items, gone, token := changes(t, source, token)
	if len(items) != 0 || !slices.Equal(gone, []string{"Case/" + c}) {
		t.Errorf("the changes are %v, gone %q", items, gone)
	}
	o.Advance(time.Hour)
	o.Change(c, Row{"Status": "New"})
	if items, gone, _ = changes(t, source, token); len(items) != 1 || len(gone) != 0 {
		t.Errorf("back in the filter, the changes are %v, gone %q", items, gone)
	}
}

func TestAnObjectThatIsLostLosesNothing(t *testing.T) {
	t.Parallel()
	o := newOrganization(t)
	o.Add("Case", Row{"Subject": "It leaks"})
	o.Add("Account", Row{"Name": "Acme"})
	state := &connectortest.State{}
	source := o.openWith(t, map[string]any{}, state)
	walk(t, source)
	token := present(t, source)
	o.Alter("Case", func(c *Object) { c.Hidden = true })
	page, err := source.Walk(t.Context(), "")
	if err != nil || !slices.Contains(page.Incomplete, "Case") || len(page.Warnings) != 1 || !strings.Contains(page.Warnings[0], "Case") {
		t.Errorf("the walk gives %+v, %v", page, err)
	}
	if page, err := source.(connectors.Feeder).Changes(t.Context(), token); err != nil || !page.Expired {
		t.Errorf("the changes are %+v, %v; want Expired", page, err)
	}
	named := o.open(t, map[string]any{"objects": []any{"Case", "Account"}})
	if err := named.Check(t.Context()); !connectors.IsNeedsAuth(err) || !strings.Contains(err.Error(), "Case") {
		t.Errorf("Check = %v", err)
	}
	if found, missing, err := named.(connectors.Resolver).Resolve(t.Context(), []string{"Case/500000000000001AAA"}); err != nil || len(found)+len(missing) > 0 {
		t.Errorf("Resolve = %v, %q, %v", found, missing, err)
	}
}

func TestTheAllowanceOfRequestsIsKept(t *testing.T) {
	t.Parallel()
	o := newOrganization(t)
	o.Add("Account", Row{"Name": "Acme"})
	o.Allowance, o.Used = 1000, 798
	source := o.open(t, map[string]any{})
	_, err := source.Walk(t.Context(), "")
	after, retryable := connectors.RetryAfterOf(err)
	if !retryable || after != time.Hour || connectors.IsNeedsAuth(err) || !strings.Contains(err.Error(), "of 1000 API requests") {
		t.Errorf("Walk = %v after %s", err, after)
	}
	if o.Used >= 805 {
		t.Errorf("%d requests were made", o.Used)
	}
	o.Used = 1000
	err = o.open(t, map[string]any{"quotaShare": 100.0}).Check(t.Context())
	if after, retryable = connectors.RetryAfterOf(err); !retryable || after != time.Hour || connectors.IsNeedsAuth(err) || !strings.Contains(err.Error(), "REQUEST_LIMIT_EXCEEDED") {
		t.Errorf("Check = %v after %s", err, after)
	}
}

func TestCredentials(t *testing.T) {
	t.Parallel()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	text := string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}))
	o := newOrganization(t)
	o.Key = &key.PublicKey
	o.Add("Account", Row{"Name": "Acme"})
	open := func(credentials map[string]string) error {
		settings := o.settings(nil)
		settings.Credentials = credentials
		return connectortest.Open(t, o.kind(t), settings).Check(t.Context())
	}
	if err := open(map[string]string{"clientId": ClientID, "username": Username, "privateKey": text}); err != nil {
		t.Errorf("with a private key: %v", err)
	}
	for name, c := range map[string]struct {
		credentials map[string]string
		says        string
	}{
		"another secret":   {map[string]string{"clientId": ClientID, "clientSecret": "wrong"}, "credentials.clientSecret"},
		"another app":      {map[string]string{"clientId": "other", "clientSecret": ClientSecret}, "credentials.clientId"},
		"another username": {map[string]string{"clientId": ClientID, "username": "eve@example.com", "privateKey": text}, "check the username"},
	} {
		if err := open(c.credentials); !connectors.IsNeedsAuth(err) || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "wrong") {
			t.Errorf("with %s: %v", name, err)
		}
	}
	settings := o.settings(nil)
	settings.Config, settings.Credentials = map[string]any{}, nil
	asked := []string{}
	settings.Token = func(_ context.Context, refused string) (string, map[string]string, error) {
		asked = append(asked, refused)
		token := "grant-token"
		if refused != "" {
			token = "renewed-token"
		}
		return token, map[string]string{"instance_url": o.URL}, nil
	}
	o.Grant("renewed-token")
	if err := connectortest.Open(t, o.kind(t), settings).Check(t.Context()); err != nil || !slices.Contains(asked, "grant-token") {
		t.Errorf("with a grant: %v, asked %q", err, asked)
	}
	o.Revoke()
	if err := connectortest.Open(t, o.kind(t), settings).Check(t.Context()); !connectors.IsNeedsAuth(err) {
		t.Errorf("with a revoked grant: %v", err)
	}
}

func TestSettingsAreChecked(t *testing.T) {
	t.Parallel()
	kind := newOrganization(t).kind(t)
	good := map[string]string{"clientId": "a", "clientSecret": "b"}
	const address = "https://acme.my.salesforce.com"
	for name, c := range map[string]struct {
		config      map[string]any
		credentials map[string]string
		field       string
	}{
		"nothing":          {map[string]any{"instanceUrl": address}, nil, "credentials.clientId"},
		"no secret":        {map[string]any{"instanceUrl": address}, map[string]string{"clientId": "a"}, "credentials.clientSecret"},
		"no address":       {map[string]any{}, good, "config.instanceUrl"},
		"an order":         {map[string]any{"instanceUrl": address, "soqlFilter": "Case: IsClosed = false ORDER BY Id"}, good, "config.soqlFilter"},
		"two conditions":   {map[string]any{"instanceUrl": address, "soqlFilter": "Case: Id = 'a') OR (Id != 'a'"}, good, "config.soqlFilter"},
		"an open text":     {map[string]any{"instanceUrl": address, "soqlFilter": "Name = 'a"}, good, "config.soqlFilter"},
		"a field":          {map[string]any{"instanceUrl": address, "fields": []any{"Name"}}, good, "config.fields"},
		"an object":        {map[string]any{"instanceUrl": address, "objects": []any{"Case; x"}}, good, "config.objects"},
		"no key":           {map[string]any{"instanceUrl": address}, map[string]string{"clientId": "a", "username": "b", "privateKey": "c"}, "credentials.privateKey"},
		"only verifying":   {map[string]any{"instanceUrl": address, "verifyAccess": true}, good, "config.verifyAccess"},
		"an early version": {map[string]any{"instanceUrl": address, "apiVersion": "62"}, good, "config.apiVersion"},
	} {
		err := kind.Validate(c.config, c.credentials)
		if wrong, ok := errors.AsType[*connectors.OptionError](err); !ok || wrong.Field != c.field {
			t.Errorf("%s: %v, want an error of %s", name, err, c.field)
		}
	}
	if err := kind.Validate(map[string]any{"instanceUrl": address, "soqlFilter": "Case: Id IN (SELECT ParentId FROM CaseComment) AND Name = 'a limit'\nIsDeleted = false"}, good); err != nil {
		t.Errorf("a good filter: %v", err)
	}
}

func TestWrongFiltersAreSaid(t *testing.T) {
	t.Parallel()
	o := newOrganization(t)
	err := o.open(t, map[string]any{"soqlFilter": "Case: Colour__c = 'red'"}).Check(t.Context())
	if !connectors.IsFatal(err) || !strings.Contains(err.Error(), "config.soqlFilter for Case") || !strings.Contains(err.Error(), "Colour__c") {
		t.Errorf("Check = %v", err)
	}
	err = o.open(t, map[string]any{"fields": []any{"Case: Colour__c"}}).Check(t.Context())
	if !connectors.IsFatal(err) || !strings.Contains(err.Error(), "config.fields") {
		t.Errorf("Check = %v", err)
	}
}

func TestExpiredSessionsAreRenewed(t *testing.T) {
	t.Parallel()
	o := newOrganization(t)
	o.Add("Account", Row{"Name": "Acme"})
	source := o.open(t, map[string]any{})
	walk(t, source)
	o.Revoke()
	if items, _ := walk(t, source); len(items) != 1 {
		t.Errorf("the walk gives %v", items)
	}
	o.Fail(func(r *http.Request) *Fault {
		if strings.HasSuffix(r.URL.Path, "/token") {
			return nil
		}
		return &Fault{Status: http.StatusUnauthorized, Body: `[{"message":"Session expired or invalid","errorCode":"INVALID_SESSION_ID"}]`}
	})
	if _, err := source.Walk(t.Context(), ""); !connectors.IsNeedsAuth(err) {
		t.Errorf("Walk = %v", err)
	}
}

func FuzzCursor(f *testing.F) {
	for _, text := range []string{"", "x", "{}", `{"o":"Account"}`, `{"o":"Case","a":"500000000000003AAA","r":"500000000000004AAA","f":"0"}`, `{"o":"Zebra__c"}`, `{"o":"Account","a":"' OR Id != '"}`} {
		f.Add(text)
	}
	o := newOrganization(f)
	o.Add("Account", Row{"Name": "Acme"})
	source := o.open(f, map[string]any{"includeFiles": true})
	f.Fuzz(func(t *testing.T, text string) {
		page, err := source.Walk(t.Context(), text)
		if err == nil && !page.Done && page.Next == text {
			t.Errorf("the cursor %q leads to itself", text)
		}
		if changed, err := source.(connectors.Feeder).Changes(t.Context(), text); err != nil || text != "" && !changed.Expired && changed.Next == "" {
			t.Errorf("the token %q gives %+v, %v", text, changed, err)
		}
	})
}

// A condition that is accepted is one condition for Salesforce, too.
func FuzzFilter(f *testing.F) {
	for _, text := range []string{"Case: Status = 'New'", "Name = 'a' OR Name = 'b'", "Id = 'x') OR (Id != 'x'", "Name = 'it\\'s'", "Name LIKE '%)%'", "Case: ((", "NOT (Name = 'a')", "Name = 'a' LIMIT 1", "Name = '\\\\' OR Id = '\\'"} {
		f.Add(text)
	}
	o := newOrganization(f)
	kind := o.kind(f)
	f.Fuzz(func(t *testing.T, text string) {
		settings := o.settings(map[string]any{"soqlFilter": text})
		if kind.Validate(settings.Config, settings.Credentials) != nil {
			return
		}
		if depth, lines := strings.Count(text, "("), strings.Count(strings.TrimSpace(text), "\n"); lines == 0 && !strings.Contains(text, "'") && depth != strings.Count(text, ")") {
			t.Errorf("the condition %q is accepted", text)
		}
	})
}
