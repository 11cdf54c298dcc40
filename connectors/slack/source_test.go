package slack_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/connectortest"
	"github.com/magpie-search/magpie/connectors/slack"
	"github.com/magpie-search/magpie/internal/testkit/slackserver"
)

func TestChannelsAreSelected(t *testing.T) {
	t.Parallel()
	w := slackserver.New(t)
	ada := w.AddUser(slackserver.User{Name: "ada", RealName: "Ada", Email: "ada@example.com"})
	ids := map[string]string{}
	for name, c := range map[string]slackserver.Channel{
		"general": {Members: []string{w.BotUser}}, "team-a": {Members: []string{w.BotUser}}, "team-b": {}, "old": {Members: []string{w.BotUser}},
		"secret": {Private: true, Members: []string{w.BotUser}}, "hidden": {Private: true, Members: []string{ada}},
	} {
		c.Name = name
		ids[name] = w.AddChannel(c)
		w.Post(ids[name], slackserver.Message{User: ada, Text: "said in " + name})
	}
	w.Archive(ids["old"])
	w.Rename(ids["general"], "common")
	ids["common"] = ids["general"]

	for name, c := range map[string]struct {
		config   map[string]any
		channels []string
		warnings int
	}{
		"all":            {nil, []string{"common", "team-a"}, 0},
		"by name":        {map[string]any{"channels": []any{"#team-a", "common"}}, []string{"common", "team-a"}, 0},
		"by old name":    {map[string]any{"channels": []any{"general"}}, []string{"common"}, 0},
		"by id":          {map[string]any{"channels": []any{ids["team-a"]}}, []string{"team-a"}, 0},
		"by pattern":     {map[string]any{"channels": []any{"#team-*"}}, []string{"team-a"}, 1},
		"unknown":        {map[string]any{"channels": []any{"common", "nowhere"}}, []string{"common"}, 1},
		"private":        {map[string]any{"includePrivate": true}, []string{"common", "team-a", "secret"}, 0},
		"private not":    {map[string]any{"channels": []any{"common", "secret"}}, []string{"common"}, 1},
		"private hidden": {map[string]any{"channels": []any{"common", "hidden"}, "includePrivate": true}, []string{"common"}, 1},
		"archived":       {map[string]any{"includeArchived": true}, []string{"common", "team-a", "old"}, 0},
	} {
		items, warnings := walk(t, openWith(t, w, settings(w, c.config)))
		var want []string
		for _, channel := range c.channels {
			want = append(want, ids[channel]+"/2024-05-01")
		}
		slices.Sort(want)
		if got := idsOf(items); !slices.Equal(got, want) || len(warnings) != c.warnings {
			t.Errorf("%s: %q, want %q; warnings %q", name, got, want, warnings)
		}
	}
	// A user's token reads public channels that the user is not in.
	s := settings(w, nil)
	s.Credentials["botToken"] = w.UserToken(ada, slackserver.AllScopes)
	if items, _ := walk(t, openWith(t, w, s)); len(items) != 3 {
		t.Errorf("with a user's token: %q", idsOf(items))
	}
	// The bot joins public channels.
	items, _ := walk(t, openWith(t, w, settings(w, map[string]any{"joinPublic": true})))
	if _, joined := items[ids["team-b"]+"/2024-05-01"]; !joined || w.Calls("conversations.join") != 1 {
		t.Errorf("after joining: %q, %d joins", idsOf(items), w.Calls("conversations.join"))
	}
}

