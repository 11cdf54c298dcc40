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

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"magpie/connectors"
	"magpie/ent"
	"magpie/ent/connector"
	"magpie/internal/secret"
	"magpie/internal/viewer"
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
// deliveries does not ask for them again and again.
type addressees struct {
	pool   *pgxpool.Pool
	client *ent.Client
	box    *secret.Box
	opt    Options

	mu    sync.Mutex
	kinds map[string]*directory
}

type directory struct {
	mu    sync.Mutex // held while it is read
	at    time.Time
	byID  map[uuid.UUID]*addressee
	byKey map[string][]*addressee
}

func newAddressees(pool *pgxpool.Pool, client *ent.Client, box *secret.Box, o Options) *addressees {
	return &addressees{pool: pool, client: client, box: box, opt: o, kinds: map[string]*directory{}}
}

// leastAge keeps deliveries for nobody from reading the connectors each time.
const leastAge = time.Second

func (a *addressees) byID(ctx context.Context, kind connectors.Kind, id uuid.UUID) (*addressee, error) {
	var found *addressee
	err := a.look(ctx, kind, func(d *directory) bool { found = d.byID[id]; return found != nil })
	return found, err
}

func (a *addressees) byKeys(ctx context.Context, kind connectors.Kind, keys []string) ([]*addressee, error) {
	var found []*addressee
	err := a.look(ctx, kind, func(d *directory) bool {
		found = nil
		for _, key := range keys {
			for _, one := range d.byKey[strings.ToLower(key)] {
				if !slices.Contains(found, one) {
					found = append(found, one)
				}
			}
		}
		return len(found) > 0
	})
	return found, err
}

// look calls find with what is known of a kind's connectors, and once more with
// what is known then, when it found nothing and that may be because it is new.
func (a *addressees) look(ctx context.Context, kind connectors.Kind, find func(*directory) bool) error {
	a.mu.Lock()
	d := a.kinds[kind.Name]
	if d == nil {
		d = &directory{}
		a.kinds[kind.Name] = d
	}
	a.mu.Unlock()
	d.mu.Lock()
	defer d.mu.Unlock()
	age := a.opt.Now().Sub(d.at)
	if age < a.opt.Known && age >= 0 && (find(d) || age < leastAge) {
		return nil
	}
	if err := a.read(ctx, kind, d); err != nil {
		return err
	}
	find(d)
	return nil
}

// expire has a kind's connectors read again, unless that was done a moment ago.
func (a *addressees) expire(kind connectors.Kind) bool {
	a.mu.Lock()
	d := a.kinds[kind.Name]
	a.mu.Unlock()
	if d == nil {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if a.opt.Now().Sub(d.at) < leastAge {
		return false
	}
	d.at = time.Time{}
	return true
}

func (a *addressees) read(ctx context.Context, kind connectors.Kind, d *directory) error {
	rows, err := a.client.Connector.Query().Where(connector.Type(kind.Name)).
		Select(connector.FieldID, connector.FieldWorkspaceID, connector.FieldConfig, connector.FieldCredentials).
		All(viewer.With(ctx, viewer.System(uuid.Nil)))
	if err != nil {
		return fmt.Errorf("read the connectors of a kind: %w", err)
	}
	own, err := a.ownSecrets(ctx)
	if err != nil {
		return err
	}
	d.byID, d.byKey = make(map[uuid.UUID]*addressee, len(rows)), map[string][]*addressee{}
	for _, row := range rows {
		one := &addressee{workspace: row.WorkspaceID, connector: row.ID}
		credentials := a.credentials(ctx, row)
		for _, s := range []string{credentials[kind.Webhook.Secret], own[row.ID]} {
			if s != "" {
				one.secrets = append(one.secrets, s)
			}
		}
		d.byID[row.ID] = one
		if kind.Webhook.Keys == nil {
			continue
		}
		one.keys = kind.Webhook.Keys(connectors.Settings{ConnectorID: row.ID.String(), Config: row.Config, Credentials: credentials})
		for _, key := range one.keys {
			d.byKey[strings.ToLower(key)] = append(d.byKey[strings.ToLower(key)], one)
		}
	}
	d.at = a.opt.Now()
	return nil
}

// credentials opens a connector's; one that cannot be opened takes no deliveries.
func (a *addressees) credentials(ctx context.Context, row *ent.Connector) map[string]string {
	credentials, err := a.box.OpenCredentials(row.ID.String(), row.Credentials)
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
		if plain, err := a.box.Open(sealed, SubscriptionAAD(id)); err == nil {
			own[id] = string(plain)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the secrets of subscriptions: %w", err)
	}
	return own, nil
}

// SubscriptionAAD binds the secret of a subscription to its connector.
func SubscriptionAAD(id uuid.UUID) []byte { return secret.AAD("connector_subscriptions", id.String()) }
