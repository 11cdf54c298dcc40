package oauth

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/connector"
	"github.com/magpie-search/magpie/ent/oauthgrant"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/secret"
	"github.com/magpie-search/magpie/internal/store/transaction"
	"github.com/magpie-search/magpie/internal/viewer"
)

const (
	// maxRenewalMargin is how long before its expiry a token is renewed. Tokens
	// that live less than five times as long are renewed after four fifths of their
	// life.
	maxRenewalMargin = 5 * time.Minute
	// retryDelay is the minimum time between two requests to a provider that fails.
	retryDelay         = 5 * time.Second
	pollInterval       = 100 * time.Millisecond
	storeRetryInterval = 500 * time.Millisecond
	maxLastError       = 500 // bytes
)

// Token is a valid access token.
type Token struct {
	Access string
	// Details are further fields of the token response that connectors need, such
	// as Salesforce's instance_url.
	Details map[string]string
	// ExpiresAt is nil if unknown.
	ExpiresAt *time.Time
}

// NeedsAuthError says that a grant does not work until a person connects again.
type NeedsAuthError struct{ Provider, Reason string }

// Error returns a text for people.
func (e *NeedsAuthError) Error() string {
	return e.Provider + " does not accept this grant any more (" + e.Reason + "); connect again"
}

// NeedsAuth marks the error for the sync engine.
func (e *NeedsAuthError) NeedsAuth() bool { return true }

// unreadableError says that the tokens of a grant cannot be decrypted.
type unreadableError struct {
	text string
	err  error
}

func (e *unreadableError) Error() string   { return e.text }
func (e *unreadableError) Unwrap() error   { return e.err }
func (e *unreadableError) NeedsAuth() bool { return true }

// temporaryError is a renewal that may succeed later.
type temporaryError struct {
	err   error
	after time.Duration
}

func (e *temporaryError) Error() string             { return e.err.Error() }
func (e *temporaryError) Unwrap() error             { return e.err }
func (e *temporaryError) RetryAfter() time.Duration { return e.after }

// Token returns an access token of a grant in the viewer's workspace. It renews the
// token shortly before it expires; one worker renews it and the others use the
// current token as long as it is valid. The error is a *NeedsAuthError if a person
// must connect again, and has a method RetryAfter if a later call may succeed.
func (g *Grants) Token(ctx context.Context, grant uuid.UUID) (Token, error) {
	return g.token(ctx, grant, "")
}

// Renew is Token for a caller whose token the provider refused. It renews the token
// if refused is still the current one.
func (g *Grants) Renew(ctx context.Context, grant uuid.UUID, refused string) (Token, error) {
	return g.token(ctx, grant, refused)
}

func (g *Grants) token(ctx context.Context, grant uuid.UUID, refused string) (Token, error) {
	for renewed := false; ; {
		row, err := g.ent.OAuthGrant.Get(ctx, grant)
		switch {
		case ent.IsNotFound(err):
			return Token{}, apierr.NotFound("OAuth grant")
		case err != nil:
			return Token{}, fmt.Errorf("read the grant: %w", err)
		case row.Status == oauthgrant.StatusNeedsAuth:
			return Token{}, &NeedsAuthError{row.Provider, lastError(row)}
		}
		t, err := g.open(row)
		if err != nil {
			// The row stays unchanged: the operator may restore the key.
			return Token{}, &unreadableError{text: secret.LostMessage("The tokens of the grant of "+row.Provider, "connect again", err), err: err}
		}
		present := Token{Access: t.Access, Details: t.Details, ExpiresAt: row.ExpiresAt}
		works := t.Access != refused && (row.ExpiresAt == nil || g.now().Before(*row.ExpiresAt))
		if renewed || works && (!g.needsRenewal(row) || t.Refresh == "") {
			return present, nil // a token that was just renewed is not renewed again
		}
		if t.Refresh == "" {
			if err := g.markNeedsAuth(ctx, row, "it cannot be renewed: the provider gave no refresh token"); err != nil {
				return Token{}, err
			}
			continue
		}
		r, joined, err := g.joinRenewal(ctx, row, t)
		switch {
		case err != nil:
			return Token{}, err
		case !joined && works:
			return present, nil
		case !joined:
			err = sleep(ctx, pollInterval) // another worker renews the token
		default:
			err = r.wait(ctx)
		}
		if err != nil {
			if works && !isNeedsAuth(err) {
				return present, nil // the next call tries again
			}
			return Token{}, err
		}
		renewed = joined && r.leased
	}
}