func TestOptionsAreChecked(t *testing.T) {
	t.Parallel()
	kind := slack.Kind(nil)
	token := map[string]string{"botToken": "xoxb-1-2"}
	for _, text := range []string{"90d", "12h", "8w", "6m", "2y", "all", "2024-01-01", "2024-01-01..2024-06-30", "..2024-06-30", "2024-01-01..", "2024-01-01 to 2024-06-30"} {
		if err := kind.Validate(map[string]any{"dateRange": text}, token); err != nil {
			t.Errorf("dateRange %q: %v", text, err)
		}
	}
	for field, config := range map[string][]map[string]any{
		"config.dateRange": {
			{"dateRange": "d"}, {"dateRange": "-1d"}, {"dateRange": "+1d"}, {"dateRange": "0d"}, {"dateRange": "1x"}, {"dateRange": "99999999d"},
			{"dateRange": "2024-06-30..2024-01-01"}, {"dateRange": ".."}, {"dateRange": "2024-13-01"}, {"dateRange": "yesterday"}, {"dateRange": 90.0}, {"dateRange": "é"},
		},
		"config.channels": {{"channels": "general"}, {"channels": []any{"#"}}, {"channels": []any{"a b"}}, {"channels": []any{"a/b"}}},
		"config.apiUrl":   {{"apiUrl": "slack.com"}, {"apiUrl": "ftp://slack.com"}, {"apiUrl": "https://a:b@slack.com/api"}},
		"config.teamId":   {{"teamId": "magpies"}},
	} {
		for _, c := range config {
			wrong, ok := errors.AsType[*connectors.OptionError](kind.Validate(c, token))
			if !ok || wrong.Field != field {
				t.Errorf("%v: %v", c, wrong)
			}
		}
	}
	for _, credentials := range []map[string]string{{}, {"botToken": "xapp-1"}, {"botToken": "xoxb 1"}} {
		if wrong, ok := errors.AsType[*connectors.OptionError](kind.Validate(nil, credentials)); !ok || wrong.Field != "credentials.botToken" {
			t.Errorf("%v: %v", credentials, wrong)
		}
	}
	granted := connectors.Settings{Token: func(context.Context, string) (string, map[string]string, error) { return "", nil, nil }}
	if err := kind.ValidateSettings(granted); err != nil {
		t.Errorf("with a grant: %v", err)
	}
}

func TestDateRangeLimitsDaysThreadsAndFiles(t *testing.T) {
	t.Parallel()
	o := newTestWorkspace(t)
	var roots []string
	for month := time.January; month <= time.June; month++ {
		o.world.SetClock(time.Date(2024, month, 15, 12, 0, 0, 0, time.UTC))
		root := o.post("begin")
		o.post("plain")
		o.world.Share(o.general, slackserver.File{Name: "f.txt", MediaType: "text/plain", User: o.ada, Content: []byte("x")})
		roots = append(roots, root)
	}
	for _, root := range roots {
		o.reply(root, "an answer")
	}
	source := openWith(t, o.world, settings(o.world, map[string]any{"dateRange": "2024-02-15..2024-04-15"}))
	items, _ := walk(t, source)
	if len(items) != 9 {
		t.Errorf("%d items of three months: %q", len(items), idsOf(items))
	}
	found, missing, err := source.(connectors.Resolver).Resolve(t.Context(), []string{
		o.general + "/2024-01-15", o.general + "/2024-02-15", o.general + "/2024-04-15", o.general + "/2024-05-15", o.general + "/" + roots[0],
	})
	if err != nil || len(found) != 2 || len(missing) != 3 {
		t.Errorf("found %d, missing %q, %v", len(found), missing, err)
	}
	if items, _ := walk(t, openWith(t, o.world, settings(o.world, map[string]any{"dateRange": "30d"}))); len(items) != 0 {
		t.Errorf("of the last 30 days: %q", idsOf(items))
	}
	if items, _ := walk(t, openWith(t, o.world, settings(o.world, map[string]any{"includeFiles": false}))); len(items) != 12 {
		t.Errorf("without files: %d", len(items))
	}
}

