package authn_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/identity/authn"
	"github.com/magpie-search/magpie/internal/patch"
	"github.com/magpie-search/magpie/internal/viewer"
)

// eventually waits until is returns true.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for tick := time.NewTicker(5 * time.Millisecond); !is(); {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("it never came to this: %s", what)
		}
	}
}

func system(t *testing.T) context.Context {
	return viewer.With(t.Context(), viewer.System(uuid.Nil))
}

// row returns a stored key.
func (h *fixture) row(t *testing.T, id uuid.UUID) *ent.APIKey {
	t.Helper()
	row, err := h.db.Ent.APIKey.Get(system(t), id)
	if err != nil {
		t.Fatal(err)
	}
	return row
}

func (h *fixture) create(ctx context.Context, t *testing.T, in authn.KeyDraft) *authn.CreatedKey {
	t.Helper()
	made, err := h.keys.Create(ctx, in)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// answers returns the error code for each presented key; "" for a valid one.
func answers(t *testing.T, k *authn.Keys, presented ...string) string {
	t.Helper()
	var all []string
	for _, p := range presented {
		_, err := k.Authenticate(t.Context(), p)
		if all = append(all, string(code(err))); err == nil {
			all[len(all)-1] = "ok"
		}
	}
	return strings.Join(all, " ")
}

func TestAChangedKeyTakesEffectOnOtherNodesWithinASecond(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ctx, c := h.workspace(t, "ada@example.com")
	made := h.create(ctx, t, newKey(c))
	other := h.node(t)
	if got := answers(t, other, made.Publishable, made.Secret); got != "ok ok" {
		t.Fatal(got)
	}
	seven := 7
	if _, err := h.keys.Update(ctx, made.Row.ID, authn.KeyChange{RatePerMinute: patch.Field[*int]{Given: true, Value: &seven}}); err != nil {
		t.Fatal(err)
	}
	if k, err := other.Authenticate(t.Context(), made.Secret); err != nil || k.RatePerMinute != nil {
		t.Errorf("the other node asks the database each time: %+v, %v", k, err)
	}
	if k, err := h.keys.Authenticate(t.Context(), made.Secret); err != nil || k.RatePerMinute == nil || *k.RatePerMinute != 7 {
		t.Errorf("on this node a change does not bind at once: %+v, %v", k, err)
	}
	h.clock.add(time.Second)
	if k, err := other.Authenticate(t.Context(), made.Secret); err != nil || k.RatePerMinute == nil || *k.RatePerMinute != 7 {
		t.Errorf("after a second: %+v, %v", k, err)
	}
	answers(t, other, made.Publishable)
	if _, err := h.keys.Revoke(ctx, made.Row.ID); err != nil {
		t.Fatal(err)
	}
	if got := answers(t, h.keys, made.Publishable, made.Secret); got != "invalid_key invalid_key" {
		t.Errorf("revoked, on this node: %s", got)
	}
	h.clock.add(time.Second)
	if got := answers(t, other, made.Publishable, made.Secret); got != "invalid_key invalid_key" {
		t.Errorf("revoked, on another node after a second: %s", got)
	}
}

func TestExpiryIsCheckedAtTheTimeOfTheRequest(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ctx, c := h.workspace(t, "ada@example.com")
	in := newKey(c)
	at := h.clock.now().Add(300 * time.Millisecond)
	in.ExpiresAt = &at
	made := h.create(ctx, t, in)
	if got := answers(t, h.keys, made.Secret); got != "ok" {
		t.Fatal(got)
	}
	h.clock.add(299 * time.Millisecond)
	if got := answers(t, h.keys, made.Secret); got != "ok" {
		t.Errorf("before its end: %s", got)
	}
	h.clock.add(time.Millisecond)
	if got := answers(t, h.keys, made.Secret); got != "key_expired" {
		t.Errorf("at its end, known from before: %s", got)
	}
}

func TestANewKeyWorksAtOnceAfterARefusal(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ctx, c := h.workspace(t, "ada@example.com")
	presented := authn.SecretPrefix + strings.Repeat("n", 43)
	if got := answers(t, h.keys, presented, presented); got != "invalid_key invalid_key" {
		t.Fatal(got)
	}
	sum, none := sha256.Sum256([]byte(presented)), sha256.Sum256(nil)
	err := h.db.Ent.APIKey.Create().SetName("n").SetSecretHash(sum[:]).SetPublishableHash(none[:]).SetPublishableHint("p").SetSecretHint("s").
		SetAllowedCollections([]uuid.UUID{c.ID}).SetAllowedHosts([]string{"*"}).Exec(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if got := answers(t, h.keys, presented); got != "ok" {
		t.Error(got)
	}
}

func TestUseIsRecordedOnceAMinuteAndIsNoChange(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ctx, c := h.workspace(t, "ada@example.com")
	made := h.create(ctx, t, newKey(c))
	first := h.clock.now()
	noted := func(at time.Time) func() bool {
		return func() bool { last := h.row(t, made.Row.ID).LastUsedAt; return last != nil && last.Equal(at) }
	}
	answers(t, h.keys, made.Publishable)
	eventually(t, "the first use is noted", noted(first))
	other := h.node(t)
	h.clock.add(59 * time.Second)
	answers(t, h.keys, made.Secret)
	answers(t, other, made.Secret)
	other.Close()
	if !noted(first)() {
		t.Error("a use was noted within a minute of the last")
	}
	h.clock.add(time.Second)
	answers(t, h.keys, made.Secret)
	h.keys.Close() // Close waits for the writes
	if !noted(first.Add(time.Minute))() {
		t.Errorf("after a minute: %v", h.row(t, made.Row.ID).LastUsedAt)
	}
	if row := h.row(t, made.Row.ID); !row.UpdatedAt.Equal(made.Row.UpdatedAt) {
		t.Errorf("a use changed updated_at from %v to %v", made.Row.UpdatedAt, row.UpdatedAt)
	}
}

// shared is a log that several goroutines write to.
type shared struct {
	mu    sync.Mutex
	lines bytes.Buffer
}

func (s *shared) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lines.Write(b)
}

func (s *shared) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lines.String()
}