func lastError(row *ent.OAuthGrant) string {
	if row.LastError == nil {
		return "it was withdrawn"
	}
	return *row.LastError
}

// needsRenewal reports whether the token of a grant expires soon.
func (g *Grants) needsRenewal(row *ent.OAuthGrant) bool {
	if row.ExpiresAt == nil {
		return false
	}
	margin := maxRenewalMargin
	if row.RefreshedAt != nil {
		margin = min(margin, row.ExpiresAt.Sub(*row.RefreshedAt)/5)
	}
	return !g.now().Before(row.ExpiresAt.Add(-margin))
}

// renewal is a renewal in this process.
type renewal struct {
	done chan struct{}
	// The fields below are set before done is closed.
	leased bool // this process had the lease
	err    error
}

// wait waits for the renewal and returns its error.
func (r *renewal) wait(ctx context.Context) error {
	select {
	case <-r.done:
		return r.err
	case <-ctx.Done():
		return fmt.Errorf("wait for a new access token: %w", ctx.Err())
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for a new access token: %w", ctx.Err())
	}
}

// joinRenewal joins the renewal that runs in this process or starts one. It reports
// false if another worker has the lease.
func (g *Grants) joinRenewal(ctx context.Context, row *ent.OAuthGrant, t tokens) (r *renewal, joined bool, err error) {
	g.mu.Lock()
	if running := g.renewals[row.ID]; running != nil {
		g.mu.Unlock()
		return running, true, nil
	}
	if g.closed {
		g.mu.Unlock()
		return nil, false, &temporaryError{errors.New("the process is ending"), retryDelay}
	}
	r = &renewal{done: make(chan struct{})}
	g.renewals[row.ID] = r
	g.running.Add(1)
	g.mu.Unlock()

	end := func(err error) {
		g.mu.Lock()
		delete(g.renewals, row.ID)
		g.mu.Unlock()
		r.err = err
		close(r.done)
		g.running.Done()
	}
	// A renewal outlives its callers: the response may be the only one with the
	// next refresh token.
	detached := maintaining(context.WithoutCancel(ctx), row)
	lease := uuid.New()
	now := g.now()
	leased, err := g.ent.OAuthGrant.Update().Where(
		oauthgrant.ID(row.ID), oauthgrant.Generation(row.Generation), oauthgrant.StatusEQ(oauthgrant.StatusActive),
		oauthgrant.Or(oauthgrant.LeaseUntilIsNil(), oauthgrant.LeaseUntilLTE(now)),
	).SetLeaseID(lease).SetLeaseUntil(now.Add(g.lease)).Save(detached)
	if err != nil {
		err = fmt.Errorf("take the lease of a grant: %w", err)
		end(err)
		return nil, false, err
	}
	if leased == 0 {
		end(nil)
		return nil, false, nil
	}
	r.leased = true
	go func() { end(g.renew(detached, row, t, lease)) }()
	return r, true, nil
}

// renew requests new tokens and stores them.
func (g *Grants) renew(ctx context.Context, row *ent.OAuthGrant, t tokens, lease uuid.UUID) error {
	p := g.providers[row.Provider]
	if p == nil || len(p.missing(p.client)) > 0 {
		g.releaseLease(ctx, row, lease, "the provider is not set up here any more")
		return &temporaryError{fmt.Errorf("%s is not set up here any more", row.Provider), time.Minute}
	}
	made, err := p.refresh(ctx, t)
	if err == nil {
		return g.store(ctx, row, made)
	}
	var refused *ProviderError
	if errors.As(err, &refused) && refused.Code == "invalid_grant" {
		return g.markNeedsAuth(ctx, row, refused.Code)
	}
	after := retryDelay
	if refused != nil {
		after = max(after, refused.RetryAfter)
	}
	g.log.WarnContext(ctx, "oauth token renewal failed, will retry", slog.String("provider", row.Provider),
		slog.String("grant", row.ID.String()), slog.Any("error", err))
	g.releaseLease(ctx, row, lease, err.Error())
	return &temporaryError{err, after}
}

