package inbox

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/internal/event"
	"github.com/magpie-search/magpie/internal/safetext"
)

const (
	// keepLimit is the maximum number of subscriptions of one call of Keep.
	keepLimit = 100
	// keepTimeout bounds the requests to a platform for one integration. A process that
	// takes longer has lost its claim.
	keepTimeout = time.Minute
	claimTime   = 2 * keepTimeout
	// minRetry is the time to the first retry. It doubles with each failure up to maxRetry.
	minRetry, maxRetry = time.Minute, 6 * time.Hour
	// maxEndings is the number of attempts to end a subscription, which ends by itself at
	// last.
	maxEndings = 10
)

// A Subscription is the registration of an integration at its platform, which Magpie
// keeps.
type Subscription struct {
	// ExpiresAt is the time of its end unless it is renewed, RenewsAt the time of the next
	// try. Both are nil where there is none yet.
	ExpiresAt, RenewsAt *time.Time
	// Error says why it does not exist or could not be renewed; empty for none.
	Error string
}

// SubscriptionOf returns the subscription of an integration. It reports false if Magpie
// keeps none.
func (b *Inbox) SubscriptionOf(ctx context.Context, row *ent.InboundIntegration) (s Subscription, ok bool, err error) {
	if p, known := b.provider(row.Provider); !known || p.Subscriber == nil {
		return s, false, nil
	}
	err = b.opt.Pool.QueryRow(ctx, `select expires_at, next_at, coalesce(error, '') from inbound_subscriptions
		where integration_id = $1 and workspace_id = $2 and next_at is not null`, row.ID, row.WorkspaceID).Scan(&s.ExpiresAt, &s.RenewsAt, &s.Error)
	if errors.Is(err, pgx.ErrNoRows) {
		return s, false, nil
	}
	if err != nil {
		return s, false, fmt.Errorf("read a subscription: %w", err)
	}
	return s, true, nil
}

// Keep makes, renews or ends the subscriptions that are due, and returns their number.
// Any number of processes may call it: each subscription is kept by one at a time.
func (b *Inbox) Keep(ctx context.Context) (int, error) {
	if err := b.findDue(ctx); err != nil {
		return 0, err
	}
	for kept := range keepLimit {
		found, err := b.keepNext(ctx)
		if err != nil || !found {
			return kept, err
		}
	}
	return keepLimit, nil
}

// findDue creates a row for each integration that may want a subscription, and makes due
// those that were changed, were deleted, or have an old address.
func (b *Inbox) findDue(ctx context.Context) error {
	var names []string
	for _, p := range b.opt.Providers {
		if p.Subscriber != nil {
			names = append(names, p.Name)
		}
	}
	now, prefix := b.opt.Now(), b.root()
	for _, q := range []struct {
		sql  string
		args []any
	}{
		{`insert into inbound_subscriptions (integration_id, workspace_id, provider, config, next_at, seen_at)
			select i.id, i.workspace_id, i.provider, i.config, $1, i.updated_at from inbound_integrations i
			where i.provider = any($2) and i.enabled and not exists (select 1 from inbound_subscriptions s where s.integration_id = i.id)
			on conflict do nothing`, []any{now, names}},
		{`update inbound_subscriptions s set next_at = $1, failures = 0 from inbound_integrations i
			where i.id = s.integration_id and (s.next_at is null or s.next_at > $1)
				and (i.updated_at <> s.seen_at or s.failures = 0 and s.address <> '' and not starts_with(s.address, $2))`, []any{now, prefix}},
		{`delete from inbound_subscriptions s where s.external_id = '' and not exists (select 1 from inbound_integrations i where i.id = s.integration_id)`, nil},
		{`update inbound_subscriptions s set next_at = $1 where s.failures = 0 and (s.next_at is null or s.next_at > $1)
			and not exists (select 1 from inbound_integrations i where i.id = s.integration_id)`, []any{now}},
	} {
		if _, err := b.opt.Pool.Exec(ctx, q.sql, q.args...); err != nil {
			return fmt.Errorf("look for subscriptions: %w", err)
		}
	}
	return nil
}

// root returns the prefix of all addresses.
func (b *Inbox) root() string { return strings.TrimRight(b.opt.BaseURL, "/") + Root }

// kept is a row of inbound_subscriptions that this process has claimed.
type kept struct {
	integration, workspace uuid.UUID
	provider, external     string
	settings               connectors.Settings // with which it was made
	sealed, mark           []byte
	expires                *time.Time
	claim                  time.Time
	failures               int
}