func TestAFailedRecordOfUseFailsNoRequest(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ctx, c := h.workspace(t, "ada@example.com")
	made := h.create(ctx, t, newKey(c))
	h.asAdmin(t, `create function refuse() returns trigger language plpgsql as 'begin raise exception ''read only''; end'`,
		`create trigger refuse before update on api_keys for each row execute function refuse()`)
	log := &shared{}
	k := h.node(t, authn.WithKeyLog(slog.New(slog.NewTextHandler(log, nil))))
	for range 5 {
		if got := answers(t, k, made.Publishable, made.Secret); got != "ok ok" {
			t.Fatal(got)
		}
		h.clock.add(time.Second)
	}
	k.Close()
	if n := strings.Count(log.text(), "\n"); n != 1 || !strings.Contains(log.text(), "read only") {
		t.Errorf("logged %s", log.text())
	}
}

// asAdmin runs statements as the database's superuser.
func (h *fixture) asAdmin(t *testing.T, statements ...string) {
	t.Helper()
	connection, err := pgx.Connect(t.Context(), h.urls.AdminURL)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = connection.Close(t.Context()) }()
	for _, s := range statements {
		if _, err := connection.Exec(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
}

func TestARotationOverlaps(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ctx, c := h.workspace(t, "ada@example.com")
	in := newKey(c)
	in.Default, in.RequireSignature, in.DatabaseTools = &c.ID, true, true
	first := h.create(ctx, t, in)
	id := first.Row.ID
	rotate := func(minutes int) *authn.CreatedKey {
		t.Helper()
		made, err := h.keys.Rotate(ctx, id, minutes, nil)
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	other := h.node(t)
	answers(t, other, first.Publishable, first.Secret)
	second := rotate(60)
	if second.Publishable == first.Publishable || second.Secret == first.Secret || !strings.HasPrefix(second.Secret, second.Row.SecretHint) {
		t.Errorf("%+v", second)
	}
	row := h.row(t, id)
	if row.RotatedAt == nil || !row.RotatedAt.Equal(h.clock.now()) || !row.PreviousExpiresAt.Equal(h.clock.now().Add(time.Hour)) ||
		*row.DefaultCollection != c.ID || !row.RequireSignature || !row.DatabaseTools || row.PublishableHint != second.Row.PublishableHint {
		t.Errorf("%+v", row)
	}
	for _, k := range []*authn.Keys{h.keys, other} {
		if got := answers(t, k, first.Publishable, first.Secret, second.Publishable, second.Secret); got != "ok ok ok ok" {
			t.Errorf("during the overlap: %s", got)
		}
	}
	for _, secret := range []string{first.Secret, second.Secret} {
		key, err := h.keys.Authenticate(t.Context(), secret)
		if err != nil || key.ID != id || !key.Viewer.Secret || !key.RequireSignature || !key.Viewer.DatabaseTools {
			t.Errorf("%+v %v", key, err)
		}
	}
	h.clock.add(30 * time.Minute)
	third := rotate(60)
	h.clock.add(time.Second)
	for _, k := range []*authn.Keys{h.keys, other} {
		if got := answers(t, k, first.Publishable, first.Secret, second.Publishable, second.Secret, third.Publishable, third.Secret); got != "invalid_key invalid_key ok ok ok ok" {
			t.Errorf("after a second rotation: %s", got)
		}
	}
	h.clock.add(time.Hour - time.Second - time.Millisecond)
	if got := answers(t, other, second.Secret); got != "ok" {
		t.Errorf("just before the overlap ends: %s", got)
	}
	h.clock.add(time.Millisecond) // the cached key is fresh, but has expired
	for _, k := range []*authn.Keys{h.keys, other} {
		if got := answers(t, k, second.Publishable, second.Secret, third.Publishable, third.Secret); got != "invalid_key invalid_key ok ok" {
			t.Errorf("after the overlap: %s", got)
		}
	}
	fourth := rotate(0)
	if row := h.row(t, id); row.PreviousExpiresAt != nil || row.PreviousSecretHash != nil || row.PreviousPublishableHash != nil {
		t.Errorf("without an overlap: %+v", row)
	}
	if got := answers(t, h.keys, third.Publishable, third.Secret, fourth.Secret); got != "invalid_key invalid_key ok" {
		t.Errorf("without an overlap: %s", got)
	}
	fifth := rotate(43200)
	if _, err := h.keys.Revoke(ctx, id); err != nil {
		t.Fatal(err)
	}
	if got := answers(t, h.keys, fourth.Secret, fifth.Secret); got != "invalid_key invalid_key" {
		t.Errorf("revoked during an overlap: %s", got)
	}
	if _, err := h.keys.Rotate(ctx, id, 0, nil); code(err) != apierr.Conflict {
		t.Errorf("a revoked key was rotated: %v", err)
	}
}

func TestARotationRevivesNoKey(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ctx, c := h.workspace(t, "ada@example.com")
	in := newKey(c)
	end := h.clock.now().Add(time.Hour)
	in.ExpiresAt = &end
	first := h.create(ctx, t, in)
	later := h.clock.now().Add(1000 * time.Hour)
	second, err := h.keys.Rotate(ctx, first.Row.ID, 43200, &later)
	if err != nil {
		t.Fatal(err)
	}
	if row := second.Row; !row.ExpiresAt.Equal(later) || !row.PreviousExpiresAt.Equal(end) {
		t.Errorf("it ends at %v, the pair before at %v", row.ExpiresAt, row.PreviousExpiresAt)
	}
	h.clock.add(time.Hour)
	if got := answers(t, h.keys, first.Secret, second.Secret); got != "invalid_key ok" {
		t.Errorf("beyond the end that the old pair had: %s", got)
	}
	h.clock.add(1000 * time.Hour)
	if _, err := h.keys.Rotate(ctx, first.Row.ID, 60, nil); apierr.From(err).Field != "expiresAt" {
		t.Errorf("an expired pair was rotated as it is: %v", err)
	}
	later = h.clock.now().Add(time.Hour)
	third, err := h.keys.Rotate(ctx, first.Row.ID, 60, &later)
	if err != nil {
		t.Fatal(err)
	}
	if got := answers(t, h.keys, second.Secret, third.Secret); got != "invalid_key ok" {
		t.Errorf("an expired pair came back: %s", got)
	}
}

func TestRotationsAreChecked(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ctx, c := h.workspace(t, "ada@example.com")
	eve, _ := h.workspace(t, "eve@example.com")
	made := h.create(ctx, t, newKey(c))
	for _, minutes := range []int{-1, 43201, 1 << 62} {
		if _, err := h.keys.Rotate(ctx, made.Row.ID, minutes, nil); apierr.From(err).Field != "overlapMinutes" {
			t.Errorf("%d minutes: %v", minutes, err)
		}
	}
	past := h.clock.now()
	if _, err := h.keys.Rotate(ctx, made.Row.ID, 0, &past); apierr.From(err).Field != "expiresAt" {
		t.Errorf("an end in the past: %v", err)
	}
	if _, err := h.keys.Rotate(eve, made.Row.ID, 0, nil); code(err) != apierr.CodeNotFound {
		t.Errorf("a stranger's rotation: %v", err)
	}
	if _, err := h.keys.Update(eve, made.Row.ID, authn.KeyChange{}); code(err) != apierr.CodeNotFound {
		t.Errorf("a stranger's change: %v", err)
	}
	if got := answers(t, h.keys, made.Secret); got != "ok" {
		t.Error(got)
	}
}

func TestConcurrentRotationsAreSerialized(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ctx, c := h.workspace(t, "ada@example.com")
	first := h.create(ctx, t, newKey(c))
	const n = 6
	made := make([]*authn.CreatedKey, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			var err error
			if made[i], err = h.keys.Rotate(ctx, first.Row.ID, 60, nil); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	working := 0
	for _, m := range made {
		if answers(t, h.keys, m.Publishable, m.Secret) == "ok ok" {
			working++
		}
	}
	if working != 2 || answers(t, h.keys, first.Secret) != "invalid_key" {
		t.Errorf("%d pairs work, and the first one is %s", working, answers(t, h.keys, first.Secret))
	}
}

func TestALeakIsRecordedUntilTheKeyIsRotated(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ctx, c := h.workspace(t, "ada@example.com")
	log := &shared{}
	k := h.node(t, authn.WithKeyLog(slog.New(slog.NewTextHandler(log, nil))))
	made := h.create(ctx, t, newKey(c))
	id := made.Row.ID
	leaked := func(presented, origin string) {
		t.Helper()
		key, err := k.Authenticate(t.Context(), presented)
		if err != nil {
			t.Fatal(err)
		}
		k.ReportLeak(t.Context(), key, origin)
	}
	leaked(made.Publishable, "https://a.example")
	first := h.clock.now()
	leaked(made.Secret, "https://a.example\x00\x1b[31m\xff"+strings.Repeat("x", 1000))
	eventually(t, "the leak is flagged", func() bool { return h.row(t, id).LeakedAt != nil })
	row := h.row(t, id)
	if !row.LeakedAt.Equal(first) || !strings.HasPrefix(*row.LeakedOrigin, "https://a.example[31mxxx") || len(*row.LeakedOrigin) > 300 {
		t.Errorf("%v %q", row.LeakedAt, *row.LeakedOrigin)
	}
	warnings := func() int { return strings.Count(log.text(), "level=WARN") }
	for range 59 { // within the hour
		h.clock.add(time.Minute)
		leaked(made.Secret, "https://b.example")
	}
	if warnings() != 1 || !strings.Contains(log.text(), id.String()) || strings.Contains(log.text(), "example") || strings.Contains(log.text(), "svc_") {
		t.Errorf("logged %s", log.text())
	}
	h.clock.add(time.Minute)
	if leaked(made.Secret, "https://b.example"); warnings() != 2 {
		t.Errorf("after an hour there are %d warnings", warnings())
	}
	second, err := h.keys.Rotate(ctx, id, 60, nil)
	if err != nil {
		t.Fatal(err)
	}
	if second.Row.LeakedAt != nil || second.Row.LeakedOrigin != nil {
		t.Errorf("the new pair is flagged: %+v", second.Row)
	}
	leaked(made.Secret, "https://b.example") // the cache of k is older
	h.clock.add(time.Second)
	leaked(made.Secret, "https://b.example")
	k.Close()
	if row := h.row(t, id); row.LeakedAt != nil {
		t.Errorf("the old secret flags the new one: %v", row.LeakedAt)
	}
}

func TestMalformedKeysAreNotLookedUp(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	h.db.Close() // a query fails now
	for _, presented := range []string{"svc_sk_", "svc_pk_x", "svc_sk_" + strings.Repeat("a", 42), "svc_sk_" + strings.Repeat("a", 44),
		"svc_sk_" + strings.Repeat("a", 42) + "+", "svc_xx_" + strings.Repeat("a", 43), strings.Repeat("svc_sk_", 10_000), "svc_sk_" + strings.Repeat("é", 21) + "a"} {
		if got := answers(t, h.keys, presented); got != "invalid_key" {
			t.Errorf("%.60q: %s", presented, got)
		}
	}
	if got := answers(t, h.keys, "svc_sk_"+strings.Repeat("a", 43)); got == "invalid_key" || got == "ok" {
		t.Errorf("a key is %q without a database", got)
	}
}

// BenchmarkAuthenticate measures the authentication of a cached key.
func BenchmarkAuthenticate(b *testing.B) {
	h := newFixture(b)
	ctx, c := h.workspace(b, "ada@example.com")
	in := newKey(c)
	in.Hosts, in.Referers = []string{"docs.example.com", "*.example.com", "localhost"}, []string{"https://docs.example.com/guide"}
	made, err := h.keys.Create(ctx, in)
	if err != nil {
		b.Fatal(err)
	}
	k := authn.NewKeys(h.db.Ent, nil)
	b.Cleanup(k.Close)
	header := http.Header{"Origin": {"https://docs.example.com"}, "Referer": {"https://docs.example.com/guide/a"}}
	b.ReportAllocs()
	for b.Loop() {
		key, err := k.Authenticate(b.Context(), made.Publishable)
		if err != nil {
			b.Fatal(err)
		}
		if err := key.CheckOrigin(header); err != nil {
			b.Fatal(err)
		}
	}
}
