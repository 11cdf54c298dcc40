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

// addressee is a connector that deliveries may be for.
type addressee struct {
	workspace, connector uuid.UUID
	keys                 []string
	secrets              []string // one of which deliveries are made with
}

// verifies reports whether a delivery was made with one of the secrets.
func (a *addressee) verifies(hook *connectors.Webhook, header http.Header, body []byte, now time.Time) bool {
	matches := false
	for _, s := range a.secrets {
		if hook.Verify(s, header, body, now) == nil {
			matches = true
		}
	}
	return matches
}

// addressees knows the connectors of each kind for a moment, so that a storm of
// deliveries does not read them again and again.
type addressees struct {
	pool   *pgxpool.Pool
	client *ent.Client
	vault  credential.Vault
	opt    Options

	mu    sync.Mutex
	kinds map[string]*shelf
}

// shelf holds what was last read of a kind's connectors.
type shelf struct {
	mu      sync.Mutex // held while they are read
	dir     *directory
	checked time.Time // the start of the last look that found dir to be true
}

// directory is the connectors of one kind. It does not change.
type directory struct {
	stamp string // of the rows it was read from
	byID  map[uuid.UUID]*addressee
	byKey map[string][]*addressee
	// newest are the connectors with a secret, the last changed one first.
	newest []*addressee
}

func newAddressees(pool *pgxpool.Pool, client *ent.Client, box *secret.Box, o Options) *addressees {
	return &addressees{pool: pool, client: client, vault: credential.NewVault(box), opt: o, kinds: map[string]*shelf{}}
}

// named are the connectors that one of the keys stands for.
func (d *directory) named(keys []string) []*addressee {
	var found []*addressee
	for _, key := range keys {
		for _, one := range d.byKey[strings.ToLower(key)] {
			if !slices.Contains(found, one) {
				found = append(found, one)
			}
		}
	}
	return found
}

const (
	// maxTried is how many secrets a challenge that names no connector is tried with.
	maxTried = 1000
	// maxChallenge is the longest body of such a challenge, in bytes: each of those
	// secrets costs a hash of it, and strangers may send it.
	maxChallenge = 4 << 10
)

// challenged are connectors one of whose secrets a challenge may be made with,
// one for each secret.
func (d *directory) challenged() []*addressee {
	var found []*addressee
	tried := map[string]bool{}
	for _, one := range d.newest {
		fresh := make([]string, 0, len(one.secrets))
		for _, s := range one.secrets {
			if !tried[s] && len(tried) < maxTried {
				tried[s] = true
				fresh = append(fresh, s)
			}
		}
		if len(fresh) > 0 {
			found = append(found, &addressee{workspace: one.workspace, connector: one.connector, secrets: fresh})
		}
		if len(tried) == maxTried {
			break
		}
	}
	return found
}

// known is what was true of a kind's connectors at most Options.Known ago.
func (a *addressees) known(ctx context.Context, kind connectors.Kind) (*directory, error) {
	return a.since(ctx, kind, a.opt.Now().Add(-a.opt.Known))
}

// since is what was true of a kind's connectors after a moment. Callers that wait
// for one another share a look.
func (a *addressees) since(ctx context.Context, kind connectors.Kind, moment time.Time) (*directory, error) {
	a.mu.Lock()
	s := a.kinds[kind.Name]
	if s == nil {
		s = &shelf{}
		a.kinds[kind.Name] = s
	}
	a.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dir != nil && s.checked.After(moment) {
		return s.dir, nil
	}
	began := a.opt.Now()
	stamp, err := a.stamp(ctx, kind)
	if err != nil {
		return nil, err
	}
	if s.dir == nil || s.dir.stamp != stamp {
		dir, err := a.read(ctx, kind)
		if err != nil {
			return nil, err
		}
		dir.stamp = stamp // from before, so that what changed in between is seen
		s.dir = dir
	}
	s.checked = began
	return s.dir, nil
}

// stamp differs after every change of a kind's connectors. It is had in one small
// statement, since strangers can make the service ask for it.
func (a *addressees) stamp(ctx context.Context, kind connectors.Kind) (stamp string, err error) {
	const q = `select count(*) || ' ' || coalesce(sum(hashtextextended(concat(c.id, ' ', c.updated_at, ' ', s.secret), 0)), 0)
		from connectors c left join connector_subscriptions s on s.connector_id = c.id where c.type = $1 and c.deleting_at is null`
	if err := a.pool.QueryRow(ctx, q, kind.Name).Scan(&stamp); err != nil {
		return "", fmt.Errorf("look for changes of a kind's connectors: %w", err)
	}
	return stamp, nil
}

func (a *addressees) read(ctx context.Context, kind connectors.Kind) (*directory, error) {
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
	d := &directory{byID: make(map[uuid.UUID]*addressee, len(rows)), byKey: map[string][]*addressee{}}
	for _, row := range rows {
		one := &addressee{workspace: row.WorkspaceID, connector: row.ID}
		credentials := a.credentials(ctx, row)
		for _, s := range []string{credentials[kind.Webhook.Secret], own[row.ID]} {
			if s != "" {
				one.secrets = append(one.secrets, s)
			}
		}
		d.byID[row.ID] = one
		if len(one.secrets) > 0 {
			d.newest = append(d.newest, one)
		}
		if kind.Webhook.Keys == nil {
			continue
		}
		one.keys = kind.Webhook.Keys(connectors.Settings{ConnectorID: row.ID.String(), Config: row.Config, Credentials: credentials})
		for _, key := range one.keys {
			d.byKey[strings.ToLower(key)] = append(d.byKey[strings.ToLower(key)], one)
		}
	}
	return d, nil
}

// credentials opens a connector's; one that cannot be opened takes no deliveries.
func (a *addressees) credentials(ctx context.Context, row *ent.Connector) map[string]string {
	credentials, err := a.vault.Open(row.ID, row.Credentials)
	if err != nil {
		a.opt.Log.WarnContext(ctx, "the credentials of a connector cannot be opened, so it takes no deliveries", slog.Any("connector", row.ID))
		return nil
	}
	return credentials
}

// ownSecrets are those that Magpie made for subscriptions.
func (a *addressees) ownSecrets(ctx context.Context) (map[uuid.UUID]string, error) {
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