func TestBusyDaysAndSmallPagesLoseNothing(t *testing.T) {
	t.Parallel()
	o := newTestWorkspace(t)
	want := map[string]bool{}
	for day := 1; day <= 4; day++ {
		o.world.SetClock(time.Date(2024, 5, day, 8, 0, 0, 0, time.UTC))
		want[fmt.Sprintf("%s/2024-05-%02d", o.general, day)] = true
		for n := range 350 {
			ts := o.post(fmt.Sprintf("message %d of day %d", n, day))
			if n%2 == 0 {
				o.reply(ts, "an answer")
				want[o.general+"/"+ts] = true
			}
		}
	}
	for _, limit := range []int{0, 7, 100} {
		o.world.LimitPages(limit)
		source := openWith(t, o.world, settings(o.world, nil))
		items, _ := walk(t, source)
		if got := idsOf(items); !slices.Equal(got, slices.Sorted(maps.Keys(want))) {
			t.Errorf("with pages of %d: %d items, want %d", limit, len(got), len(want))
		}
		text := content(t, source, items[o.general+"/2024-05-02"])
		if strings.Count(text, "of day 2") != 350 || strings.Contains(text, "of day 1") {
			t.Errorf("with pages of %d, the second day has %d messages", limit, strings.Count(text, "of day 2"))
		}
	}
	// A new process continues from every cursor.
	o.world.LimitPages(100)
	var pages []connectors.Page
	source := openWith(t, o.world, settings(o.world, nil))
	for cursor, done := "", false; !done; {
		page, err := source.Walk(t.Context(), cursor)
		if err != nil {
			t.Fatal(err)
		}
		again, err := openWith(t, o.world, settings(o.world, nil)).Walk(t.Context(), cursor)
		if err != nil || again.Next != page.Next || len(again.Items) != len(page.Items) || (len(page.Items) > 0 && again.Items[0].ID != page.Items[0].ID) {
			t.Fatalf("page %d read again: %d items, next %s, %v; want %d, %s", len(pages), len(again.Items), again.Next, err, len(page.Items), page.Next)
		}
		pages = append(pages, page)
		cursor, done = page.Next, page.Done
	}
	if len(pages) < 3 {
		t.Errorf("there were %d pages", len(pages))
	}
}

func TestErrorsAreClassified(t *testing.T) {
	t.Parallel()
	o := newTestWorkspace(t)
	o.post("hello")
	type kind string
	const retry, auth, fatal, other kind = "retry", "auth", "fatal", "other"
	classOf := func(err error) kind {
		if _, retryable := connectors.RetryAfterOf(err); retryable {
			return retry
		}
		switch {
		case connectors.IsNeedsAuth(err):
			return auth
		case connectors.IsFatal(err):
			return fatal
		}
		return other
	}
	for name, c := range map[string]struct {
		fault slackserver.Fault
		want  kind
		after time.Duration
		says  string
	}{
		"limited":         {slackserver.Fault{Status: 429, RetryAfter: 17, Error: "ratelimited"}, retry, 17 * time.Second, "wait"},
		"limited by word": {slackserver.Fault{Error: "ratelimited"}, retry, 30 * time.Second, "wait"},
		"broken":          {slackserver.Fault{Status: 500}, retry, 0, "cannot answer now"},
		"broken by word":  {slackserver.Fault{Error: "fatal_error"}, retry, 0, "cannot answer now"},
		"internal":        {slackserver.Fault{Error: "internal_error"}, retry, 0, "cannot answer now"},
		"no JSON":         {slackserver.Fault{Body: "<html>maintenance</html>"}, retry, 0, "JSON"},
		"JSON of others":  {slackserver.Fault{Body: `{"hello":"world"}`}, retry, 0, "JSON"},
		"revoked":         {slackserver.Fault{Error: "token_revoked"}, auth, 0, "token_revoked"},
		"inactive":        {slackserver.Fault{Error: "account_inactive"}, auth, 0, "account_inactive"},
		"no scope":        {slackserver.Fault{Body: `{"ok":false,"error":"missing_scope","needed":"channels:history","provided":"chat:write"}`}, auth, 0, "channels:history"},
		"type of token":   {slackserver.Fault{Error: "not_allowed_token_type"}, auth, 0, "xoxb-"},
		"unknown":         {slackserver.Fault{Error: "invalid_arguments"}, fatal, 0, "invalid_arguments"},
		"a lost cursor":   {slackserver.Fault{Body: `{"ok":true,"messages":[],"has_more":true}`}, retry, 0, "there is more"},
		"a false answer":  {slackserver.Fault{Body: `{"ok":true,"messages":{"a":1}}`}, retry, 0, "shape"},
	} {
		source := openWith(t, o.world, settings(o.world, nil))
		o.world.Fail("conversations.history", c.fault)
		_, err := source.Walk(t.Context(), "")
		after, _ := connectors.RetryAfterOf(err)
		if err == nil || classOf(err) != c.want || after != c.after || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "xoxb-1") {
			t.Errorf("%s: %v (%s after %v), want %s after %v", name, err, classOf(err), after, c.want, c.after)
		}
		if items, _ := walk(t, source); len(items) != 1 {
			t.Errorf("%s: the walk afterwards lists %d items", name, len(items))
		}
	}
	// An error of one channel does not affect the others.
	zoo := o.world.AddChannel(slackserver.Channel{Name: "zoo", Members: []string{o.world.BotUser}})
	o.world.Post(zoo, slackserver.Message{User: o.ada, Text: "roar"})
	o.world.Fail("conversations.history", slackserver.Fault{Error: "not_in_channel"})
	items, warnings := walk(t, openWith(t, o.world, settings(o.world, nil)))
	if len(items) != 1 || len(warnings) != 1 || !strings.Contains(warnings[0], "#general could not be read: not_in_channel") {
		t.Errorf("%q, warnings %q", idsOf(items), warnings)
	}
}

