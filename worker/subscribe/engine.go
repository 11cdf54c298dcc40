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
	"github.com/magpie-search/magpie/internal/safetext"
	"github.com/magpie-search/magpie/internal/secret"
	"github.com/magpie-search/magpie/internal/viewer"
)

// An Opener opens the sources of connectors (worker/syncer).
type Opener interface {
	// OpenSource opens the source of a connector for the viewer of ctx. redact
	// removes secrets from a text for people who may edit the connector.
	OpenSource(ctx context.Context, row *ent.Connector) (source connectors.Source, redact func(string) string, err error)
}

// Options has useful zero values. Defaults are in the comments.
type Options struct {
	// BaseURL is the address at which platforms reach this service.
	BaseURL string
	// Check is the time between two checks of a subscription without an expiry: 6 hours.
	Check time.Duration
	// Timeout bounds the requests to a platform for one connector: 1 minute.
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
	// keepLimit is the most subscriptions of one call of Keep.
	keepLimit = 100
	// minBackoff is the time to the first retry. It doubles with each failure up to
	// maxBackoff.
	minBackoff, maxBackoff = time.Minute, 6 * time.Hour
	maxErrorBytes          = 500
	secretBytes            = 32
)

// An Engine keeps subscriptions. Any number of processes may run one.
type Engine struct {
	client *ent.Client
	pool   *pgxpool.Pool
	kinds  *connectors.Registry
	vault  credential.Vault
	opener Opener
	opt    Options
}

// New returns an engine over the application's pool and the client on it.
func New(client *ent.Client, pool *pgxpool.Pool, kinds *connectors.Registry, box *secret.Box, opener Opener, o Options) *Engine {
	return &Engine{client: client, pool: pool, kinds: kinds, vault: credential.NewVault(box), opener: opener, opt: o.withDefaults()}
}

// Keep creates, renews or ends the subscriptions that are due, and returns their
// number.
func (e *Engine) Keep(ctx context.Context) (int, error) {
	if err := e.findDue(ctx); err != nil {
		return 0, err
	}
	for kept := range keepLimit {
		found, err := e.keepNext(ctx)
		if err != nil || !found {
			return kept, err
		}
	}
	return keepLimit, nil
}

// findDue creates a row for each connector that wants a subscription and has none.
// It makes subscriptions due that are no longer needed or have an old address.
func (e *Engine) findDue(ctx context.Context) error {
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
		return fmt.Errorf("find missing subscriptions: %w", err)
	}
	_, err = e.pool.Exec(ctx, `update connector_subscriptions s set next_at = $1 from connectors c
		where c.id = s.connector_id and s.failures = 0 and s.next_at > $1 and s.address <> ''
			and (not c.enabled or c.config -> '`+connectors.SubscriptionField+`' is distinct from 'true'::jsonb
				or s.address <> $2 || c.type || '/' || c.id::text)`, e.opt.Now(), e.addressPrefix())
	if err != nil {
		return fmt.Errorf("find outdated subscriptions: %w", err)
	}
	return nil
}

// addressPrefix returns the prefix of all delivery addresses.
func (e *Engine) addressPrefix() string {
	return strings.TrimRight(e.opt.BaseURL, "/") + "/webhooks/connectors/"
}

// A subscription is a row of connector_subscriptions.
type subscription struct {
	workspace, connector uuid.UUID
	external, address    string
	secret               []byte
	failures             int
}

// keepNext handles one due row. It reports false when there is none. It claims the
// row by moving its due time, so that no transaction waits for the platform.
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
		return false, fmt.Errorf("claim a subscription: %w", err)
	}
	rowCtx, cancel := context.WithTimeout(viewer.With(ctx, viewer.System(row.workspace)), e.opt.Timeout)
	defer cancel()
	return true, e.keep(rowCtx, row)
}

