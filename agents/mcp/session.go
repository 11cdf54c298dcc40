package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/magpie-search/magpie/agents/arguments"
	"github.com/magpie-search/magpie/agents/loop"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/safetext"
)

// maxPages bounds the pages of a list of tools.
const maxPages = 20

// Session is a connection to a server as one person. It is safe for concurrent use.
type Session struct {
	client *Client
	server Server
	gate   *gate

	mu     sync.Mutex
	open   *sdk.ClientSession
	cancel context.CancelFunc
	closed bool

	calls    atomic.Int64
	gaveUp   atomic.Int64 // when the last call was given up, in Unix nanoseconds
	progress sync.Map     // of the progress token of a call: func()
}

// stopGrace is the time that the message to stop a call has to leave before the
// connection is closed. The SDK sends it from a goroutine of its own.
const stopGrace = 250 * time.Millisecond

// Close ends the connection. Calls in flight fail.
func (s *Session) Close() {
	if wait := time.Until(time.Unix(0, s.gaveUp.Load()).Add(stopGrace)); wait > 0 {
		timer := time.NewTimer(wait)
		<-timer.C
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.disconnect()
}

// disconnect ends the connection; s.mu is held.
func (s *Session) disconnect() {
	if s.open == nil {
		return
	}
	open, cancel := s.open, s.cancel
	s.open, s.cancel = nil, nil
	timer := time.AfterFunc(s.client.opt.Limits.Connect, cancel)
	_ = open.Close() // a server that does not say goodbye is gone as well
	timer.Stop()
	cancel()
}

// drop ends a connection that is of no more use.
func (s *Session) drop(used *sdk.ClientSession) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == used {
		s.disconnect()
	}
}

// connect returns the connection, which it opens if there is none.
func (s *Session) connect(ctx context.Context) (*sdk.ClientSession, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errors.New("the session is closed")
	}
	if s.open != nil {
		return s.open, nil
	}
	options := &sdk.ClientOptions{
		Capabilities: &sdk.ClientCapabilities{}, // no roots, no sampling
		Logger:       slog.New(slog.DiscardHandler),
		ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) {
			if alive, ok := s.progress.Load(fmt.Sprint(r.Params.ProgressToken)); ok {
				alive.(func())()
			}
		},
		ElicitationHandler: s.client.opt.Elicit,
	}
	if changed := s.server.Changed; changed != nil {
		options.ToolListChangedHandler = func(context.Context, *sdk.ToolListChangedRequest) { changed() }
	}
	version := s.client.opt.Version
	if version == "" {
		version = "dev"
	}
	client := sdk.NewClient(&sdk.Implementation{Name: "magpie", Title: "Magpie", Version: version}, options)
	// The connection outlives the call that opens it.
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	transport, err := s.client.transport(life, s.server)
	if err != nil {
		cancel()
		return nil, err
	}
	stop := context.AfterFunc(ctx, cancel)
	open, err := client.Connect(life, transport, nil)
	if err != nil || !stop() {
		cancel()
		if err == nil {
			_ = open.Close()
			err = context.Cause(ctx)
		}
		return nil, err
	}
	s.open, s.cancel = open, cancel
	return open, nil
}

// Errors of calls.
var (
	errSilent  = errors.New("no answer in time")
	errTooMuch = errors.New("more progress than time")
)

// do runs one use of the server: within the limits of the server, with a connection.
// acting says that a use that fails may have taken effect.
func (s *Session) do(ctx context.Context, acting bool, use func(ctx context.Context, open *sdk.ClientSession) error) error {
	select {
	case s.gate.slots <- struct{}{}:
		defer func() { <-s.gate.slots }()
	case <-ctx.Done():
		return fmt.Errorf("wait for a turn at %s: %w", s.server.Name, context.Cause(ctx))
	}
	call, wait, ok := s.gate.breaker.Allow()
	if !ok {
		return &apierr.Error{Code: apierr.Unavailable, RetryAfter: wait, Message: s.server.Name + " failed several times in a row and is left alone for a moment; try again later."}
	}
	defer call.Abandon()
	err := s.attempt(ctx, acting, use)
	if errors.Is(err, sdk.ErrSessionMissing) { // the server forgot the session, so it did nothing
		err = s.attempt(ctx, acting, use)
	}
	if err == nil {
		call.Succeed()
		return nil
	}
	switch failed := apierr.From(err); {
	case ctx.Err() != nil:
	case failed.Code == apierr.Unavailable || failed.Code == apierr.Internal:
		call.Fail(0)
	default:
		call.Succeed() // it answered
	}
	return err
}

// attempt uses the connection once.
func (s *Session) attempt(ctx context.Context, acting bool, use func(ctx context.Context, open *sdk.ClientSession) error) error {
	connecting, cancel := context.WithTimeoutCause(ctx, s.client.opt.Limits.Connect, errSilent)
	defer cancel()
	open, err := s.connect(connecting)
	if err != nil {
		return s.explain(ctx, connecting, err, false)
	}
	if err = use(ctx, open); err == nil {
		return nil
	}
	if answered(err) == nil && !errors.Is(err, errSilent) && !errors.Is(err, errTooMuch) && ctx.Err() == nil {
		s.drop(open) // it may be broken; after a call that was given up it still carries the message to stop
	}
	return s.explain(ctx, ctx, err, acting)
}

