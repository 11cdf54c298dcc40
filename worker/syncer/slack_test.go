package syncer_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/slack"
	entjob "github.com/magpie-search/magpie/ent/syncjob"
	"github.com/magpie-search/magpie/internal/connector/state"
	"github.com/magpie-search/magpie/internal/secret"
	"github.com/magpie-search/magpie/internal/syncjob"
	"github.com/magpie-search/magpie/internal/testkit/slackserver"
)

// A sync of a workspace indexes it, and events update and delete documents.
func TestAWorkspaceIsSynced(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.options.States = state.New(f.db.Pool)
	w := slackserver.New(t)
	ada := w.AddUser(slackserver.User{Name: "ada", RealName: "Ada Lovelace", Email: "ada@example.com"})
	general := w.AddChannel(slackserver.Channel{Name: "general", Members: []string{w.BotUser, ada}})
	w.SetClock(time.Now().AddDate(0, 0, -3).Truncate(24 * time.Hour))
	say := func(thread, text string) string {
		return w.Post(general, slackserver.Message{User: ada, Text: text, Thread: thread})
	}
	plain := say("", "The walrus sleeps on the ice.")
	root := say("", "Where is the penguin?")
	say(root, "At the other pole.")
	file, _ := w.Share(general, slackserver.File{Name: "notes.md", MediaType: "text/markdown", User: ada, Content: []byte("# Notes\n\nSeals swim.")})
	w.Events()

	registry, err := connectors.NewRegistry(slack.Kind(w.Dial))
	f.must(err)
	f.registry = registry
	f.row = f.connector("slack", map[string]any{"apiUrl": w.API(), "include_permissions": true})
	plainText, err := json.Marshal(map[string]string{"botToken": w.Token(slackserver.AllScopes), "signingSecret": "s"})
	f.must(err)
	sealed, err := f.box.Seal(plainText, secret.AAD("connectors", f.row.ID.String()))
	f.must(err)
	f.row, err = f.row.Update().SetCredentials(sealed).Save(f.ctx)
	f.must(err)
	f.work()

	job := f.sync(syncjob.StartOptions{})
	if job.Status != entjob.StatusCompleted || job.Added != 3 || job.Failed != 0 || len(job.Warnings) != 0 {
		t.Fatalf("the first job is %+v", job)
	}
	documents := f.documents()
	day := "#general/" + w.Day(plain)
	thread := day + " Where is the penguin?-" + root
	if row := documents[thread]; row == nil || row.Title != "Where is the penguin?" || row.URL == nil || !strings.Contains(*row.URL, "/archives/"+general+"/p") {
		t.Errorf("the thread is %+v of %d", row, len(documents))
	}
	if text := f.text(thread); !strings.Contains(text, "At the other pole.") {
		t.Errorf("the thread says %q", text)
	}
	if text := f.text(fmt.Sprintf("#general/files/notes-%s.md", file)); !strings.Contains(text, "Seals swim.") {
		t.Errorf("the file says %q", text)
	}

	// A sync without changes opens nothing.
	f.clock.advance(time.Hour)
	replies, downloads := w.Calls("conversations.replies"), w.Calls("download")
	if job = f.sync(syncjob.StartOptions{}); job.Unchanged != 3 || job.Added+job.Modified+job.Deleted+job.Failed != 0 {
		t.Errorf("the second job is %+v", job)
	}
	if w.Calls("conversations.replies") != replies || w.Calls("download") != downloads {
		t.Error("unchanged items were opened")
	}

	// Only the items of events are synced.
	changed := func() (items []string) {
		for _, body := range w.Events() {
			d, err := slack.Kind(w.Dial).Webhook.Parse(nil, body)
			f.must(err)
			for _, item := range d.Items {
				if !slices.Contains(items, item) {
					items = append(items, item)
				}
			}
		}
		return items
	}
	w.Edit(general, plain, "The seal sleeps on the ice.")
	say(root, "No, in the zoo.")
	if job = f.sync(incremental(changed()...)); job.Status != entjob.StatusCompleted || job.Modified != 2 || job.Deleted != 0 {
		t.Errorf("the job of the changes is %+v", job)
	}
	if text := f.text(day); !strings.Contains(text, "The seal sleeps") || strings.Contains(text, "walrus") {
		t.Errorf("the day says %q", text)
	}
	if text := f.text(thread); !strings.Contains(text, "in the zoo") {
		t.Errorf("the thread says %q", text)
	}
	w.DeleteFile(file)
	w.Delete(general, plain)
	lone := say("", "alone")
	w.Delete(general, lone)
	if job = f.sync(incremental(changed()...)); job.Status != entjob.StatusCompleted || job.Deleted != 1 || job.Modified != 1 {
		t.Errorf("the job of the deletions is %+v", job)
	}
	if live := f.live(); live != 2 {
		t.Errorf("%d documents are left, want the thread and its first day", live)
	}
}
