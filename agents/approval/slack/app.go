package slack

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/agents/approval"
	"github.com/magpie-search/magpie/agents/slackapi"
	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/internal/event"
	"github.com/magpie-search/magpie/internal/event/inbox"
	"github.com/magpie-search/magpie/internal/viewer"
)

// Inbox finds integrations; [inbox.Inbox] implements it.
type Inbox interface {
	// Verify returns the integrations that a request is genuine for.
	Verify(ctx context.Context, provider string, integration uuid.UUID, r *event.Request) ([]inbox.Verified, error)
	// Settings returns the opened settings of an integration.
	Settings(row *ent.InboundIntegration) (connectors.Settings, error)
}

// Options configure an App. Zero means the default in the comment.
type Options struct {
	Ent   *ent.Client
	Store *approval.Store
	API   *slackapi.Client
	// Dashboard is the address of the dashboard, without a trailing slash.
	Dashboard string
	Now       func() time.Time
	Log       *slog.Logger // nil discards
}

// App is the Slack side of approvals. It is safe for concurrent use and has no
// goroutines.
type App struct {
	opt   Options
	api   *slackapi.Client
	inbox Inbox

	mu    sync.Mutex
	mails map[mailKey]mail
}

// New returns an App. Use sets its inbox, which needs the App's provider first.
func New(o Options) *App {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &App{opt: o, api: o.API, mails: map[mailKey]mail{}}
}

// Use sets the inbox of the integrations.
func (a *App) Use(in Inbox) { a.inbox = in }

// respond sends a text that only the person who used a button sees. Slack's address for
// it is part of the signed request; it is used for nothing else.
func (a *App) respond(ctx context.Context, address, text string) {
	err := a.api.Respond(ctx, address, map[string]any{"response_type": "ephemeral", "replace_original": false, "text": escape(text)})
	if err != nil {
		a.opt.Log.WarnContext(ctx, "response not sent to Slack", slog.Any("error", err))
	}
}

// system returns the context of Magpie itself in a workspace.
func system(ctx context.Context, workspace uuid.UUID) context.Context {
	return viewer.With(ctx, viewer.System(workspace))
}
