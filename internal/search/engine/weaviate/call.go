package weaviate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/magpie-search/magpie/internal/search/engine"
)

// rawCodec passes encoded messages on.
type rawCodec struct{}

// Marshal returns the bytes that v points to.
func (rawCodec) Marshal(v any) ([]byte, error) {
	if m, ok := v.(*[]byte); ok {
		return *m, nil
	}
	return nil, fmt.Errorf("a message is a %T", v)
}

// Unmarshal lets v point to data.
func (rawCodec) Unmarshal(data []byte, v any) error {
	m, ok := v.(*[]byte)
	if !ok {
		return fmt.Errorf("a message is a %T", v)
	}
	*m = bytes.Clone(data)
	return nil
}

// Name is that of the format that the messages have.
func (rawCodec) Name() string { return "proto" }

// answer is a refusal or a failure that a node answered with.
type answer struct {
	node, text string
	http       int  // status of REST, 0 for gRPC
	temporary  bool // it may pass
	silent     bool // it is no answer of the node, but that none came
	refused    bool // it is about what the request holds
}

func (a *answer) Error() string { return fmt.Sprintf("the node at %s: %s", a.node, a.text) }

// Unwrap makes an error that may pass one of engine.ErrUnavailable.
func (a *answer) Unwrap() error {
	if a.temporary {
		return engine.ErrUnavailable
	}
	return nil
}

// statusOf returns the status that a node answered a REST request with, 0 for none.
func statusOf(err error) int {
	var a *answer
	if errors.As(err, &a) {
		return a.http
	}
	return 0
}

// ended returns the error of a call whose context has ended. One whose time was up may
// succeed later.
func ended(ctx context.Context) error {
	if err := ctx.Err(); errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%w: %w", engine.ErrUnavailable, err)
	}
	return ctx.Err()
}

// call calls a method of gRPC at one node, and at others if that cannot answer. Nodes that
// failed a moment ago would only take time from the others. It returns the node that
// answered.
func (b *Backend) call(ctx context.Context, method string, in message, longest time.Duration) ([]byte, *node, error) {
	nodes, fit := b.order()
	if fit >= 2 {
		nodes = nodes[:fit]
	}
	nodes = nodes[:min(tries, len(nodes))]
	for i, n := range nodes {
		last := i == len(nodes)-1
		out, err := b.callAt(ctx, n, method, in, longest, last)
		if err == nil || last || ctx.Err() != nil || !errors.Is(err, engine.ErrUnavailable) {
			return out, n, err
		}
	}
	panic("unreachable")
}

func (b *Backend) callAt(ctx context.Context, n *node, method string, in message, longest time.Duration, last bool) ([]byte, error) {
	inner, cancel := attempt(ctx, longest, last)
	defer cancel()
	if b.key != "" {
		inner = metadata.AppendToOutgoingContext(inner, "authorization", "Bearer "+b.key)
	}
	request, reply := []byte(in), []byte(nil)
	err := n.conn.Invoke(inner, method, &request, &reply)
	if err == nil {
		return reply, nil
	}
	if ctx.Err() != nil {
		return nil, ended(ctx)
	}
	a := &answer{node: n.address, text: status.Convert(err).Message()}
	switch status.Code(err) {
	case codes.DeadlineExceeded:
		n.failed.Store(b.now().UnixNano())
		a.temporary, a.silent = true, true
		return nil, fmt.Errorf("%w: %w", a, context.DeadlineExceeded)
	case codes.Unavailable, codes.Canceled:
		n.failed.Store(b.now().UnixNano())
		a.temporary, a.silent = true, true
	case codes.InvalidArgument, codes.OutOfRange:
		a.refused = true
	case codes.NotFound, codes.AlreadyExists, codes.PermissionDenied, codes.Unauthenticated, codes.FailedPrecondition, codes.Unimplemented:
	default: // most of what the engine says has no code: a replica that does not answer, too
		a.temporary = true
	}
	return nil, a
}

// rest makes a REST request at one node after another until one answers. What it answers
// is decoded into out, unless that is nil.
func (b *Backend) rest(ctx context.Context, method, path string, body []byte, out any) error {
	nodes, _ := b.order()
	for i, n := range nodes {
		last := i == len(nodes)-1
		inner, cancel := attempt(ctx, restTimeout, last)
		err := b.restAt(inner, n, method, path, body, out)
		cancel()
		if ctx.Err() != nil {
			return ended(ctx)
		}
		if err == nil || last || !errors.Is(err, engine.ErrUnavailable) {
			return err
		}
	}
	panic("unreachable")
}

