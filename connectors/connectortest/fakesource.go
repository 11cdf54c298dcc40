package connectortest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/magpie-search/magpie/connectors"
)

// A fakeSource is an opened [Fake].
type fakeSource struct {
	fake     *Fake
	settings connectors.Settings
}

// Walk implements [connectors.Source]. A cursor is the path of the last item.
func (s fakeSource) Walk(ctx context.Context, cursor string) (connectors.Page, error) {
	if err := s.settings.Wait(ctx); err != nil {
		return connectors.Page{}, err
	}
	f := s.fake
	due, err := f.beginCall(ctx, OnWalk, cursor)
	if err != nil {
		return connectors.Page{}, err
	}
	f.Lock()
	walking := f.BeforeWalk
	f.Unlock()
	if walking != nil {
		if err := walking(ctx, cursor); err != nil {
			return connectors.Page{}, err
		}
	}
	f.Lock()
	defer f.Unlock()
	page := connectors.Page{Next: cursor, Done: true}
	for _, path := range f.sorted() {
		if path <= cursor || f.incomplete[f.containerOf(path)] {
			continue
		}
		if len(page.Items) == f.PageSize {
			page.Done = false
			break
		}
		page.Items = append(page.Items, f.item(path))
		page.Next = path
	}
	if page.Incomplete = slices.Sorted(maps.Keys(f.incomplete)); len(page.Incomplete) > 0 {
		page.Warnings = []string{"Some containers are locked."}
	}
	if f.Reshape != nil {
		page = f.Reshape(page)
	}
	return due.alterPage(page, cursor), ctx.Err()
}

// Open implements [connectors.Source].
func (s fakeSource) Open(ctx context.Context, item connectors.Item) (io.ReadCloser, error) {
	if err := s.settings.Wait(ctx); err != nil {
		return nil, err
	}
	f := s.fake
	f.Lock()
	f.opens[item.ID]++
	opening := f.BeforeOpen
	f.Unlock()
	due, err := f.beginCall(ctx, OnOpen, item.ID)
	if err != nil {
		return nil, err
	}
	if opening != nil {
		if err := opening(ctx, item.ID); err != nil {
			return nil, err
		}
	}
	f.Lock()
	defer f.Unlock()
	file, ok := f.files[item.ID]
	switch {
	case !ok:
		return nil, fmt.Errorf("%.100q: %w", item.ID, connectors.ErrNotFound)
	case item.Version != "" && item.Version != file.Version && f.Reshape == nil: // it may have changed versions
		return nil, connectors.Retryable(fmt.Errorf("%q has changed since it was listed", item.ID), 0)
	}
	return &body{ctx: ctx, Reader: strings.NewReader(file.Content), due: due}, nil
}

// A body is the content of a file with the faults of the Open.
type body struct {
	io.Reader

	ctx  context.Context // of the Open
	due  Fault
	read int64
}

var errCut = errors.New("the connection broke off")

// Read implements [io.Reader].
func (b *body) Read(p []byte) (int, error) {
	if err := b.ctx.Err(); err != nil {
		return 0, err
	}
	for _, end := range []struct {
		at  int64
		err error
	}{{b.due.FailAt, connectors.Retryable(errCut, 0)}, {b.due.EndAt, io.EOF}} {
		switch {
		case end.at == 0:
		case b.read >= end.at:
			return 0, end.err
		default:
			p = p[:min(int64(len(p)), end.at-b.read)]
		}
	}
	n, err := b.Reader.Read(p)
	b.read += int64(n)
	return n, err
}

// Close implements [io.Closer].
func (*body) Close() error { return nil }

// Check implements [connectors.Source].
func (s fakeSource) Check(ctx context.Context) error {
	_, err := s.fake.beginCall(ctx, OnCheck, "")
	return err
}

// CheckTiers implements [connectors.TierChecker].
func (s fakeSource) CheckTiers(ctx context.Context) ([]connectors.Tier, error) {
	s.fake.Lock()
	defer s.fake.Unlock()
	return s.fake.Tiers, ctx.Err()
}

// Close implements [connectors.Source].
func (s fakeSource) Close() error { return nil }

// A fakeResolver implements [connectors.Resolver].
type fakeResolver struct{ of fakeSource }

// Resolve implements [connectors.Resolver].
func (r fakeResolver) Resolve(ctx context.Context, names []string) (found []connectors.Item, missing []string, err error) {
	f := r.of.fake
	if _, err := f.beginCall(ctx, OnResolve, ""); err != nil {
		return nil, nil, err
	}
	f.Lock()
	defer f.Unlock()
	seen := map[string]bool{}
	for _, name := range names {
		if seen[name] {
			continue
		}
		seen[name] = true
		id := name
		if _, ok := f.files[name]; !ok {
			id = f.idAt(name)
		}
		if _, ok := f.files[id]; ok {
			found = append(found, f.item(id))
		} else {
			missing = append(missing, name)
		}
	}
	return found, missing, ctx.Err()
}

// A fakeLister implements [connectors.PermissionLister] and
// [connectors.GroupLister].
type fakeLister struct{ of fakeSource }

// Readers implements [connectors.PermissionLister].
func (l fakeLister) Readers(ctx context.Context, items []connectors.Item) (map[string]connectors.Readers, error) {
	f := l.of.fake
	if _, err := f.beginCall(ctx, OnReaders, ""); err != nil {
		return nil, err
	}
	f.Lock()
	defer f.Unlock()
	f.readersRequested += len(items)
	if f.ReadersError != nil {
		return nil, f.ReadersError
	}
	readers := make(map[string]connectors.Readers)
	for _, item := range items {
		if r, ok := f.readers[item.ID]; ok {
			readers[item.ID] = r
		}
	}
	return readers, ctx.Err()
}