func TestCheckReportsWhatIsMissing(t *testing.T) {
	t.Parallel()
	o := newTestWorkspace(t)
	without := func(scope string) connectors.Settings {
		s := settings(o.world, map[string]any{"include_permissions": true, "includePrivate": true, "joinPublic": true})
		s.Credentials["botToken"] = o.world.Token(strings.Trim(strings.ReplaceAll(","+slackserver.AllScopes+",", ","+scope+",", ","), ","))
		return s
	}
	for scope := range strings.SplitSeq("channels:read,channels:history,channels:join,groups:read,groups:history,users:read,users:read.email,files:read", ",") {
		err := openWith(t, o.world, without(scope)).Check(t.Context())
		if !connectors.IsNeedsAuth(err) || !strings.Contains(err.Error(), scope) {
			t.Errorf("without %s: %v", scope, err)
		}
	}
	if err := openWith(t, o.world, without("none")).Check(t.Context()); err != nil {
		t.Errorf("with all scopes: %v", err)
	}
	for says, config := range map[string]map[string]any{
		"There is no channel #nowhere": {"channels": []any{"nowhere"}}, "is of the workspace T024BE7LD": {"teamId": "T999"}, "no channel is one of": {"channels": []any{"no-*"}},
	} {
		if err := openWith(t, o.world, settings(o.world, config)).Check(t.Context()); !connectors.IsFatal(err) || !strings.Contains(err.Error(), says) {
			t.Errorf("%v: %v", config, err)
		}
	}
	s := settings(o.world, nil)
	s.Credentials["botToken"] = "xoxb-made-up"
	if err := openWith(t, o.world, s).Check(t.Context()); !connectors.IsNeedsAuth(err) || strings.Contains(err.Error(), "made-up") {
		t.Errorf("an invalid token: %v", err)
	}
}

// Each tier names the scopes that it lacks.
func TestTiersOfScopes(t *testing.T) {
	t.Parallel()
	o := newTestWorkspace(t)
	tiers := func(lacking string, config map[string]any) map[connectors.TierName]string {
		s := settings(o.world, config)
		s.Credentials["botToken"] = o.world.Token(strings.Trim(strings.ReplaceAll(","+slackserver.AllScopes+",", ","+lacking+",", ","), ","))
		got, err := openWith(t, o.world, s).(connectors.TierChecker).CheckTiers(t.Context())
		if err != nil {
			t.Fatalf("CheckTiers: %v", err)
		}
		said := map[connectors.TierName]string{}
		for _, tier := range got {
			said[tier.Name] = fmt.Sprint(tier.Err)
		}
		return said
	}
	permissions := map[string]any{"include_permissions": true}
	for _, c := range []struct {
		lacking, read, permissions, webhooks string
	}{
		{"none", "<nil>", "<nil>", "<nil>"},
		{"users:read.email", "<nil>", "users:read.email", "<nil>"},
		{"users:read", "users:read", "users:read", "users:read"},
		{"files:read", "files:read", "<nil>", "files:read"},
		{"channels:history", "channels:history", "<nil>", "channels:history"},
	} {
		got := tiers(c.lacking, permissions)
		for name, says := range map[connectors.TierName]string{connectors.TierRead: c.read, connectors.TierPermissions: c.permissions, connectors.TierWebhooks: c.webhooks} {
			if !strings.Contains(got[name], says) || len(got) != 3 {
				t.Errorf("without %s, the tier %s says %q, want %q", c.lacking, name, got[name], says)
			}
		}
	}
	if got := tiers("users:read.email", nil); len(got) != 2 || got[connectors.TierRead] != "<nil>" {
		t.Errorf("without permissions: %q", got)
	}
}

