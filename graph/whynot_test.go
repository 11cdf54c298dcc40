package graph_test

import (
	"strings"
	"testing"
	"time"

	"github.com/magpie-search/magpie/ent/membership"
	"github.com/magpie-search/magpie/ent/syncitem"
	"github.com/magpie-search/magpie/internal/viewer"
)

// whyNot asks why a search does not find a document.
func (d *dossier) whyNot(v viewer.Viewer, query, document, user string) answer {
	d.t.Helper()
	input := map[string]any{"query": query, "document": document, "minScore": 0.5}
	if user != "" {
		input["asUser"] = user
	}
	return d.h.ask(d.t, v, `query($i: SearchWhyNotInput!) { searchWhyNot(input: $i) { documentId title found reason explanation change itemStatus itemReason
		itemHold rank place score visibility { rule } bestPassage { words { text } } } }`, map[string]any{"i": input})
}

func TestWhyNotShowsOnlyReadableDocuments(t *testing.T) {
	t.Parallel()
	d := newDossier(t)
	id := d.document.String()
	if got := d.whyNot(d.reader, "quokka grass", id, ""); got.at("searchWhyNot.reason") != "FOUND" || got.at("searchWhyNot.title") != "Vermilion dossier" ||
		got.at("searchWhyNot.rank") != 1.0 || got.at("searchWhyNot.itemHold") != "QUARANTINED" {
		t.Errorf("the reader: %s", got.body)
	}
	if got := d.whyNot(d.reader, "quarterly tax return", "vermilion.md", ""); got.at("searchWhyNot.reason") != "NO_COMMON_WORD" || got.at("searchWhyNot.place") == nil {
		t.Errorf("another question: %s", got.body)
	}
	unknown := d.whyNot(d.stranger, "quokka grass", "018f0000-0000-8000-8000-000000000000", "").body
	for _, document := range []string{id, "vermilion.md", "Vermilion dossier", d.item.String()} {
		if got := d.whyNot(d.stranger, "quokka grass", document, ""); got.body != unknown || got.at("searchWhyNot.reason") != "NO_SUCH_DOCUMENT" {
			t.Errorf("a stranger who asks for %s: %s", document, got.body)
		}
	}
	if got := d.whyNot(d.reader, "quokka", id, "stranger@example.com"); got.code() != "forbidden" {
		t.Errorf("an editor asks for another person: %s", got.body)
	}
	for user, want := range map[string]string{"stranger@example.com": "NOT_READABLE", "reader@example.com": "HIDDEN"} {
		got := d.whyNot(d.viewer, "quokka grass", id, user)
		if got.at("searchWhyNot.reason") != want || got.at("searchWhyNot.title") != nil || got.at("searchWhyNot.place") != nil || strings.Contains(got.body, marker) {
			t.Errorf("an owner asks for %s: %s", user, got.body)
		}
		if rule := got.at("searchWhyNot.visibility.rule"); (rule == "NOT_LISTED") != (want == "NOT_READABLE") {
			t.Errorf("the rule for %s is %v", user, rule)
		}
	}
	admin := d.h.member(t, d.tenant, "admin@example.com", membership.RoleAdmin)
	admin.Email, admin.Verified = "reader@example.com", true
	if got := d.whyNot(admin, "quokka grass", id, "reader@example.com"); got.at("searchWhyNot.reason") != "FOUND" {
		t.Errorf("an administrator who may read it: %s", got.body)
	}
	if got := d.whyNot(d.viewer, "quokka", id, "nobody"); got.code() != "invalid_request" {
		t.Errorf("no address: %s", got.body)
	}
	if got := d.whyNot(d.viewer, "quokka", " ", ""); got.code() != "invalid_request" {
		t.Errorf("no document: %s", got.body)
	}
}

func TestWhyNotSaysWhatTheLedgerSays(t *testing.T) {
	t.Parallel()
	d := newDossier(t)
	system := viewer.With(t.Context(), viewer.System(d.viewer.Workspace))
	d.must(d.h.db.Ent.Connector.UpdateOneID(d.connector).SetConfig(map[string]any{}).Exec(system))
	for path, c := range map[string]struct {
		status    syncitem.Status
		reason    string
		suppress  bool
		want      string
		sentences string
	}{
		"movie.mp4":  {syncitem.StatusSkipped, "The format is not supported.", false, "NOT_INDEXED", "skipped the item: The format is not supported."},
		"broken.pdf": {syncitem.StatusFailed, "The file is damaged.", false, "NOT_INDEXED", "could not be indexed: The file is damaged."},
		"new.md":     {syncitem.StatusPending, "", false, "NOT_INDEXED", "waits to be indexed."},
		"old.md":     {syncitem.StatusDeleted, "deleted by hand", true, "DELETED", "was deleted: deleted by hand."},
	} {
		create := d.h.db.Ent.SyncItem.Create().SetConnectorID(d.connector).SetJobID(d.job).SetSourceID(path).SetPath("folder/" + path).SetStatus(c.status).SetSuppressed(c.suppress)
		if c.reason != "" {
			create.SetReason(c.reason)
		}
		d.must(create.Exec(system))
		got := d.whyNot(d.stranger, "anything", "folder/"+path, "")
		explanation, _ := got.at("searchWhyNot.explanation").(string)
		if got.at("searchWhyNot.reason") != c.want || !strings.Contains(explanation, c.sentences) || got.at("searchWhyNot.itemStatus") != string(c.status) {
			t.Errorf("%s: %s", path, got.body)
		}
		if change, _ := got.at("searchWhyNot.change").(string); c.suppress != strings.Contains(change, "allow the item") {
			t.Errorf("%s: change %q", path, change)
		}
	}
	d.must(d.h.db.Ent.Document.UpdateOneID(d.document).SetStatus("DELETED").SetDeletedAt(time.Now()).Exec(system))
	d.must(d.h.db.Ent.Connector.UpdateOneID(d.connector).SetConfig(map[string]any{}).Exec(system))
	if got := d.whyNot(d.reader, "quokka", d.document.String(), ""); got.at("searchWhyNot.reason") != "DELETED" {
		t.Errorf("a deleted document: %s", got.body)
	}
}