// restAt makes a REST request at one node.
func (b *Backend) restAt(ctx context.Context, n *node, method, path string, body []byte, out any) error {
	request, err := http.NewRequestWithContext(ctx, method, n.address+path, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("request to the node at %s: %w", n.address, err)
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	// What the node itself knows: it would ask the leader of the cluster, and wait for it
	// long after that has died. Create and Drop wait until every node knows of them.
	request.Header.Set("Consistency", "false")
	if b.key != "" {
		request.Header.Set("Authorization", "Bearer "+b.key)
	}
	response, err := b.client.Do(request)
	if err != nil {
		if request.Context().Err() == nil || errors.Is(err, context.DeadlineExceeded) {
			n.failed.Store(b.now().UnixNano())
		}
		return fmt.Errorf("request to the node at %s: %w: %w", n.address, engine.ErrUnavailable, err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxReply))
	if err != nil {
		return fmt.Errorf("answer of the node at %s: %w: %w", n.address, engine.ErrUnavailable, err)
	}
	if code := response.StatusCode; code < 200 || code > 299 {
		return &answer{node: n.address, http: code, text: fmt.Sprintf("%s %.500s", response.Status, text), temporary: code > 499 || code == http.StatusTooManyRequests}
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(text, out); err != nil {
		return fmt.Errorf("answer of the node at %s: %w", n.address, err)
	}
	return nil
}

// lookup asks the engine about a class. A node that has just come back may not know it yet,
// so that a class does not exist only if most of the nodes say so.
func (b *Backend) lookup(ctx context.Context, class string) (classInfo, error) {
	absent, failures := 0, []error{engine.ErrUnavailable}
	nodes, _ := b.order()
	for i, n := range nodes {
		var c schemaClass
		inner, cancel := attempt(ctx, restTimeout, i == len(nodes)-1)
		err := b.restAt(inner, n, http.MethodGet, "/v1/schema/"+class, nil, &c)
		cancel()
		switch {
		case ctx.Err() != nil:
			return classInfo{}, ended(ctx)
		case statusOf(err) == http.StatusNotFound:
			absent++
		case errors.Is(err, engine.ErrUnavailable):
			failures = append(failures, err)
		case err != nil:
			return classInfo{}, fmt.Errorf("look up class %s: %w", class, err)
		default:
			return b.note(class, c.Description)
		}
	}
	if 2*absent > len(nodes) {
		b.forget(class)
		return classInfo{}, noClass(class)
	}
	return classInfo{}, fmt.Errorf("look up class %s: %d of %d nodes do not have it: %w", class, absent, len(nodes), errors.Join(failures...))
}

// note keeps what a class is described as.
func (b *Backend) note(class, description string) (classInfo, error) {
	info, ok := described(description)
	if !ok {
		return classInfo{}, fmt.Errorf("class %s was not created by Magpie", class)
	}
	info.seen = b.now()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.classes[class] = info
	return info, nil
}

func noClass(class string) error { return fmt.Errorf("class %.50q: %w", class, engine.ErrNoClass) }

// known returns what the engine said about a class within an age, 0 for ever.
func (b *Backend) known(ctx context.Context, class string, age time.Duration) (classInfo, error) {
	if !engine.ValidName(class) {
		return classInfo{}, noClass(class)
	}
	b.mu.Lock()
	info, ok := b.classes[class]
	b.mu.Unlock()
	if ok && (age == 0 || b.now().Sub(info.seen) < age) {
		return info, nil
	}
	return b.lookup(ctx, class)
}

func (b *Backend) forget(class string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.classes, class)
}

// explain returns err, or that the class does not exist, which the engine does not tell
// apart from other failures.
func (b *Backend) explain(ctx context.Context, class string, err error) error {
	var a *answer
	if ctx.Err() != nil || !errors.As(err, &a) || a.silent {
		return err
	}
	if _, look := b.lookup(ctx, class); errors.Is(look, engine.ErrNoClass) {
		return look
	}
	return err
}

// settle waits a moment until every node agrees. Other nodes learn of a change of the
// classes after the one that made it.
func (b *Backend) settle(ctx context.Context, agrees func(context.Context, *node) bool) error {
	waiting, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	for _, n := range b.nodes {
		ticker := time.NewTicker(20 * time.Millisecond)
		for !agrees(waiting, n) {
			select {
			case <-ticker.C:
			case <-waiting.Done():
			}
		}
		ticker.Stop()
	}
	if ctx.Err() != nil {
		return ended(ctx)
	}
	return nil
}

// settleClass waits a moment until every node that answers has learned that a class exists,
// or that it is gone.
func (b *Backend) settleClass(ctx context.Context, class string, exists bool) error {
	return b.settle(ctx, func(ctx context.Context, n *node) bool {
		err := b.restAt(ctx, n, http.MethodGet, "/v1/schema/"+class, nil, nil)
		switch {
		case err == nil:
			return exists
		case statusOf(err) == http.StatusNotFound:
			return !exists
		}
		return true // it does not answer
	})
}
