package access

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/connector"
	"github.com/magpie-search/magpie/ent/document"
	"github.com/magpie-search/magpie/internal/connector/credential"
	"github.com/magpie-search/magpie/internal/connector/throttle"
	"github.com/magpie-search/magpie/internal/ingest/entryid"
	"github.com/magpie-search/magpie/internal/store/ttlcache"
	"github.com/magpie-search/magpie/internal/viewer"
)

const (
	// AnswerAge is how long an answer of a source counts.
	AnswerAge = 5 * time.Minute
	// defaultTimeout is the default of Options.Timeout.
	defaultTimeout = 4 * time.Second
	// maxAnswers bounds the answers that are kept.
	maxAnswers = 200_000
	// retryInterval is the time for which a source that did not answer is not asked.
	retryInterval = 10 * time.Second
)

// Options are the parts of a Verifier. Limiters, Token and Log may be nil.
type Options struct {
	Ent      *ent.Client
	Kinds    *connectors.Registry
	Vault    credential.Vault
	Limiters *throttle.Limiters
	// Token returns the function that returns the tokens of an OAuth grant.
	Token func(workspace, grant uuid.UUID) func(ctx context.Context, refused string) (string, map[string]string, error)
	// Timeout bounds the time that a source has for an answer; default: 4 s.
	Timeout time.Duration
	Now     func() time.Time
	Log     *slog.Logger
}

// A Verifier implements [viewer.Verifier]. It is safe for concurrent use. Close it.
type Verifier struct {
	o      Options
	active *ttlcache.Cache[uuid.UUID, map[uuid.UUID]*ent.Connector] // that verify, by workspace

	mu      sync.Mutex
	sources map[uuid.UUID]*opened
	answers map[question]answer
	failed  map[uuid.UUID]time.Time // of sources that do not answer
}

var _ viewer.Verifier = (*Verifier)(nil)

type opened struct {
	source      connectors.Source
	fingerprint string
}

// A question is whether a person may read an item.
type question struct {
	connector   uuid.UUID
	email, item string
}

type answer struct {
	readable bool
	at       time.Time
}

// New returns a Verifier.
func New(o Options) *Verifier {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Timeout <= 0 {
		o.Timeout = defaultTimeout
	}
	v := &Verifier{o: o, sources: map[uuid.UUID]*opened{}, answers: map[question]answer{}, failed: map[uuid.UUID]time.Time{}}
	v.active = ttlcache.New(v.load, ttlcache.Options{MaxAge: 2 * time.Second})
	return v
}

// Close closes the sources.
func (v *Verifier) Close() {
	v.active.Close()
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, s := range v.sources {
		_ = s.source.Close()
	}
	clear(v.sources)
}

// load returns the connectors of a workspace that verify access.
func (v *Verifier) load(ctx context.Context, workspace uuid.UUID) (map[uuid.UUID]*ent.Connector, bool, error) {
	var kinds []string
	for _, kind := range v.o.Kinds.Kinds() {
		if kind.VerifiesAccess {
			kinds = append(kinds, kind.Name)
		}
	}
	found := map[uuid.UUID]*ent.Connector{}
	if len(kinds) == 0 {
		return found, true, nil
	}
	rows, err := v.o.Ent.Connector.Query().Where(connector.TypeIn(kinds...)).All(viewer.With(ctx, viewer.System(workspace)))
	if err != nil {
		return nil, false, fmt.Errorf("read the connectors that verify access: %w", err)
	}
	for _, row := range rows {
		if (connectors.Settings{Config: row.Config}).VerifiesAccess() {
			found[row.ID] = row
		}
	}
	return found, true, nil
}

// Verifies implements [viewer.Verifier].
func (v *Verifier) Verifies(ctx context.Context, workspace uuid.UUID) (bool, error) {
	active, _, err := v.active.Get(ctx, workspace)
	return len(active) > 0, err
}

// HiddenNow implements [viewer.Verifier].
func (v *Verifier) HiddenNow(ctx context.Context, workspace uuid.UUID, email string, documents []uuid.UUID) (viewer.Verdict, error) {
	verdict := viewer.Verdict{Hidden: map[uuid.UUID]bool{}}
	active, _, err := v.active.Get(ctx, workspace)
	if err != nil || len(active) == 0 {
		return verdict, err
	}
	rows, err := v.o.Ent.Document.Query().Where(document.IDIn(documents...), document.ConnectorIDIn(slices.Collect(maps.Keys(active))...)).
		Select(document.FieldID, document.FieldConnectorID, document.FieldSourceID).All(viewer.With(ctx, viewer.System(workspace)))
	if err != nil {
		return verdict, fmt.Errorf("read the sources of documents: %w", err)
	}
	items := map[uuid.UUID]map[string][]uuid.UUID{} // documents by connector and item
	for _, row := range rows {
		item := row.SourceID
		if archive, inside := entryid.Archive(item); inside {
			item = archive
		}
		if items[row.ConnectorID] == nil {
			items[row.ConnectorID] = map[string][]uuid.UUID{}
		}
		items[row.ConnectorID][item] = append(items[row.ConnectorID][item], row.ID)
	}
	var mutex sync.Mutex
	var group sync.WaitGroup
	for id, byItem := range items {
		group.Go(func() {
			readable, answered := v.ask(ctx, active[id], email, slices.Sorted(maps.Keys(byItem)))
			mutex.Lock()
			defer mutex.Unlock()
			verdict.Unanswered = verdict.Unanswered || !answered
			for item, ids := range byItem {
				for _, document := range ids {
					if !readable[item] {
						verdict.Hidden[document] = true
					}
				}
			}
		})
	}
	group.Wait()
	return verdict, ctx.Err()
}

