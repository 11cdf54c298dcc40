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
	"github.com/magpie-search/magpie/internal/viewer"
)

// Times of renewals.
const (
	// earliest is how long before its end a token is renewed at most; a fifth of
	// its life when that is shorter.
	earliest = 5 * time.Minute
	// pause keeps callers from asking a provider again at once that has just failed.
	pause     = 5 * time.Second
	pollEvery = 100 * time.Millisecond
	storeWait = 500 * time.Millisecond
)

// Token is an access token that works.
type Token struct {
	Access string
	// Details are what the provider told with it that its interface needs, such
	// as Salesforce's instance_url.
	Details map[string]string
	// ExpiresAt is when it ends; nil when that is not known.
	ExpiresAt *time.Time
}

// NeedsAuthError says that a grant works no more until a person gives it again.
type NeedsAuthError struct{ Provider, Reason string }

// Error is fit to be shown.
func (e *NeedsAuthError) Error() string {
	return e.Provider + " does not accept this grant any more (" + e.Reason + "); connect again"
}

// NeedsAuth marks the error for the sync engine.
func (e *NeedsAuthError) NeedsAuth() bool { return true }

// lostError says that the tokens of a grant do not open.
type lostError struct {
	text string
	err  error
}

func (e *lostError) Error() string   { return e.text }
func (e *lostError) Unwrap() error   { return e.err }
func (e *lostError) NeedsAuth() bool { return true }

// retryError is a renewal that may succeed later.
type retryError struct {
	err   error
	after time.Duration
}

func (e *retryError) Error() string             { return e.err.Error() }
func (e *retryError) Unwrap() error             { return e.err }
func (e *retryError) RetryAfter() time.Duration { return e.after }

// Token gives an access token of a grant that the viewer may reach, renewed
// where it ends soon. However many callers and workers ask, one of them renews
// it, and nobody waits for a renewal while the present token works. The error is
// a *NeedsAuthError when a person has to connect again; one with a method
// RetryAfter when later may help.
func (g *Grants) Token(ctx context.Context, grant uuid.UUID) (Token, error) {
	return g.token(ctx, grant, "")
}

// Renew is Token for somebody whose token the provider has refused although it
// should have worked: one that is still the present one is replaced.
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
			return Token{}, &NeedsAuthError{row.Provider, deref(row.LastError)}
		}
		t, err := g.open(row)
		if err != nil {
			// The row is left as it is: the operator may put a key back.
			return Token{}, &lostError{text: secret.LostMessage("The tokens of the grant of "+row.Provider, "connect again", err), err: err}
		}
		present := Token{Access: t.Access, Details: t.Details, ExpiresAt: row.ExpiresAt}
		works := t.Access != refused && (row.ExpiresAt == nil || g.now().Before(*row.ExpiresAt))
		if renewed || works && (!g.due(row) || t.Refresh == "") {
			return present, nil // what was just given is the best there is
		}
		if t.Refresh == "" {
			if err := g.lost(ctx, row, "it cannot be renewed: the provider gave no refresh token"); err != nil {
				return Token{}, err
			}
			continue
		}
		f, err := g.begin(ctx, row, t)
		if err != nil {
			return Token{}, err
		}
		if works && f == nil {
			return present, nil // somebody else is at it
		}
		if err := f.wait(ctx); err != nil {
			if works && !isNeedsAuth(err) {
				return present, nil // the next caller tries again
			}
			return Token{}, err
		}
		renewed = f != nil && f.ours
	}
}

func deref(s *string) string {
	if s == nil {
		return "it was withdrawn"
	}
	return *s
}

// due reports whether it is time to renew.
func (g *Grants) due(row *ent.OAuthGrant) bool {
	if row.ExpiresAt == nil {
		return false
	}
	margin := earliest
	if row.RefreshedAt != nil {
		margin = min(margin, row.ExpiresAt.Sub(*row.RefreshedAt)/5)
	}
	return !g.now().Before(row.ExpiresAt.Add(-margin))
}