func TestGrantTokenIsRenewed(t *testing.T) {
	t.Parallel()
	o := newTestWorkspace(t)
	o.post("hello")
	s := settings(o.world, nil)
	old, renewed := s.Credentials["botToken"], o.world.Token(slackserver.AllScopes)
	delete(s.Credentials, "botToken")
	o.world.Revoke(old, "token_expired")
	var refused []string
	current := old
	s.Token = func(_ context.Context, r string) (string, map[string]string, error) {
		if r != "" {
			refused = append(refused, r)
			current = renewed
		}
		return current, nil, nil
	}
	if items, _ := walk(t, openWith(t, o.world, s)); len(items) != 1 || !slices.Equal(refused, []string{old}) {
		t.Errorf("%d items, refused %q", len(items), refused)
	}
	o.world.Revoke(renewed, "token_revoked")
	if err := openWith(t, o.world, s).Check(t.Context()); !connectors.IsNeedsAuth(err) {
		t.Errorf("after the new token is rejected: %v", err)
	}
}

func TestOnlyFilesOfThePlatformAreRead(t *testing.T) {
	t.Parallel()
	o := newTestWorkspace(t)
	zoo := o.world.AddChannel(slackserver.Channel{Name: "zoo", Members: []string{o.world.BotUser}})
	id, _ := o.world.Share(o.general, slackserver.File{Name: "a.pdf", MediaType: "application/pdf", User: o.ada, Content: []byte("%PDF-")})
	o.world.ShareAgain(zoo, id)
	o.world.Share(o.general, slackserver.File{Name: "sheet", MediaType: "application/vnd.google", User: o.ada, External: "https://docs.google.example/1", Text: "the sheet"})
	source := openWith(t, o.world, settings(o.world, nil))
	items, warnings := walk(t, source)
	if got, want := idsOf(items), []string{o.general + "/2024-05-01", id}; !slices.Equal(got, want) || len(warnings) != 1 {
		t.Fatalf("%q, want %q; warnings %q", got, want, warnings)
	}
	if text := content(t, source, items[o.general+"/2024-05-01"]); !strings.Contains(text, "the sheet") || !strings.Contains(text, "File: [sheet](https://magpies.slack.com/files/") {
		t.Errorf("the day is %s", text)
	}
	if items[id].Metadata["channels"] != o.general+","+zoo || content(t, source, items[id]) != "%PDF-" {
		t.Errorf("the file is %+v", items[id])
	}
	// A sign-in page is not the file.
	s := settings(o.world, nil)
	s.Token = func(context.Context, string) (string, map[string]string, error) {
		if o.world.Calls("files.info") > 1 {
			return "xoxb-other", nil, nil
		}
		return s.Credentials["botToken"], nil, nil
	}
	reader, err := openWith(t, o.world, s).Open(t.Context(), items[id])
	if err == nil {
		_ = reader.Close()
	}
	if err == nil || connectors.IsNeedsAuth(err) || !strings.Contains(err.Error(), "sign-in page") {
		t.Errorf("Open of a sign-in page: %v", err)
	}
}

