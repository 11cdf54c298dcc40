package subscribe

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

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

// Opener opens the sources of connectors; syncer.Engine does.
type Opener interface {
	// OpenSource opens the source of a connector for ctx's viewer. shown makes a
	// text fit for people who may edit it.
	OpenSource(ctx context.Context, row *ent.Connector) (source connectors.Source, shown func(string) string, err error)
}

// Options are settings with useful zero values.
type Options struct {
	// BaseURL is where platforms reach this service.
	BaseURL string
	// Check is how often a subscription that does not end is looked after: 6 hours.
	Check time.Duration
	// Timeout bounds what is asked of a platform for one connector: 1 minute.
	Timeout time.Duration
	Now     func() time.Time
	Log     *slog.Logger
}

func (o Options) withDefaults() Options {
	if o.Check <= 0 {
		o.Check = 6 * time.Hour
	}
	if o.Timeout <= 0 {
		o.Timeout = time.Minute
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

const (
	// roundLimit is how many connectors one round looks after.
	roundLimit = 100
	// firstRetry is how long a failure waits for the next try; each of a row waits
	// twice as long as the one before, up to longestRetry.
	firstRetry, longestRetry = time.Minute, 6 * time.Hour
	maxError                 = 500
	secretBytes              = 32
)

// Engine keeps subscriptions. Any number of processes may run one.
type Engine struct {
	client *ent.Client
	pool   *pgxpool.Pool
	kinds  *connectors.Registry
	vault  credential.Vault
	opener Opener
	opt    Options
}

// New makes an engine over the application's pool and the client on it.
func New(client *ent.Client, pool *pgxpool.Pool, kinds *connectors.Registry, box *secret.Box, opener Opener, o Options) *Engine {
	return &Engine{client: client, pool: pool, kinds: kinds, vault: credential.NewVault(box), opener: opener, opt: o.withDefaults()}
}

// Keep looks after the subscriptions whose time has come, and returns how many.
func (e *Engine) Keep(ctx context.Context) (int, error) {
	if err := e.list(ctx); err != nil {
		return 0, err
	}
	for kept := range roundLimit {
		more, err := e.keepNext(ctx)
		if err != nil || !more {
			return kept, err
		}
	}
	return roundLimit, nil
}

// list makes a row for each connector that wants a subscription and has none, and
// has those looked after at once that are not wanted any more or lead elsewhere.
func (e *Engine) list(ctx context.Context) error {
	var kinds []string
	for _, kind := range e.kinds.Kinds() {
		if kind.Subscribes() {
			kinds = append(kinds, kind.Name)
		}
	}
	if len(kinds) == 0 {
		return nil
	}
	_, err := e.pool.Exec(ctx, `insert into connector_subscriptions (workspace_id, connector_id, external_id, address, next_at)
		select c.workspace_id, c.id, '', '', $1 from connectors c
		where c.type = any($2) and c.enabled and c.deleting_at is null and c.config -> '`+connectors.SubscriptionField+`' = 'true'::jsonb
			and not exists (select 1 from connector_subscriptions s where s.connector_id = c.id)
		on conflict do nothing`, e.opt.Now(), kinds)
	if err != nil {
		return fmt.Errorf("look for subscriptions to ask for: %w", err)
	}
	_, err = e.pool.Exec(ctx, `update connector_subscriptions s set next_at = $1 from connectors c
		where c.id = s.connector_id and s.failures = 0 and s.next_at > $1 and s.address <> ''
			and (not c.enabled or c.config -> '`+connectors.SubscriptionField+`' is distinct from 'true'::jsonb
				or s.address <> $2 || c.type || '/' || c.id::text)`, e.opt.Now(), e.root())
	if err != nil {
		return fmt.Errorf("look for subscriptions to change: %w", err)
	}
	return nil
}

// root is what the addresses of all deliveries begin with.
func (e *Engine) root() string {
	return strings.TrimRight(e.opt.BaseURL, "/") + "/webhooks/connectors/"
}

// subscription is a row.
type subscription struct {
	workspace, connector uuid.UUID
	external, address    string
	secret               []byte
	failures             int
}

// keepNext takes one row whose time has come. The row is claimed by moving its
// time on, so that no transaction is held while the platform is asked.
func (e *Engine) keepNext(ctx context.Context) (bool, error) {
	now := e.opt.Now()
	var row subscription
	err := e.pool.QueryRow(ctx, `update connector_subscriptions set next_at = $2 where connector_id =
			(select connector_id from connector_subscriptions where next_at <= $1 order by next_at limit 1 for update skip locked)
		returning workspace_id, connector_id, external_id, address, secret, failures`, now, now.Add(2*e.opt.Timeout)).
		Scan(&row.workspace, &row.connector, &row.external, &row.address, &row.secret, &row.failures)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("look for subscriptions: %w", err)
	}
	inside, cancel := context.WithTimeout(viewer.With(ctx, viewer.System(row.workspace)), e.opt.Timeout)
	defer cancel()
	return true, e.keep(inside, row)
}

func (e *Engine) keep(ctx context.Context, row subscription) error {
	one, err := e.client.Connector.Query().Where(connector.ID(row.connector)).Only(ctx)
	switch {
	case ent.IsNotFound(err):
		return nil // it is being deleted, and the row with it
	case err != nil:
		return fmt.Errorf("read a connector: %w", err)
	}
	source, shown, err := e.opener.OpenSource(ctx, one)
	if err != nil {
		return e.failed(ctx, row, err.Error())
	}
	defer func() { _ = source.Close() }()
	platform, ok := source.(connectors.Subscriber)
	wanted := one.Enabled && (connectors.Settings{Config: one.Config}).WantsSubscription()
	if !ok || !wanted {
		return e.end(ctx, row, platform)
	}
	credentials, sealed, err := e.secretOf(one, row)
	if err != nil {
		return e.failed(ctx, row, "The connector's credentials cannot be opened any more; enter them again.")
	}
	if sealed != nil {
		// Before the platform knows it: its first delivery may come at once.
		if err := e.exec(ctx, row, "secret = $2", sealed); err != nil {
			return err
		}
	}
	address := e.root() + one.Type + "/" + one.ID.String()
	given, err := platform.Subscribe(ctx, address, credentials)
	if err != nil {
		return e.failed(ctx, row, shown(err.Error()))
	}
	now := e.opt.Now()
	next := now.Add(e.opt.Check)
	var expires *time.Time
	if !given.Expires.IsZero() {
		expires = &given.Expires
		// At two thirds of what is left, so that a failure leaves time to try again.
		if renew := now.Add(given.Expires.Sub(now) * 2 / 3); renew.Before(next) {
			next = renew
		}
	}
	return e.exec(ctx, row, "external_id = $2, address = $3, expires_at = $4, next_at = $5, failures = 0, error = null",
		given.ID, address, expires, next)
}

// secretOf is the secret for a connector's deliveries: its own credential, or one
// that is made for it. sealed is not nil when it was made just now.
func (e *Engine) secretOf(one *ent.Connector, row subscription) (text string, sealed []byte, err error) {
	kind, _ := e.kinds.Lookup(one.Type)
	credentials, err := e.vault.Open(one.ID, one.Credentials)
	if err != nil {
		return "", nil, err
	}
	if text = credentials[kind.Webhook.Secret]; text != "" {
		return text, nil, nil
	}
	if row.secret != nil {
		if plain, err := e.vault.OpenWebhookSecret(one.ID, row.secret); err == nil {
			return plain, nil, nil
		}
	}
	raw := make([]byte, secretBytes)
	_, _ = rand.Read(raw) // documented never to fail
	text = base64.RawURLEncoding.EncodeToString(raw)
	sealed, err = e.vault.SealWebhookSecret(one.ID, text)
	return text, sealed, err
}

// End ends the subscription of a connector that is being deleted, which takes at
// most Options.Timeout. A platform that refuses or does not answer is not asked
// again, since the connector goes either way; an error is the database's.
func (e *Engine) End(ctx context.Context, workspace, connectorID uuid.UUID) error {
	row := subscription{workspace: workspace, connector: connectorID}
	err := e.pool.QueryRow(ctx, `update connector_subscriptions set next_at = $3 where connector_id = $1 and workspace_id = $2
		returning external_id`, connectorID, workspace, e.opt.Now().Add(2*e.opt.Timeout)).Scan(&row.external)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return nil
	case err != nil:
		return fmt.Errorf("look for a subscription to end: %w", err)
	}
	inside, cancel := context.WithTimeout(viewer.With(ctx, viewer.System(uuid.Nil)), e.opt.Timeout)
	defer cancel()
	one, err := e.client.Connector.Query().Where(connector.ID(connectorID), connector.WorkspaceID(workspace)).Only(inside)
	switch {
	case ent.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("read a connector: %w", err)
	}
	source, _, err := e.opener.OpenSource(inside, one)
	if err != nil {
		e.left(ctx, row, err)
		return e.forget(ctx, row)
	}
	defer func() { _ = source.Close() }()
	platform, _ := source.(connectors.Subscriber)
	return e.end(inside, row, platform)
}

