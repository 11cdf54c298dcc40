package inbound_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.uber.org/goleak"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/gid"
	entjob "github.com/magpie-search/magpie/ent/syncjob"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/connector/inbound"
	"github.com/magpie-search/magpie/internal/queue"
	"github.com/magpie-search/magpie/internal/secret"
	"github.com/magpie-search/magpie/internal/store"
	"github.com/magpie-search/magpie/internal/syncjob"
	"github.com/magpie-search/magpie/internal/testkit"
	"github.com/magpie-search/magpie/internal/viewer"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type source struct{}

func (source) Walk(context.Context, string) (connectors.Page, error) {
	return connectors.Page{Done: true}, nil
}
func (source) Open(context.Context, connectors.Item) (io.ReadCloser, error) {
	return nil, connectors.ErrNotFound
}
func (source) Check(context.Context) error { return nil }
func (source) Close() error                { return nil }

// notification is the body of a delivery of the kind "teller".
type notification struct {
	ID, Room         string
	Items            []string
	All, Permissions bool
	Renew            bool
	Answer           string
}

// testKind returns a kind whose platform signs bodies and names rooms.
func testKind() connectors.Kind {
	read := func(body []byte) (t notification, err error) {
		if json.Unmarshal(body, &t) != nil {
			return t, connectors.ErrDelivery
		}
		return t, nil
	}
	return connectors.Kind{
		Name: "teller", Title: "Teller", Description: "Tells.",
		Options:     []connectors.Option{{Name: "rooms", Title: "Rooms", Type: connectors.TypeStringList}},
		Credentials: []connectors.Option{{Name: "hook", Title: "Secret", Type: connectors.TypeString, Sensitive: true}},
		Webhook: &connectors.Webhook{
			Secret: "hook", Subscribes: true,
			Keys: func(s connectors.Settings) []string { return s.Strings("rooms") },
			Route: func(_ http.Header, body []byte) ([]string, error) {
				t, err := read(body)
				if t.Room == "" {
					return nil, err
				}
				return []string{t.Room}, err
			},
			IsChallenge: func(body []byte) bool { t, err := read(body); return err == nil && t.Answer != "" },
			Verify: func(secret string, header http.Header, body []byte, now time.Time) error {
				at, err := strconv.ParseInt(header.Get("X-At"), 10, 64)
				if err != nil || now.Sub(time.Unix(at, 0)).Abs() > 5*time.Minute || !hmac.Equal([]byte(sign(secret, at, body)), []byte(header.Get("X-Signature"))) {
					return connectors.ErrSignature
				}
				return nil
			},
			Parse: func(_ http.Header, body []byte) (connectors.Delivery, error) {
				t, err := read(body)
				d := connectors.Delivery{ID: t.ID, Items: t.Items, AllChanged: t.All, PermissionsChanged: t.Permissions, RenewSubscription: t.Renew}
				if t.Answer != "" {
					d.Response = []byte(t.Answer)
				}
				return d, err
			},
		},
		New: func(context.Context, connectors.Settings) (connectors.Source, error) { return source{}, nil },
	}
}

func sign(secret string, at int64, body []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(strconv.FormatInt(at, 10)))
	mac.Write(body)
	return hex.EncodeToString(mac.Sum(nil))
}

type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

type fakeQueue struct{}

func (fakeQueue) Enqueue(context.Context, queue.Task) error { return nil }

// bus drops all events.
type bus struct{}

func (bus) Publish(context.Context, syncjob.Event) error { return nil }
func (bus) Subscribe(uuid.UUID) syncjob.Subscription     { return nil }
func (bus) Listen(func(syncjob.Snapshot)) (untap func()) { return func() {} }