// flight is a renewal in this process.
type flight struct {
	done chan struct{}
	ours bool // the lease was this process's; else nothing is known when it is done
	err  error
}

// wait waits for the renewal here, or a moment for that of another worker (nil).
func (f *flight) wait(ctx context.Context) error {
	if f != nil {
		select {
		case <-f.done:
			return f.err
		case <-ctx.Done():
			return fmt.Errorf("wait for a new access token: %w", ctx.Err())
		}
	}
	timer := time.NewTimer(pollEvery)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for a new access token: %w", ctx.Err())
	}
}

// begin joins the renewal that runs in this process or starts one; nil when
// another worker holds the lease.
func (g *Grants) begin(ctx context.Context, row *ent.OAuthGrant, t tokens) (*flight, error) {
	g.mu.Lock()
	if running := g.flights[row.ID]; running != nil {
		g.mu.Unlock()
		return running, nil
	}
	if g.closed {
		g.mu.Unlock()
		return nil, &retryError{errors.New("the process is ending"), pause}
	}
	f := &flight{done: make(chan struct{})}
	g.flights[row.ID] = f
	g.running.Add(1)
	g.mu.Unlock()

	end := func(err error) {
		g.mu.Lock()
		delete(g.flights, row.ID)
		g.mu.Unlock()
		f.err = err
		close(f.done)
		g.running.Done()
	}
	// What is begun is finished, whoever waits for it: an answer that nobody
	// stores may be the only one with the next refresh token.
	alone := system(context.WithoutCancel(ctx), row.WorkspaceID)
	lease := uuid.New()
	now := g.now()
	got, err := g.ent.OAuthGrant.Update().Where(
		oauthgrant.ID(row.ID), oauthgrant.Generation(row.Generation), oauthgrant.StatusEQ(oauthgrant.StatusActive),
		oauthgrant.Or(oauthgrant.LeaseUntilIsNil(), oauthgrant.LeaseUntilLTE(now)),
	).SetLeaseID(lease).SetLeaseUntil(now.Add(g.lease)).Save(alone)
	if err != nil {
		err = fmt.Errorf("take the lease of a grant: %w", err)
		end(err)
		return nil, err
	}
	if got == 0 {
		end(nil)
		return nil, nil //nolint:nilnil // not ours: documented
	}
	f.ours = true // is read once it is done
	go func() { end(g.renew(alone, row, t, lease)) }()
	return f, nil
}

// renew asks the provider and stores what it answers.
func (g *Grants) renew(ctx context.Context, row *ent.OAuthGrant, t tokens, lease uuid.UUID) error {
	p := g.remotes[row.Provider]
	if p == nil || len(p.missing(p.client)) > 0 {
		g.release(ctx, row, lease, "the provider is not set up here any more")
		return &retryError{fmt.Errorf("%s is not set up here any more", row.Provider), time.Minute}
	}
	made, err := p.refresh(ctx, t)
	if err == nil {
		return g.store(ctx, row, made)
	}
	var refused *ProviderError
	if errors.As(err, &refused) && refused.Code == "invalid_grant" {
		return g.lost(ctx, row, refused.Code)
	}
	after := pause
	if refused != nil {
		after = max(after, refused.After)
	}
	g.log.WarnContext(ctx, "an access token was not renewed", slog.String("provider", row.Provider),
		slog.String("grant", row.ID.String()), slog.Any("error", err))
	g.release(ctx, row, lease, err.Error())
	return &retryError{err, after}
}