func TestReadersAndGroups(t *testing.T) {
	t.Parallel()
	o := newTestWorkspace(t)
	guest := o.world.AddUser(slackserver.User{Name: "guest", Email: "guest@example.com", UltraRestriced: true})
	gone := o.world.AddUser(slackserver.User{Name: "gone", Email: "gone@example.com"})
	alien := o.world.AddUser(slackserver.User{Name: "alien", Email: "ceo@example.com", Team: "T999"})
	vague := o.world.AddUser(slackserver.User{Name: "vague", Email: "vague@example.com", Unconfirmed: true})
	nameless := o.world.AddUser(slackserver.User{Name: "nameless"})
	robot := o.world.AddUser(slackserver.User{Name: "robot", Email: "robot@example.com", Bot: true})
	all := []string{o.world.BotUser, o.ada, guest, gone, alien, vague, nameless, robot}
	secret := o.world.AddChannel(slackserver.Channel{Name: "secret", Private: true, Members: all})
	for _, user := range []string{guest, gone, alien} {
		o.world.Invite(o.general, user)
	}
	o.world.Deactivate(gone)
	o.world.Post(secret, slackserver.Message{User: o.ada, Text: "psst"})
	root := o.post("a question")
	o.reply(root, "an answer")
	publicFile, _ := o.world.Share(o.general, slackserver.File{Name: "a.txt", MediaType: "text/plain", User: o.ada, Content: []byte("a")})
	privateFile, _ := o.world.Share(secret, slackserver.File{Name: "b.txt", MediaType: "text/plain", User: o.ada, Content: []byte("b")})
	o.world.LimitPages(3) // several pages of everything

	source := openWith(t, o.world, settings(o.world, map[string]any{"includePrivate": true, "include_permissions": true}))
	items, _ := walk(t, source)
	readers, err := source.(connectors.PermissionLister).Readers(t.Context(), append(slices.Collect(maps.Values(items)), connectors.Item{ID: "C404/2024-05-01"}, connectors.Item{ID: "x"}))
	if err != nil {
		t.Fatal(err)
	}
	public, private := []string{"group:" + o.general, "group:T024BE7LD"}, []string{"group:" + secret}
	for id, want := range map[string][]string{
		o.general + "/2024-05-01": public, o.general + "/" + root: public, publicFile: public, secret + "/2024-05-01": private, privateFile: private, "C404/2024-05-01": nil, "x": nil,
	} {
		if got := readers[id]; got.Everyone || !slices.Equal(got.Principals, want) {
			t.Errorf("the readers of %s are %+v, want %q", id, got, want)
		}
	}

	groups := map[string][]string{}
	for cursor, done := "", false; !done; {
		page, err := source.(connectors.GroupLister).Groups(t.Context(), cursor)
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range page.Groups {
			groups[g.Principal] = g.Members
		}
		cursor, done = page.Next, page.Done
	}
	ada, grace, visitor := "user:ada@example.com", "user:grace@example.com", "user:guest@example.com"
	for name, want := range map[string][]string{
		"group:T024BE7LD": {ada, grace}, "group:" + o.general: {ada, grace, visitor}, "group:" + secret: {ada, visitor},
	} {
		if !slices.Equal(groups[name], want) {
			t.Errorf("%s has %q, want %q", name, groups[name], want)
		}
	}
	if len(groups) != 3 {
		t.Errorf("the groups are %v", groups)
	}

	// A channel becomes private, a member leaves, a file is shared again.
	o.world.LimitPages(0)
	o.world.MakePrivate(o.general)
	o.world.Kick(secret, o.ada)
	o.world.ShareAgain(o.general, privateFile)
	source = openWith(t, o.world, settings(o.world, map[string]any{"includePrivate": true}))
	items, _ = walk(t, source)
	readers, err = source.(connectors.PermissionLister).Readers(t.Context(), []connectors.Item{items[publicFile], items[privateFile], {ID: privateFile}})
	if err != nil || !slices.Equal(readers[publicFile].Principals, []string{"group:" + o.general}) || len(readers[privateFile].Principals) != 2 {
		t.Errorf("afterwards %+v, %v", readers, err)
	}
	page, err := source.(connectors.GroupLister).Groups(t.Context(), "")
	if at := slices.IndexFunc(page.Groups, func(g connectors.Group) bool { return g.Principal == "group:"+secret }); err != nil || at < 0 || !slices.Equal(page.Groups[at].Members, []string{visitor}) {
		t.Errorf("afterwards %+v, %v", page, err)
	}

	// Without addresses, there are no principals.
	s := settings(o.world, nil)
	s.Credentials["botToken"] = o.world.Token("channels:read,users:read")
	if _, err := openWith(t, o.world, s).(connectors.GroupLister).Groups(t.Context(), ""); !connectors.IsNeedsAuth(err) || !strings.Contains(err.Error(), "users:read.email") {
		t.Errorf("without users:read.email: %v", err)
	}
	if _, err := source.(connectors.GroupLister).Groups(t.Context(), "x y"); err == nil {
		t.Error("Groups accepts an unknown cursor")
	}
}