type fixture struct {
	t     *testing.T
	db    *store.DB
	box   *secret.Box
	clock *clock
	jobs  *syncjob.Jobs
	inbox *inbound.Inbox
	work  *inbound.Dispatcher
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	h := &fixture{t: t, clock: &clock{at: time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)}}
	var err error
	h.db, err = store.Open(t.Context(), testkit.Database(t).AppURL, 8)
	h.must(err)
	t.Cleanup(h.db.Close)
	h.box, err = secret.NewBox(map[string][]byte{"k": make([]byte, secret.KeyBytes)}, "k")
	h.must(err)
	kinds, err := connectors.NewRegistry(testKind())
	h.must(err)
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	h.jobs = syncjob.New(h.db.Ent, fakeQueue{}, bus{}, h.clock.now, syncjob.WithLog(log))
	t.Cleanup(h.jobs.Close)
	options := inbound.Options{Now: h.clock.now, Log: log}
	h.inbox = inbound.New(h.db.Pool, h.db.Ent, kinds, h.box, options)
	h.work = inbound.NewDispatcher(h.db.Pool, h.jobs, options)
	return h
}

func (h *fixture) must(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

// connector creates a workspace with a connector of the kind.
func (h *fixture) connector(word string, rooms ...any) *ent.Connector {
	h.t.Helper()
	system := viewer.With(h.t.Context(), viewer.System(uuid.Nil))
	workspace, err := h.db.Ent.Workspace.Create().SetName("W").Save(system)
	h.must(err)
	inside := viewer.With(h.t.Context(), viewer.System(workspace.ID))
	collection, err := h.db.Ent.Collection.Create().SetName("C").SetEmbeddingModel("builtin").Save(inside)
	h.must(err)
	id := gid.New(gid.Connector)
	create := h.db.Ent.Connector.Create().SetID(id).SetName("K").SetType("teller").SetCollectionID(collection.ID).SetConfig(map[string]any{"rooms": rooms})
	if word != "" {
		sealed, err := h.box.Seal([]byte(`{"hook":"`+word+`"}`), secret.AAD("connectors", id.String()))
		h.must(err)
		create.SetCredentials(sealed)
	}
	row, err := create.Save(inside)
	h.must(err)
	return row
}

// send delivers a notification, signed with a secret. The code is "" on success.
func (h *fixture) send(word string, to uuid.UUID, t notification) (answer string, code apierr.Code) {
	h.t.Helper()
	body, err := json.Marshal(t)
	h.must(err)
	at := h.clock.now().Unix()
	header := http.Header{"X-At": {strconv.FormatInt(at, 10)}, "X-Signature": {sign(word, at, body)}}
	out, err := h.inbox.Deliver(h.t.Context(), "teller", to, header, body)
	if err != nil {
		return "", apierr.From(err).Code
	}
	return string(out), ""
}

func (h *fixture) accept(word string, to uuid.UUID, t notification) {
	h.t.Helper()
	if _, code := h.send(word, to, t); code != "" {
		h.t.Fatalf("%+v was refused: %s", t, code)
	}
}

// dispatch lets deliveries become due and dispatches them.
func (h *fixture) dispatch() int {
	h.t.Helper()
	h.clock.advance(10 * time.Second)
	n, err := h.work.Dispatch(h.t.Context())
	h.must(err)
	return n
}

// jobsOf returns the jobs of a connector, the oldest first.
func (h *fixture) jobsOf(row *ent.Connector) []*ent.SyncJob {
	h.t.Helper()
	rows, err := h.db.Ent.SyncJob.Query().Where(entjob.ConnectorID(row.ID)).Order(ent.Asc(entjob.FieldCreatedAt)).
		All(viewer.With(h.t.Context(), viewer.System(row.WorkspaceID)))
	h.must(err)
	return rows
}

func (h *fixture) finish(job *ent.SyncJob, status entjob.Status) {
	h.t.Helper()
	h.must(h.db.Ent.SyncJob.UpdateOne(job).SetStatus(status).Exec(viewer.With(h.t.Context(), viewer.System(job.WorkspaceID))))
}

func (h *fixture) count(where string) (n int) {
	h.t.Helper()
	h.must(h.db.Pool.QueryRow(h.t.Context(), "select count(*) from inbound_events where "+where).Scan(&n))
	return n
}

func names(job *ent.SyncJob) string { return strings.Join(job.FileFilter, " ") }