// ask returns which items of a connector a person may read, and whether the source
// answered.
func (v *Verifier) ask(ctx context.Context, row *ent.Connector, email string, items []string) (readable map[string]bool, answered bool) {
	readable = map[string]bool{}
	if email == "" {
		return readable, true
	}
	now := v.o.Now()
	var unknown []string
	v.mu.Lock()
	for _, item := range items {
		if a, known := v.answers[question{row.ID, email, item}]; known && now.Sub(a.at) < AnswerAge && !now.Before(a.at) {
			readable[item] = a.readable
		} else {
			unknown = append(unknown, item)
		}
	}
	failed, isFailing := v.failed[row.ID]
	v.mu.Unlock()
	if len(unknown) == 0 {
		return readable, true
	}
	if isFailing && now.Sub(failed) < retryInterval && !now.Before(failed) {
		return readable, false
	}
	inside, cancel := context.WithTimeout(ctx, v.o.Timeout)
	defer cancel()
	for part := range slices.Chunk(unknown, connectors.MaxPageItems) {
		found, err := v.verify(inside, row, email, part)
		if err != nil {
			if ctx.Err() == nil { // else the caller is gone
				v.fail(ctx, row, err)
			}
			return readable, false
		}
		v.mu.Lock()
		delete(v.failed, row.ID)
		if len(v.answers) > maxAnswers {
			clear(v.answers)
		}
		for _, item := range part {
			readable[item] = found[item]
			v.answers[question{row.ID, email, item}] = answer{found[item], now}
		}
		v.mu.Unlock()
	}
	return readable, true
}

// verify asks the source.
func (v *Verifier) verify(ctx context.Context, row *ent.Connector, email string, items []string) (map[string]bool, error) {
	source, err := v.open(ctx, row)
	if err != nil {
		return nil, err
	}
	verifier, ok := source.(connectors.AccessVerifier)
	if !ok {
		return nil, fmt.Errorf("sources of the type %s cannot verify access", row.Type)
	}
	return verifier.VerifyAccess(ctx, email, items)
}

// open returns the source of a connector, which stays open until its settings change.
func (v *Verifier) open(ctx context.Context, row *ent.Connector) (connectors.Source, error) {
	fingerprint := fmt.Sprintf("%v %x %v", row.Config, row.Credentials, row.GrantID)
	v.mu.Lock()
	known := v.sources[row.ID]
	v.mu.Unlock()
	if known != nil && known.fingerprint == fingerprint {
		return known.source, nil
	}
	kind, ok := v.o.Kinds.Lookup(row.Type)
	if !ok {
		return nil, fmt.Errorf("there is no type %s", row.Type)
	}
	settings, err := v.o.Vault.Settings(row)
	if err != nil {
		return nil, err
	}
	if row.GrantID != nil && v.o.Token != nil {
		settings.Token = v.o.Token(row.WorkspaceID, *row.GrantID)
	}
	if v.o.Limiters != nil {
		settings.Limiter = v.o.Limiters.For(kind, settings, row.GrantID).Wait
	}
	source, err := kind.New(ctx, settings)
	if err != nil {
		return nil, err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if old := v.sources[row.ID]; old != nil {
		_ = old.source.Close() // which ends no request
	}
	v.sources[row.ID] = &opened{source, fingerprint}
	return source, nil
}

// fail remembers and logs that a source does not answer.
func (v *Verifier) fail(ctx context.Context, row *ent.Connector, err error) {
	v.mu.Lock()
	v.failed[row.ID] = v.o.Now()
	v.mu.Unlock()
	v.o.Log.WarnContext(ctx, "access not verified, documents are hidden", slog.String("connector", row.ID.String()),
		slog.String("error", strings.ToValidUTF8(v.redacted(row, err), "?")))
}

// redacted returns the message of an error without the connector's credentials.
func (v *Verifier) redacted(row *ent.Connector, err error) string {
	settings, unsealed := v.o.Vault.Settings(row)
	if kind, ok := v.o.Kinds.Lookup(row.Type); ok && unsealed == nil {
		return kind.Redact(err.Error(), settings.Credentials)
	}
	return err.Error() // nothing was sent: the credentials could not be read
}