// keepNext keeps one subscription that is due. It reports false if there is none. It
// claims the row by moving its time, so that no transaction waits for the platform.
func (b *Inbox) keepNext(ctx context.Context) (bool, error) {
	now := b.opt.Now()
	var k kept
	err := b.opt.Pool.QueryRow(ctx, `update inbound_subscriptions set next_at = $2 where integration_id =
			(select integration_id from inbound_subscriptions where next_at <= $1 order by next_at limit 1 for update skip locked)
		returning integration_id, workspace_id, provider, external_id, config, coalesce(credentials, ''::bytea), coalesce(mark, ''::bytea), expires_at, next_at, failures`,
		now, now.Add(claimTime)).Scan(&k.integration, &k.workspace, &k.provider, &k.external, &k.settings.Config, &k.sealed, &k.mark, &k.expires, &k.claim, &k.failures)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("claim a subscription: %w", err)
	}
	inside, cancel := context.WithTimeout(contextOf(ctx, k.workspace), keepTimeout)
	defer cancel()
	return true, b.keepOne(inside, &k)
}

func (b *Inbox) keepOne(ctx context.Context, k *kept) error {
	row, err := b.opt.Ent.InboundIntegration.Get(ctx, k.integration)
	if err != nil && !ent.IsNotFound(err) {
		return fmt.Errorf("read an integration: %w", err)
	}
	p, ok := b.provider(k.provider)
	if !ok || p.Subscriber == nil {
		return b.dropSubscription(ctx, k)
	}
	if err != nil {
		return b.end(ctx, k, p.Subscriber)
	}
	s, err := b.Settings(row)
	switch {
	case err != nil:
		return b.failed(ctx, k, row, event.Refuse("%s", err.Error()))
	case !row.Enabled || !p.Subscriber.Wanted(s):
		return b.rest(ctx, k, row, p.Subscriber)
	case !strings.HasPrefix(b.opt.BaseURL, "https://"):
		return b.failed(ctx, k, row, event.Refuse("BASE_URL is not an https address, so that the platform cannot reach Magpie"))
	}
	address := b.address(p, row.ID)
	mark, err := markOf(s, address)
	if err != nil {
		return err
	}
	if string(mark) != string(k.mark) && k.external != "" {
		// The platform keeps what it was made with, such as the secret.
		if err := b.unsubscribe(ctx, k, p.Subscriber); err != nil {
			b.abandoned(ctx, k, err)
		}
		k.external = ""
	}
	made, err := p.Subscriber.Subscribe(ctx, s, k.external, address)
	if err == nil && made.ID == "" {
		err = event.Refuse("the platform named no subscription")
	}
	if err != nil {
		return b.failed(ctx, k, row, err)
	}
	now := b.opt.Now()
	next := now.Add(max(made.Expires.Sub(now)/2, minRetry))
	stored, err := b.save(ctx, k, "external_id = $3, address = $4, mark = $5, config = $6, credentials = $7, expires_at = $8, next_at = $9, seen_at = $10, failures = 0, error = null",
		made.ID, address, mark, row.Config, row.Credentials, made.Expires, next, row.UpdatedAt)
	if err != nil {
		return err
	}
	if !stored {
		if made.ID != k.external { // another process has made one too
			b.abandoned(ctx, k, p.Subscriber.Unsubscribe(ctx, s, made.ID))
		}
		return nil
	}
	if k.failures > 0 {
		return b.recovered(ctx, row.ID)
	}
	return nil
}

// markOf returns what a subscription was made with: it is made anew when that changes.
func markOf(s connectors.Settings, address string) ([]byte, error) {
	text, err := json.Marshal([]any{s.Config, s.Credentials, address})
	if err != nil {
		return nil, fmt.Errorf("encode settings: %w", err)
	}
	sum := sha256.Sum256(text)
	return sum[:], nil
}

// unsubscribe ends the subscription of a row with the settings with which it was made.
func (b *Inbox) unsubscribe(ctx context.Context, k *kept, platform *event.Subscriber) error {
	s := connectors.Settings{ConnectorID: k.integration.String(), Config: k.settings.Config}
	var err error
	if s.Credentials, err = b.open(k.sealed, currentAAD(k.integration)); err != nil {
		return err
	}
	return platform.Unsubscribe(ctx, s, k.external)
}

// end ends the subscription of a deleted integration. It gives up when the subscription
// has ended by itself.
func (b *Inbox) end(ctx context.Context, k *kept, platform *event.Subscriber) error {
	if k.external != "" && (k.expires == nil || k.expires.After(b.opt.Now())) {
		if err := b.unsubscribe(ctx, k, platform); err != nil {
			b.abandoned(ctx, k, err)
			if k.failures+1 < maxEndings {
				_, err := b.save(ctx, k, "failures = failures + 1, next_at = $3", b.retryAt(k))
				return err
			}
		}
	}
	return b.dropSubscription(ctx, k)
}

