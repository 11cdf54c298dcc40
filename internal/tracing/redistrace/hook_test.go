package redistrace_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/magpie-search/magpie/internal/testkit"
	"github.com/magpie-search/magpie/internal/tracing"
	"github.com/magpie-search/magpie/internal/tracing/redistrace"
)

func TestCommandsHaveSpansWithoutTheirData(t *testing.T) {
	t.Parallel()
	options, err := redis.ParseURL(testkit.Redis(t))
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(options)
	t.Cleanup(func() { _ = client.Close() })
	client.AddHook(redistrace.Hook{})
	spans := tracetest.NewInMemoryExporter()
	tracer := tracing.New(sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans)), tracing.Options{})
	ctx, span := tracer.Begin(t.Context(), "request", tracing.Root{})
	const secret = "ada@example.com"
	if err := client.Set(ctx, secret, "their "+secret, 0).Err(); err != nil {
		t.Fatal(err)
	}
	if err := client.Get(ctx, secret+"2").Err(); !errors.Is(err, redis.Nil) {
		t.Fatal(err)
	}
	if _, err := client.Pipelined(ctx, func(p redis.Pipeliner) error {
		p.Get(ctx, secret)
		p.Del(ctx, secret)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := client.Incr(ctx, secret).Err(); err != nil {
		t.Fatal(err)
	}
	if err := client.LPush(ctx, secret, secret).Err(); err == nil {
		t.Fatal("a number is a list")
	}
	if err := client.Do(ctx, secret).Err(); err == nil {
		t.Fatal("an address is a command")
	}
	span.End(nil)
	var said []string
	for _, s := range spans.GetSpans() {
		text := s.Name
		for _, a := range s.Attributes {
			text += fmt.Sprintf(" %s=%s", a.Key, a.Value.String())
		}
		said = append(said, text)
	}
	all := strings.Join(said, "\n")
	for _, want := range []string{
		"redis SET db.system.name=redis db.operation.name=SET\n", "redis GET db.system.name=redis db.operation.name=GET\n",
		"redis PIPELINE db.system.name=redis db.operation.name=PIPELINE db.operation.batch.size=2\n",
		"redis LPUSH db.system.name=redis db.operation.name=LPUSH error.type=", "redis COMMAND ",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("there is no %q in\n%s", want, all)
		}
	}
	if strings.Contains(strings.ToLower(all), secret) {
		t.Errorf("the spans have data:\n%s", all)
	}
}

// Not parallel, for testing.AllocsPerRun.
//
//nolint:paralleltest // see above
func TestTheHookCostsNothingWithoutATrace(t *testing.T) {
	ctx := context.Background()
	process := redistrace.Hook{}.ProcessHook(func(context.Context, redis.Cmder) error { return nil })
	pipeline := redistrace.Hook{}.ProcessPipelineHook(func(context.Context, []redis.Cmder) error { return nil })
	command := redis.NewStatusCmd(ctx, "get", "key")
	commands := []redis.Cmder{command, command}
	if n := testing.AllocsPerRun(1000, func() { _, _ = process(ctx, command), pipeline(ctx, commands) }); n != 0 {
		t.Errorf("%.1f allocations", n)
	}
}
