package inbound

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"entgo.io/ent/dialect/sql"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/connector"
	"github.com/magpie-search/magpie/internal/connector/credential"
	"github.com/magpie-search/magpie/internal/secret"
	"github.com/magpie-search/magpie/internal/viewer"
)

// recipient is a connector that deliveries may be for.
type recipient struct {
	workspace, connector uuid.UUID
	keys                 []string
	secrets              []string // any of which may sign a delivery
}

// verifies reports whether a delivery is signed with one of the secrets.
func (a *recipient) verifies(hook *connectors.Webhook, header http.Header, body []byte, now time.Time) bool {
	matches := false
	for _, s := range a.secrets {
		if hook.Verify(s, header, body, now) == nil {
			matches = true
		}
	}
	return matches
}

// directories caches the connectors of each kind, so that many deliveries do not
// read them each time.
type directories struct {
	pool   *pgxpool.Pool
	client *ent.Client
	vault  credential.Vault
	opt    Options

	mu    sync.Mutex
	kinds map[string]*cachedDirectory
}

// cachedDirectory is the last directory that was read of a kind.
type cachedDirectory struct {
	mu      sync.Mutex // held during a read
	dir     *directory
	checked time.Time // start of the last check that found dir current
}

// directory contains the connectors of one kind. It is immutable.
type directory struct {
	version string // of the rows
	byID    map[uuid.UUID]*recipient
	byKey   map[string][]*recipient
	// newest are the connectors with a secret, the last changed first.
	newest []*recipient
}

func newDirectories(pool *pgxpool.Pool, client *ent.Client, box *secret.Box, o Options) *directories {
	return &directories{pool: pool, client: client, vault: credential.NewVault(box), opt: o, kinds: map[string]*cachedDirectory{}}
}

// byKeys returns the connectors that have one of the keys.
func (d *directory) byKeys(keys []string) []*recipient {
	var found []*recipient
	for _, key := range keys {
		for _, r := range d.byKey[strings.ToLower(key)] {
			if !slices.Contains(found, r) {
				found = append(found, r)
			}
		}
	}
	return found
}

const (
	// maxChallengeSecrets is the maximum number of secrets that a challenge without
	// a connector is verified with.
	maxChallengeSecrets = 1000
	// maxChallengeBytes is the maximum size of such a challenge. Anybody may send
	// one, and each secret costs a hash of it.
	maxChallengeBytes = 4 << 10
)

// challengeCandidates returns connectors whose secrets may have signed a challenge,
// one for each secret.
func (d *directory) challengeCandidates() []*recipient {
	var found []*recipient
	tried := map[string]bool{}
	for _, r := range d.newest {
		untried := make([]string, 0, len(r.secrets))
		for _, s := range r.secrets {
			if !tried[s] && len(tried) < maxChallengeSecrets {
				tried[s] = true
				untried = append(untried, s)
			}
		}
		if len(untried) > 0 {
			found = append(found, &recipient{workspace: r.workspace, connector: r.connector, secrets: untried})
		}
		if len(tried) == maxChallengeSecrets {
			break
		}
	}
	return found
}

// cached returns a directory that is at most Options.CacheFor old.
func (a *directories) cached(ctx context.Context, kind connectors.Kind) (*directory, error) {
	return a.after(ctx, kind, a.opt.Now().Add(-a.opt.CacheFor))
}

// after returns a directory that is current at a time after moment. Concurrent
// callers share a read.
func (a *directories) after(ctx context.Context, kind connectors.Kind, moment time.Time) (*directory, error) {
	a.mu.Lock()
	s := a.kinds[kind.Name]
	if s == nil {
		s = &cachedDirectory{}
		a.kinds[kind.Name] = s
	}
	a.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dir != nil && s.checked.After(moment) {
		return s.dir, nil
	}
	start := a.opt.Now()
	version, err := a.version(ctx, kind)
	if err != nil {
		return nil, err
	}
	if s.dir == nil || s.dir.version != version {
		dir, err := a.read(ctx, kind)
		if err != nil {
			return nil, err
		}
		dir.version = version // read first, so that a later change is noticed
		s.dir = dir
	}
	s.checked = start
	return s.dir, nil
}

// version returns a value that differs after every change of a kind's connectors.
// It takes one small statement, since anybody can cause it.
func (a *directories) version(ctx context.Context, kind connectors.Kind) (version string, err error) {
	const q = `select count(*) || ' ' || coalesce(sum(hashtextextended(concat(c.id, ' ', c.updated_at, ' ', s.secret), 0)), 0)
		from connectors c left join connector_subscriptions s on s.connector_id = c.id where c.type = $1 and c.deleting_at is null`
	if err := a.pool.QueryRow(ctx, q, kind.Name).Scan(&version); err != nil {
		return "", fmt.Errorf("read the version of the connectors: %w", err)
	}
	return version, nil
}

func (a *directories) read(ctx context.Context, kind connectors.Kind) (*directory, error) {
	rows, err := a.client.Connector.Query().Where(connector.Type(kind.Name), connector.DeletingAtIsNil()).
		Select(connector.FieldID, connector.FieldWorkspaceID, connector.FieldConfig, connector.FieldCredentials).
		Order(connector.ByUpdatedAt(sql.OrderDesc()), connector.ByID()).
		All(viewer.With(ctx, viewer.System(uuid.Nil)))
	if err != nil {
		return nil, fmt.Errorf("read the connectors of a kind: %w", err)
	}
	own, err := a.ownSecrets(ctx)
	if err != nil {
		return nil, err
	}
	d := &directory{byID: make(map[uuid.UUID]*recipient, len(rows)), byKey: map[string][]*recipient{}}
	for _, row := range rows {
		r := &recipient{workspace: row.WorkspaceID, connector: row.ID}
		credentials := a.credentials(ctx, row)
		for _, s := range []string{credentials[kind.Webhook.Secret], own[row.ID]} {
			if s != "" {
				r.secrets = append(r.secrets, s)
			}
		}
		d.byID[row.ID] = r
		if len(r.secrets) > 0 {
			d.newest = append(d.newest, r)
		}
		if kind.Webhook.Keys == nil {
			continue
		}
		r.keys = kind.Webhook.Keys(connectors.Settings{ConnectorID: row.ID.String(), Config: row.Config, Credentials: credentials})
		for _, key := range r.keys {
			d.byKey[strings.ToLower(key)] = append(d.byKey[strings.ToLower(key)], r)
		}
	}
	return d, nil
}

// credentials returns the credentials of a connector, or nil if they cannot be
// decrypted. Such a connector accepts no deliveries.
func (a *directories) credentials(ctx context.Context, row *ent.Connector) map[string]string {
	values, err := a.vault.Open(row.ID, row.Credentials)
	if err != nil {
		a.opt.Log.WarnContext(ctx, "connector credentials unreadable, deliveries refused", slog.Any("connector", row.ID))
		return nil
	}
	return values
}

// ownSecrets returns the secrets that Magpie created for subscriptions.
func (a *directories) ownSecrets(ctx context.Context) (map[uuid.UUID]string, error) {
	rows, err := a.pool.Query(ctx, "select connector_id, secret from connector_subscriptions where secret is not null")
	if err != nil {
		return nil, fmt.Errorf("read the secrets of subscriptions: %w", err)
	}
	own := map[uuid.UUID]string{}
	var id uuid.UUID
	var sealed []byte
	_, err = pgx.ForEachRow(rows, []any{&id, &sealed}, func() error {
		if plain, err := a.vault.OpenWebhookSecret(id, sealed); err == nil {
			own[id] = plain
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the secrets of subscriptions: %w", err)
	}
	return own, nil
}