// rest ends the subscription of an integration that wants none, until it is changed.
func (b *Inbox) rest(ctx context.Context, k *kept, row *ent.InboundIntegration, platform *event.Subscriber) error {
	if k.external != "" {
		if err := b.unsubscribe(ctx, k, platform); err != nil {
			b.abandoned(ctx, k, err)
		}
	}
	_, err := b.save(ctx, k, "external_id = '', address = '', mark = null, credentials = null, expires_at = null, next_at = null, seen_at = $3, failures = 0, error = null", row.UpdatedAt)
	return err
}

func (b *Inbox) dropSubscription(ctx context.Context, k *kept) error {
	_, err := b.opt.Pool.Exec(context.WithoutCancel(ctx), "delete from inbound_subscriptions where integration_id = $1 and next_at = $2", k.integration, k.claim)
	if err != nil {
		return fmt.Errorf("delete a subscription: %w", err)
	}
	return nil
}

// abandoned logs that a subscription stays at its platform until it ends by itself.
func (b *Inbox) abandoned(ctx context.Context, k *kept, err error) {
	if err != nil {
		b.opt.Log.WarnContext(ctx, "subscription not ended at platform", slog.Any("integration", k.integration), slog.Any("error", err))
	}
}

func (b *Inbox) retryAt(k *kept) time.Time {
	return b.opt.Now().Add(min(minRetry<<min(k.failures, 10), maxRetry))
}

// failed stores and shows why a subscription could not be made or renewed.
func (b *Inbox) failed(ctx context.Context, k *kept, row *ent.InboundIntegration, cause error) error {
	ctx = context.WithoutCancel(ctx)
	b.opt.Log.WarnContext(ctx, "subscription failed, will retry", slog.Any("integration", k.integration), slog.Int("failures", k.failures+1), slog.Any("error", cause))
	reason := "the platform could not be reached"
	if refusal, ok := errors.AsType[*event.Refusal](cause); ok {
		reason = refusal.Reason
	}
	reason = safetext.TruncateBytes(safetext.Line("The subscription could not be made or renewed: "+reason), 500)
	stored, err := b.save(ctx, k, "external_id = $3, failures = failures + 1, error = $4, next_at = $5, seen_at = $6", k.external, reason, b.retryAt(k), row.UpdatedAt)
	if err != nil || !stored {
		return err
	}
	if _, err := b.opt.Pool.Exec(ctx, "update inbound_integrations set status = 'FAILING', last_error = $2 where id = $1", row.ID, reason); err != nil {
		return fmt.Errorf("mark the integration: %w", err)
	}
	return nil
}

// recovered ends the state that failed has set.
func (b *Inbox) recovered(ctx context.Context, integration uuid.UUID) error {
	_, err := b.opt.Pool.Exec(ctx, `update inbound_integrations set status = case when last_event_at is null then 'UNVERIFIED' else 'OK' end, last_error = null
		where id = $1 and status = 'FAILING'`, integration)
	if err != nil {
		return fmt.Errorf("mark the integration: %w", err)
	}
	return nil
}

// save updates a claimed row. It reports false if another process has claimed it since.
func (b *Inbox) save(ctx context.Context, k *kept, set string, values ...any) (bool, error) {
	tag, err := b.opt.Pool.Exec(context.WithoutCancel(ctx), "update inbound_subscriptions set "+set+" where integration_id = $1 and next_at = $2",
		append([]any{k.integration, k.claim}, values...)...)
	if err != nil {
		return false, fmt.Errorf("save a subscription: %w", err)
	}
	return tag.RowsAffected() == 1, nil
}

// notice makes a subscription due that the platform wants renewed or has ended. It returns
// what to tell people, if Magpie does not keep the subscription; empty for nothing.
func (b *Inbox) notice(ctx context.Context, integration uuid.UUID, n event.Notice) (string, error) {
	var external string
	err := b.opt.Pool.QueryRow(ctx, "select external_id from inbound_subscriptions where integration_id = $1 and next_at is not null", integration).Scan(&external)
	switch {
	case errors.Is(err, pgx.ErrNoRows) || err == nil && external == "":
		return n.Failing, nil
	case err != nil:
		return "", fmt.Errorf("read a subscription: %w", err)
	case external != n.Subscription:
		return "", nil // of one before
	}
	set := ""
	if n.Lost {
		set = ", external_id = '', expires_at = null"
	}
	if _, err := b.opt.Pool.Exec(ctx, "update inbound_subscriptions set next_at = least(next_at, $3)"+set+" where integration_id = $1 and external_id = $2 and failures = 0",
		integration, external, b.opt.Now()); err != nil {
		return "", fmt.Errorf("note the end of a subscription: %w", err)
	}
	return "", nil
}
