package graph

import (
	"context"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"magpie/agents/catalog"
	"magpie/agents/memory"
	"magpie/agents/run"
	"magpie/agents/template"
	"magpie/connectors"
	"magpie/ent"
	"magpie/internal/analytics"
	"magpie/internal/apierr"
	"magpie/internal/authn"
	"magpie/internal/chat"
	"magpie/internal/docwatch"
	"magpie/internal/embed"
	"magpie/internal/inbound"
	"magpie/internal/index"
	"magpie/internal/oauth"
	"magpie/internal/pace"
	"magpie/internal/people"
	"magpie/internal/principal"
	"magpie/internal/quota"
	"magpie/internal/replay"
	"magpie/internal/search"
	"magpie/internal/secret"
	"magpie/internal/signon"
	"magpie/internal/sourcefile"
	"magpie/internal/summary"
	"magpie/internal/syncjob"
	"magpie/internal/transaction"
	"magpie/internal/viewer"
)

// Resolver answers the schema from the domain packages. Every field is needed
// unless it says otherwise.
type Resolver struct {
	Ent       *ent.Client
	Accounts  *authn.Accounts
	People    *people.People
	Keys      *authn.Keys
	Jobs      *syncjob.Jobs
	Files     *sourcefile.Files
	Kinds     *connectors.Registry
	Secrets   *secret.Box
	Search    *search.Engine
	Index     *index.Store
	Chat      *chat.Chat
	Runs      *run.Runs
	Answers   *replay.Keeper[chat.Event] // of chat on the dashboard
	News      *docwatch.Feed             // of documents
	Models    *embed.Registry
	Agents    *catalog.Catalog
	Templates *template.Store
	Memories  *memory.Store
	Summaries *summary.Summarizer
	Quota     *quota.Quota
	// Principals are who belongs to which group at the sources.
	Principals *principal.Store
	Analytics  *analytics.Store
	Grants     *oauth.Grants
	SignOn     *signon.SignOn
	Inbox      *inbound.Inbox
	Pacer      *pace.Pacer    // of connection tests; may be nil: they are made at will
	Queries    QueryLog       // may be nil: nothing is noted
	Audit      SignInLog      // of sign-ins that failed; may be nil
	SignIns    authn.Attempts // to begin signing in at a provider
	Log        *slog.Logger
	// MinScore is the min_score of a search that names none.
	MinScore float64
	Now      func() time.Time

	defaults *defaults // NewServer makes it; nil remembers none
}

// client is the surrounding mutation's transaction, else the plain client.
func (r *Resolver) client(ctx context.Context) *ent.Client {
	return transaction.Client(ctx, r.Ent)
}

// afterCommit runs do once the surrounding mutation has committed. Its failure
// is logged: the mutation itself has succeeded by then.
func (r *Resolver) afterCommit(ctx context.Context, what string, do func(context.Context) error) {
	transaction.AfterCommit(ctx, func(ctx context.Context) {
		if err := do(ctx); err != nil {
			r.Log.ErrorContext(ctx, "after commit", slog.String("step", what), slog.Any("error", err))
		}
	})
}

// found makes ent's "not found" the edge's.
func found[T any](what string, row *T, err error) (*T, error) {
	switch {
	case ent.IsNotFound(err):
		return nil, apierr.NotFound(what)
	case err != nil:
		return nil, err
	}
	return row, nil
}

// scope is what the viewer may reach.
func scope(ctx context.Context) (viewer.Scope, error) {
	s, err := viewer.ScopeOf(ctx)
	if err != nil {
		return viewer.Scope{}, &apierr.Error{Code: apierr.Unauthorized, Message: "Session required", Cause: err}
	}
	return s, nil
}

// within is the scope of one collection that the viewer has been shown to reach.
func within(ctx context.Context, collection uuid.UUID) (viewer.Scope, error) {
	s, err := scope(ctx)
	if err != nil {
		return viewer.Scope{}, err
	}
	narrow, err := s.Narrow(collection)
	if err != nil {
		return viewer.Scope{}, &apierr.Error{Code: apierr.Forbidden, Message: "Collection access denied", Cause: err}
	}
	return narrow, nil
}