// explain returns an error of the protocol in words for models and people. ctx is that
// of the caller, bound that of the step that failed.
func (s *Session) explain(ctx, bound context.Context, err error, acting bool) error {
	var safe *apierr.Error
	unknown, cause := "", err
	if acting {
		unknown, cause = " It is not known whether the call took effect.", errors.Join(err, loop.ErrUnknownOutcome)
	}
	switch {
	case errors.As(err, &safe):
		return err
	case ctx.Err() != nil:
		return fmt.Errorf("call %s: %w", s.server.Name, context.Cause(ctx))
	case errors.Is(err, errSilent), errors.Is(err, errTooMuch), errors.Is(context.Cause(bound), errSilent):
		return &apierr.Error{Code: apierr.Unavailable, Message: s.server.Name + " did not answer in time." + unknown, Cause: cause}
	case errors.Is(err, errOtherHost):
		return &apierr.Error{Code: apierr.Unavailable, Message: s.server.Name + " redirects to another host, which is not followed; correct its address.", Cause: err}
	case errors.Is(err, errTooLarge):
		return &apierr.Error{Code: apierr.Unavailable, Message: s.server.Name + " answered with too much: more than 1 MiB." + unknown, Cause: cause}
	case answered(err) != nil:
		message := safetext.Truncate(safetext.Line(answered(err).Message), maxFailure)
		return &apierr.Error{Code: apierr.InvalidRequest, Message: s.server.Name + " refused the call: " + message, Cause: err}
	default:
		return &apierr.Error{Code: apierr.Unavailable, Message: s.server.Name + " cannot be reached, or does not speak the protocol." + unknown, Cause: cause}
	}
}

// answered returns the error that the server itself answered with, or nil. The SDK
// uses the same type for failures of its own.
func answered(err error) *jsonrpc.Error {
	//nolint:errorlint // every error of the tree is looked at, not only the first of the type
	switch e := err.(type) {
	case *jsonrpc.Error:
		if e.Code > -32006 && e.Code < -32000 && e.Data == nil {
			return nil // rejected by the transport, closing, unknown
		}
		return e
	case interface{ Unwrap() error }:
		return answered(e.Unwrap())
	case interface{ Unwrap() []error }:
		for _, inner := range e.Unwrap() {
			if found := answered(inner); found != nil {
				return found
			}
		}
	}
	return nil
}

// Tools returns the tools of the server, at most [MaxTools], and those that cannot be
// used. Errors are *apierr.Error or *NeedsAuthError, or say that ctx ended.
func (s *Session) Tools(ctx context.Context) (tools []Tool, skipped []Skipped, err error) {
	err = s.do(ctx, false, func(ctx context.Context, open *sdk.ClientSession) error {
		ctx, cancel := context.WithTimeoutCause(ctx, s.client.opt.Limits.Connect, errSilent)
		defer cancel()
		tools, skipped, err = list(ctx, open)
		if err != nil && context.Cause(ctx) == errSilent { //nolint:errorlint // the cause is that value itself
			return errSilent
		}
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	return tools, skipped, nil
}

func list(ctx context.Context, open *sdk.ClientSession) (tools []Tool, skipped []Skipped, err error) {
	names := map[string]bool{}
	cursor, total := "", 0
	for range maxPages {
		page, err := open.ListTools(ctx, &sdk.ListToolsParams{Cursor: cursor})
		if err != nil {
			return nil, nil, err
		}
		for _, t := range page.Tools {
			if t == nil {
				continue
			}
			total++
			name := safetext.Truncate(safetext.Line(t.Name), maxToolName)
			tool, problem := newTool(t)
			switch {
			case problem != "":
			case names[t.Name]:
				problem = "the server has two tools of that name"
			case len(tools) >= MaxTools:
				problem = fmt.Sprintf("the server has more than %d tools", MaxTools)
			default:
				names[t.Name] = true
				tools = append(tools, tool)
				continue
			}
			if len(skipped) < MaxTools {
				skipped = append(skipped, Skipped{Name: name, Reason: problem})
			}
		}
		if page.NextCursor == "" || page.NextCursor == cursor || total > 10*MaxTools {
			return tools, skipped, nil
		}
		cursor = page.NextCursor
	}
	return tools, skipped, nil
}

// Call calls a tool. The arguments must fit its schema. Errors are *apierr.Error or
// *NeedsAuthError, or say that ctx ended; the server is then told to stop.
func (s *Session) Call(ctx context.Context, tool *Tool, input json.RawMessage) (result loop.Result, err error) {
	if err := arguments.Validate(tool.Input, input); err != nil {
		return loop.Result{}, err
	}
	err = s.do(ctx, !tool.Hints.ReadOnly, func(ctx context.Context, open *sdk.ClientSession) error {
		answer, err := s.call(ctx, open, tool, input)
		if err != nil {
			return err
		}
		result, err = s.convert(tool, answer)
		return err
	})
	return result, err
}

// call makes a call within the limits of time.
func (s *Session) call(ctx context.Context, open *sdk.ClientSession, tool *Tool, input json.RawMessage) (*sdk.CallToolResult, error) {
	limits := s.client.opt.Limits
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	quiet := limits.Call
	if tool.Silence > 0 {
		quiet = min(tool.Silence, limits.Progress)
	}
	silence := time.AfterFunc(quiet, func() { cancel(errSilent) })
	defer silence.Stop()
	end := time.AfterFunc(limits.Progress, func() { cancel(errTooMuch) })
	defer end.Stop()
	token := "call-" + strconv.FormatInt(s.calls.Add(1), 10)
	s.progress.Store(token, func() { silence.Reset(quiet) })
	defer s.progress.Delete(token)
	params := &sdk.CallToolParams{Name: tool.Name, Arguments: input}
	params.SetProgressToken(token)
	answer, err := open.CallTool(ctx, params)
	if err != nil {
		if ctx.Err() != nil {
			s.gaveUp.Store(time.Now().UnixNano())
		}
		if cause := context.Cause(ctx); cause != nil && (errors.Is(cause, errSilent) || errors.Is(cause, errTooMuch)) {
			return nil, cause
		}
		return nil, err
	}
	return answer, nil
}