// store keeps new tokens, if the grant still has those that they follow. The
// provider may have forgotten the old refresh token by now, so that it is tried
// for as long as the lease lasts.
func (g *Grants) store(ctx context.Context, row *ent.OAuthGrant, made issued) error {
	sealed, err := g.seal(row.ID, made.tokens)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, g.lease)
	defer cancel()
	for {
		// A worker that took the lease after this one may have been refused with
		// the old refresh token: these tokens are newer than its verdict.
		err := g.inTransaction(ctx, func(tx *ent.Tx) error {
			return replace(ctx, tx, row, sealed, g.now(), g.expiry(made.lifetime))
		})
		if err == nil {
			return nil // or the grant was given again, or revoked, meanwhile
		}
		timer := time.NewTimer(storeWait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			g.log.ErrorContext(ctx, "a renewed access token could not be stored; the grant may have to be given again",
				slog.String("provider", row.Provider), slog.String("grant", row.ID.String()), slog.Any("error", err))
			return &retryError{fmt.Errorf("store a renewed access token: %w", err), pause}
		}
	}
}

func replace(ctx context.Context, tx *ent.Tx, row *ent.OAuthGrant, sealed []byte, now time.Time, expires *time.Time) error {
	update := tx.OAuthGrant.Update().Where(oauthgrant.ID(row.ID), oauthgrant.Generation(row.Generation)).
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
	return works(ctx, tx, row.ID)
}

// works lets the connectors of a grant run again that waited for it.
func works(ctx context.Context, tx *ent.Tx, grant uuid.UUID) error {
	return tx.Connector.Update().Where(connector.GrantID(grant), connector.StatusEQ(connector.StatusNeedsAuth)).
		SetStatus(connector.StatusActive).Exec(ctx)
}

// release lets others try again after a moment.
func (g *Grants) release(ctx context.Context, row *ent.OAuthGrant, lease uuid.UUID, reason string) {
	err := g.ent.OAuthGrant.Update().Where(oauthgrant.ID(row.ID), oauthgrant.LeaseID(lease)).
		ClearLeaseID().SetLeaseUntil(g.now().Add(pause)).SetLastError(printable(reason, 500)).Exec(ctx)
	if err != nil {
		g.log.WarnContext(ctx, "the lease of a grant was not given back; it ends by itself", slog.String("grant", row.ID.String()), slog.Any("error", err))
	}
}

// lost marks a grant and its connectors as in need of a person, unless its
// tokens were replaced meanwhile, which makes nil of the error.
func (g *Grants) lost(ctx context.Context, row *ent.OAuthGrant, reason string) error {
	ctx = system(context.WithoutCancel(ctx), row.WorkspaceID)
	changed := 0
	err := g.inTransaction(ctx, func(tx *ent.Tx) (err error) {
		changed, err = tx.OAuthGrant.Update().Where(oauthgrant.ID(row.ID), oauthgrant.Generation(row.Generation)).
			SetStatus(oauthgrant.StatusNeedsAuth).SetLastError(printable(reason, 500)).ClearLeaseID().ClearLeaseUntil().Save(ctx)
		if err != nil || changed == 0 {
			return err
		}
		return tx.Connector.Update().Where(connector.GrantID(row.ID), connector.StatusNEQ(connector.StatusPaused)).
			SetStatus(connector.StatusNeedsAuth).Exec(ctx)
	})
	switch {
	case err != nil:
		return fmt.Errorf("mark a grant that works no more: %w", err)
	case changed == 0:
		return nil
	}
	g.log.InfoContext(ctx, "a grant works no more", slog.String("provider", row.Provider), slog.String("grant", row.ID.String()))
	return &NeedsAuthError{row.Provider, reason}
}

func isNeedsAuth(err error) bool {
	var needs *NeedsAuthError
	return errors.As(err, &needs)
}

// Source gives one grant's tokens to a connector, which knows no tenant.
func (g *Grants) Source(workspace, grant uuid.UUID) func(ctx context.Context, refused string) (string, map[string]string, error) {
	return func(ctx context.Context, refused string) (string, map[string]string, error) {
		t, err := g.token(viewer.With(ctx, viewer.System(workspace)), grant, refused)
		return t.Access, t.Details, err
	}
}