func TestWalksBetweenFullWalksReadRecentMessages(t *testing.T) {
	t.Parallel()
	o := newTestWorkspace(t)
	o.world.SetClock(time.Now().AddDate(0, 0, -90))
	old := o.post("long ago")
	o.world.SetClock(time.Now().AddDate(0, 0, -2))
	o.post("recently")
	state := &connectortest.State{}
	count := func(change func(s *connectors.Settings)) int {
		s := settings(o.world, nil)
		s.State = state
		if change != nil {
			change(&s)
		}
		items, _ := walk(t, openWith(t, o.world, s))
		return len(items)
	}
	if n := count(nil); n != 2 {
		t.Errorf("the first walk lists %d items", n)
	}
	calls := o.world.Calls("users.list")
	if n := count(nil); n != 1 {
		t.Errorf("the next walk lists %d items", n)
	}
	if o.world.Calls("users.list") != calls {
		t.Error("users.list is called by each walk")
	}
	if n := count(func(s *connectors.Settings) { s.FullWalk = true }); n != 2 {
		t.Errorf("a full walk lists %d items", n)
	}
	if n := count(func(s *connectors.Settings) { s.Config["includeBots"] = true }); n != 2 {
		t.Errorf("a walk with other settings lists %d items", n)
	}
	count(func(s *connectors.Settings) { s.FullWalk = true })
	o.world.Rename(o.general, "common")
	if n := count(nil); n != 2 {
		t.Errorf("a walk after a rename lists %d items", n)
	}
	// Other processes know an edit of a thread's reply.
	answer := o.reply(old, "an answer")
	o.world.Edit(o.general, answer, "another answer")
	s := settings(o.world, nil)
	s.State = state
	found, _, err := openWith(t, o.world, s).(connectors.Resolver).Resolve(t.Context(), []string{o.general + "/" + old})
	if err != nil || len(found) != 1 {
		t.Fatalf("%d found, %v", len(found), err)
	}
	s.FullWalk = true
	items, _ := walk(t, openWith(t, o.world, s))
	if items[found[0].ID].Version != found[0].Version {
		t.Errorf("walked %s, resolved %s", items[found[0].ID].Version, found[0].Version)
	}
}

func TestSlicesOfAWalkShareTheirState(t *testing.T) {
	t.Parallel()
	o := newTestWorkspace(t)
	stranger := "U0STRANGE"
	for number := range 6 {
		c := o.world.AddChannel(slackserver.Channel{Name: fmt.Sprintf("many-%d", number), Members: []string{o.world.BotUser}})
		for day := 1; day < 20; day++ {
			o.world.SetClock(time.Date(2024, 5, day, 8, 0, 0, 0, time.UTC))
			o.world.Post(c, slackserver.Message{User: stranger, Text: "from afar"})
		}
	}
	o.world.LimitPages(10)
	state := &connectortest.State{}
	items, cursor, count := 0, "", 0
	for done := false; !done; count++ {
		s := settings(o.world, nil)
		s.State = state
		page, err := openWith(t, o.world, s).Walk(t.Context(), cursor)
		if err != nil {
			t.Fatal(err)
		}
		items, cursor, done = items+len(page.Items), page.Next, page.Done
	}
	if items != 6*19 || count < 2 {
		t.Errorf("%d items in %d slices", items, count)
	}
	for method, limit := range map[string]int{"auth.test": 1, "conversations.list": 1, "users.list": 1, "users.info": 1} {
		if calls := o.world.Calls(method); calls > limit {
			t.Errorf("%s was called %d times in %d slices", method, calls, count)
		}
	}
}

func TestTooLargeResponseIsRequestedInSmallerPages(t *testing.T) {
	t.Parallel()
	o := newTestWorkspace(t)
	o.post("hello")
	large := `{"ok":true,"messages":["` + strings.Repeat("x", 33<<20) + `"]}`
	o.world.Fail("conversations.history", slackserver.Fault{Body: large})
	if items, _ := walk(t, openWith(t, o.world, settings(o.world, nil))); len(items) != 1 {
		t.Errorf("%d items", len(items))
	}
	o.world.Fail("conversations.history", slackserver.Fault{Body: large}, slackserver.Fault{Body: large})
	if _, err := openWith(t, o.world, settings(o.world, nil)).Walk(t.Context(), ""); !connectors.IsFatal(err) {
		t.Errorf("Walk with a response that is still too large: %v", err)
	}
}
