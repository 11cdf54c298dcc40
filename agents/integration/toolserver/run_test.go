package toolserver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/magpie-search/magpie/agents/integration"
	"github.com/magpie-search/magpie/agents/integration/toolserver"
	"github.com/magpie-search/magpie/agents/loop"
	"github.com/magpie-search/magpie/agents/mcp"
	"github.com/magpie-search/magpie/agents/policy"
	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/internal/model/llm"
	"github.com/magpie-search/magpie/internal/model/llm/llmtest"
)

// act serves one tool and returns it as runs of a person call it.
func act(t *testing.T, limits mcp.Limits, handle sdk.ToolHandler) (tool loop.Tool, client *mcp.Client) {
	t.Helper()
	server := sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	server.AddTool(&sdk.Tool{Name: "act", Description: "Acts.", InputSchema: json.RawMessage(`{"type":"object"}`), Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true}}, handle)
	listener := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil)) // with sessions, so that calls are stopped
	t.Cleanup(listener.Close)
	account := integration.Account{Settings: connectors.Settings{ConnectorID: t.Name(), Config: map[string]any{"url": listener.URL}}}
	client = mcp.NewClient(mcp.Options{Dial: (&net.Dialer{}).DialContext, Limits: limits})
	t.Cleanup(client.Close)
	s := toolserver.New(client, nil, toolserver.OAuth{})
	found, _, err := s.Discover(t.Context(), account)
	if err != nil {
		t.Fatal(err)
	}
	found[0].Timeout = limits.Call
	made, err := s.Tool(found[0])
	if err != nil {
		t.Fatal(err)
	}
	tool = integration.Provider{Name: "mcp", Title: "Tracker"}.LoopTool(made, func(context.Context) (integration.Account, error) { return account, nil })
	tool.Timeout, tool.Risk = made.Timeout, policy.Read
	return tool, client
}

// run lets a model call the tool n times, one after the other, and returns what it is told.
func run(ctx context.Context, t *testing.T, tool loop.Tool, n int) (told []string, err error) {
	t.Helper()
	var replies []llmtest.Reply
	for i := range n {
		replies = append(replies, llmtest.Reply{Calls: []llm.ToolCall{{ID: fmt.Sprintf("call_%d", i), Name: tool.Name, Arguments: fmt.Sprintf(`{"n":%d}`, i)}}})
	}
	model, err := llm.NewOpenAI(llm.Config{Name: "test", BaseURL: llmtest.NewServer(t, append(replies, llmtest.Reply{Parts: []string{"done"}})...).URL, Key: "sk-test", Model: "m-1"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(model.Close)
	limits := loop.Standard()
	limits.ToolTimeout = 100 * time.Millisecond
	l, err := loop.New(loop.Options{Limits: limits})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	var mu sync.Mutex
	_, err = l.Run(ctx, loop.Task{ID: "run", Message: "Act.", Model: model, Tools: []loop.Tool{tool}}, func(e loop.Event) error {
		mu.Lock()
		defer mu.Unlock()
		if result, ok := e.(loop.ToolResult); ok {
			told = append(told, result.Message)
		}
		return nil
	})
	return told, err
}

func TestProgressExtendsACallInARun(t *testing.T) {
	t.Parallel()
	limits := mcp.Limits{Call: 300 * time.Millisecond, Progress: 10 * time.Second}
	slow := func(silent bool) sdk.ToolHandler {
		return func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			tick := time.NewTicker(50 * time.Millisecond)
			defer tick.Stop()
			for i := range 20 { // a second, which is longer than a call may be silent, and than other tools have
				select {
				case <-ctx.Done():
					return nil, ctx.Err()
				case <-tick.C:
				}
				if !silent {
					_ = r.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: float64(i)})
				}
			}
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "acted"}}}, nil
		}
	}
	tool, client := act(t, limits, slow(false))
	if tool.Timeout != client.LongestCall() {
		t.Errorf("a call may take %s", tool.Timeout)
	}
	if told, err := run(t.Context(), t, tool, 1); err != nil || len(told) != 1 || !strings.HasPrefix(told[0], "5 characters") {
		t.Errorf("a call with progress: %q, %v", told, err)
	}
	tool, _ = act(t, limits, slow(true))
	if told, err := run(t.Context(), t, tool, 1); err != nil || len(told) != 1 || !strings.Contains(told[0], "did not answer in time") {
		t.Errorf("a silent call: %q, %v", told, err)
	}
}

func TestAServerThatFailsInARunIsLeftAlone(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	tool, _ := act(t, mcp.Limits{Call: 50 * time.Millisecond}, func(ctx context.Context, _ *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		calls.Add(1)
		<-ctx.Done()
		return nil, ctx.Err()
	})
	told, err := run(t.Context(), t, tool, 7)
	if err != nil || len(told) != 7 || calls.Load() != 5 {
		t.Fatalf("%d calls: %q, %v", calls.Load(), told, err)
	}
	for i, message := range told {
		if want := map[bool]string{true: "did not answer in time", false: "is left alone for a moment"}[i < 5]; !strings.Contains(message, want) {
			t.Errorf("call %d: %q, want %q", i+1, message, want)
		}
	}
}

func TestTheRunsOfManyPeopleHaveFiveCallsInFlight(t *testing.T) {
	t.Parallel()
	var flying, most atomic.Int64
	full, release := make(chan struct{}), make(chan struct{})
	isFull := sync.OnceFunc(func() { close(full) }) // five again as the first ones end
	tool, _ := act(t, mcp.Limits{Call: time.Minute}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		n := flying.Add(1)
		defer flying.Add(-1)
		for before := most.Load(); n > before && !most.CompareAndSwap(before, n); before = most.Load() {
		}
		if n == 5 {
			isFull()
		}
		<-release
		return &sdk.CallToolResult{}, nil
	})
	var runs sync.WaitGroup
	for range 8 {
		runs.Go(func() {
			if told, err := run(t.Context(), t, tool, 1); err != nil || len(told) != 1 || told[0] != "no text" {
				t.Errorf("got %q, %v", told, err)
			}
		})
	}
	<-full
	close(release)
	runs.Wait()
	if most.Load() != 5 {
		t.Errorf("%d calls were in flight", most.Load())
	}
}

func TestTheServerIsToldThatARunWasCanceled(t *testing.T) {
	t.Parallel()
	started, stopped := make(chan struct{}), make(chan struct{})
	tool, _ := act(t, mcp.Limits{Call: time.Minute}, func(ctx context.Context, _ *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		close(started)
		<-ctx.Done()
		close(stopped)
		return nil, ctx.Err()
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-started; cancel() }()
	if _, err := run(ctx, t, tool, 1); err == nil {
		t.Error("the run goes on")
	}
	<-stopped
}