// end ends a subscription that is not wanted any more.
func (e *Engine) end(ctx context.Context, row subscription, platform connectors.Subscriber) error {
	if platform != nil && row.external != "" {
		if err := platform.Unsubscribe(ctx, connectors.Subscription{ID: row.external}); err != nil {
			e.left(ctx, row, err)
		}
	}
	return e.forget(ctx, row)
}

// left tells of a subscription that stays at its platform.
func (e *Engine) left(ctx context.Context, row subscription, err error) {
	e.opt.Log.WarnContext(ctx, "a subscription could not be ended at its platform; remove the webhook there", "connector", row.connector, "error", err)
}

func (e *Engine) forget(ctx context.Context, row subscription) error {
	_, err := e.pool.Exec(context.WithoutCancel(ctx), "delete from connector_subscriptions where connector_id = $1", row.connector)
	if err != nil {
		return fmt.Errorf("forget a subscription: %w", err)
	}
	return nil
}

func (e *Engine) failed(ctx context.Context, row subscription, reason string) error {
	if len(reason) > maxError {
		reason = strings.ToValidUTF8(reason[:maxError], "")
	}
	wait := min(firstRetry<<min(row.failures, 10), longestRetry)
	e.opt.Log.WarnContext(ctx, "a platform was not asked for webhooks", "connector", row.connector, "retry", wait)
	return e.exec(context.WithoutCancel(ctx), row, "failures = failures + 1, error = $2, next_at = $3", reason, e.opt.Now().Add(wait))
}

func (e *Engine) exec(ctx context.Context, row subscription, set string, values ...any) error {
	_, err := e.pool.Exec(ctx, "update connector_subscriptions set "+set+" where connector_id = $1", append([]any{row.connector}, values...)...)
	if err != nil {
		return fmt.Errorf("save a subscription: %w", err)
	}
	return nil
}