// store stores new tokens if the grant still has the old ones. The provider may
// have invalidated the old refresh token, so store tries for as long as the lease
// lasts.
func (g *Grants) store(ctx context.Context, row *ent.OAuthGrant, made tokenResponse) error {
	sealed, err := g.seal(row.ID, made.tokens)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, g.lease)
	defer cancel()
	for {
		// A worker that got the lease later may have failed with the old refresh
		// token and marked the grant. These tokens are newer.
		err := transaction.In(transaction.Outside(ctx), g.ent, func(ctx context.Context, client *ent.Client) error {
			return replaceTokens(ctx, client, row, sealed, g.now(), g.expiry(made.lifetime))
		})
		if err == nil {
			return nil // or the grant was renewed or revoked meanwhile
		}
		if sleep(ctx, storeRetryInterval) != nil {
			g.log.ErrorContext(ctx, "renewed oauth tokens not stored, grant may need new consent",
				slog.String("provider", row.Provider), slog.String("grant", row.ID.String()), slog.Any("error", err))
			return &temporaryError{fmt.Errorf("store a renewed access token: %w", err), retryDelay}
		}
	}
}

func replaceTokens(ctx context.Context, client *ent.Client, row *ent.OAuthGrant, sealed []byte, now time.Time, expires *time.Time) error {
	update := client.OAuthGrant.Update().Where(oauthgrant.ID(row.ID), oauthgrant.Generation(row.Generation)).
		SetTokens(sealed).SetRefreshedAt(now).AddGeneration(1).SetStatus(oauthgrant.StatusActive).
		ClearLastError().ClearLeaseID().ClearLeaseUntil()
	if expires != nil {
		update.SetExpiresAt(*expires)
	} else {
		update.ClearExpiresAt()
	}
	changed, err := update.Save(ctx)
	if err != nil || changed == 0 {
		return err
	}
	return reactivateConnectors(ctx, client, row.ID)
}

// reactivateConnectors activates the connectors that waited for a grant.
func reactivateConnectors(ctx context.Context, client *ent.Client, grant uuid.UUID) error {
	return client.Connector.Update().Where(connector.GrantID(grant), connector.StatusEQ(connector.StatusNeedsAuth)).
		SetStatus(connector.StatusActive).Exec(ctx)
}

// releaseLease lets other workers try again after retryDelay.
func (g *Grants) releaseLease(ctx context.Context, row *ent.OAuthGrant, lease uuid.UUID, reason string) {
	err := g.ent.OAuthGrant.Update().Where(oauthgrant.ID(row.ID), oauthgrant.LeaseID(lease)).
		ClearLeaseID().SetLeaseUntil(g.now().Add(retryDelay)).SetLastError(line(reason, maxLastError)).Exec(ctx)
	if err != nil {
		g.log.WarnContext(ctx, "oauth grant lease not released", slog.String("grant", row.ID.String()), slog.Any("error", err))
	}
}

// markNeedsAuth marks a grant and its connectors as waiting for a person and
// returns a *NeedsAuthError. It returns nil if the tokens were replaced meanwhile.
func (g *Grants) markNeedsAuth(ctx context.Context, row *ent.OAuthGrant, reason string) error {
	ctx = maintaining(context.WithoutCancel(ctx), row)
	changed := 0
	err := transaction.In(transaction.Outside(ctx), g.ent, func(ctx context.Context, client *ent.Client) (err error) {
		changed, err = client.OAuthGrant.Update().Where(oauthgrant.ID(row.ID), oauthgrant.Generation(row.Generation)).
			SetStatus(oauthgrant.StatusNeedsAuth).SetLastError(line(reason, maxLastError)).ClearLeaseID().ClearLeaseUntil().Save(ctx)
		if err != nil || changed == 0 {
			return err
		}
		return client.Connector.Update().Where(connector.GrantID(row.ID), connector.StatusNEQ(connector.StatusPaused)).
			SetStatus(connector.StatusNeedsAuth).Exec(ctx)
	})
	switch {
	case err != nil:
		return fmt.Errorf("mark a grant that works no more: %w", err)
	case changed == 0:
		return nil
	}
	g.log.InfoContext(ctx, "oauth grant needs authorization", slog.String("provider", row.Provider), slog.String("grant", row.ID.String()))
	return &NeedsAuthError{row.Provider, reason}
}

func isNeedsAuth(err error) bool {
	var needs *NeedsAuthError
	return errors.As(err, &needs)
}

// TokenSource returns a function that returns the access token of a grant.
// Connectors call it without a viewer.
func (g *Grants) TokenSource(workspace, grant uuid.UUID) func(ctx context.Context, refused string) (string, map[string]string, error) {
	return func(ctx context.Context, refused string) (string, map[string]string, error) {
		t, err := g.token(viewer.With(ctx, viewer.System(workspace)), grant, refused)
		return t.Access, t.Details, err
	}
}