func (e *Engine) keep(ctx context.Context, row subscription) error {
	one, err := e.client.Connector.Query().Where(connector.ID(row.connector)).Only(ctx)
	switch {
	case ent.IsNotFound(err):
		return nil // the deletion of the connector also deletes the row
	case err != nil:
		return fmt.Errorf("read a connector: %w", err)
	}
	source, redact, err := e.opener.OpenSource(ctx, one)
	if err != nil {
		return e.fail(ctx, row, err.Error())
	}
	defer func() { _ = source.Close() }()
	platform, ok := source.(connectors.Subscriber)
	isWanted := one.Enabled && (connectors.Settings{Config: one.Config}).WantsSubscription()
	if !ok || !isWanted {
		return e.end(ctx, row, platform)
	}
	credentials, sealed, err := e.secretOf(one, row)
	if err != nil {
		return e.fail(ctx, row, "The connector's credentials cannot be opened any more; enter them again.")
	}
	if sealed != nil {
		// The first delivery may arrive as soon as the platform knows the secret.
		if err := e.exec(ctx, row, "secret = $2", sealed); err != nil {
			return err
		}
	}
	address := e.addressPrefix() + one.Type + "/" + one.ID.String()
	created, err := platform.Subscribe(ctx, address, credentials)
	if err != nil {
		return e.fail(ctx, row, redact(err.Error()))
	}
	now := e.opt.Now()
	next := now.Add(e.opt.Check)
	var expires *time.Time
	if !created.Expires.IsZero() {
		expires = &created.Expires
		// A renewal at two thirds of the lifetime leaves time for retries.
		if renew := now.Add(created.Expires.Sub(now) * 2 / 3); renew.Before(next) {
			next = renew
		}
	}
	return e.exec(ctx, row, "external_id = $2, address = $3, expires_at = $4, next_at = $5, failures = 0, error = null",
		created.ID, address, expires, next)
}

// secretOf returns the secret for the deliveries of a connector: its own credential
// or a generated secret. sealed is not nil for a new one.
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

// End ends the subscription of a connector that is being deleted, in at most
// Options.Timeout. It does not retry when the platform fails, because the connector
// is deleted anyway. It returns only errors of the database.
func (e *Engine) End(ctx context.Context, workspace, connectorID uuid.UUID) error {
	row := subscription{workspace: workspace, connector: connectorID}
	err := e.pool.QueryRow(ctx, `update connector_subscriptions set next_at = $3 where connector_id = $1 and workspace_id = $2
		returning external_id`, connectorID, workspace, e.opt.Now().Add(2*e.opt.Timeout)).Scan(&row.external)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return nil
	case err != nil:
		return fmt.Errorf("claim a subscription to end: %w", err)
	}
	rowCtx, cancel := context.WithTimeout(viewer.With(ctx, viewer.System(uuid.Nil)), e.opt.Timeout)
	defer cancel()
	one, err := e.client.Connector.Query().Where(connector.ID(connectorID), connector.WorkspaceID(workspace)).Only(rowCtx)
	switch {
	case ent.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("read a connector: %w", err)
	}
	source, _, err := e.opener.OpenSource(rowCtx, one)
	if err != nil {
		e.logAbandoned(ctx, row, err)
		return e.deleteRow(ctx, row)
	}
	defer func() { _ = source.Close() }()
	platform, _ := source.(connectors.Subscriber)
	return e.end(rowCtx, row, platform)
}

// end ends a subscription at the platform, if there is one, and deletes its row.
func (e *Engine) end(ctx context.Context, row subscription, platform connectors.Subscriber) error {
	if platform != nil && row.external != "" {
		if err := platform.Unsubscribe(ctx, connectors.Subscription{ID: row.external}); err != nil {
			e.logAbandoned(ctx, row, err)
		}
	}
	return e.deleteRow(ctx, row)
}

// logAbandoned logs that a subscription stays at its platform.
func (e *Engine) logAbandoned(ctx context.Context, row subscription, err error) {
	e.opt.Log.WarnContext(ctx, "subscription not ended at platform, remove the webhook there", slog.Any("connector", row.connector), slog.Any("error", err))
}

func (e *Engine) deleteRow(ctx context.Context, row subscription) error {
	_, err := e.pool.Exec(context.WithoutCancel(ctx), "delete from connector_subscriptions where connector_id = $1", row.connector)
	if err != nil {
		return fmt.Errorf("delete a subscription: %w", err)
	}
	return nil
}

// fail stores the reason of a failure and makes the row due after a backoff.
func (e *Engine) fail(ctx context.Context, row subscription, reason string) error {
	backoff := min(minBackoff<<min(row.failures, 10), maxBackoff)
	e.opt.Log.WarnContext(ctx, "subscription failed, will retry", slog.Any("connector", row.connector), slog.Duration("backoff", backoff))
	return e.exec(context.WithoutCancel(ctx), row, "failures = failures + 1, error = $2, next_at = $3", safetext.TruncateBytes(reason, maxErrorBytes), e.opt.Now().Add(backoff))
}

// exec updates the row.
func (e *Engine) exec(ctx context.Context, row subscription, set string, values ...any) error {
	_, err := e.pool.Exec(ctx, "update connector_subscriptions set "+set+" where connector_id = $1", append([]any{row.connector}, values...)...)
	if err != nil {
		return fmt.Errorf("save a subscription: %w", err)
	}
	return nil
}
