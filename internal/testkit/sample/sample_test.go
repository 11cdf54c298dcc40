package sample_test

import (
	"io"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/all"
	"github.com/magpie-search/magpie/internal/testkit/sample"
)

// Each sample can be tested, walked and read with its settings.
func TestSamplesCanBeRead(t *testing.T) {
	t.Parallel()
	kinds, err := all.Registry(all.Deps{Dial: new(net.Dialer).DialContext})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range sample.Kinds() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, err := sample.Start(name)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(server.Close)
			kind, ok := kinds.Lookup(name)
			if !ok || server.Kind != name {
				t.Fatalf("there is no kind %q", name)
			}
			if err := kind.Validate(server.Config, server.Credentials); err != nil {
				t.Fatal(err)
			}
			source, err := kind.New(t.Context(), connectors.Settings{Config: server.Config, Credentials: server.Credentials, State: &connectors.MemoryState{}})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = source.Close() }()
			if err := source.Check(t.Context()); err != nil {
				t.Error(err)
			}
			items := walk(t, source)
			if len(items) < 2 {
				t.Errorf("the walk lists %d items", len(items))
			}
			read := 0
			for _, item := range items {
				if item.Content == nil {
					reader, err := source.Open(t.Context(), item)
					if connectors.IsSkip(err) {
						continue
					}
					if err != nil {
						t.Errorf("open %s: %v", item.Path, err)
						continue
					}
					if item.Content, err = io.ReadAll(reader); err != nil {
						t.Errorf("read %s: %v", item.Path, err)
					}
					_ = reader.Close()
				}
				if len(item.Content) > 0 {
					read++
				}
			}
			if read < 2 {
				t.Errorf("%d items have a content", read)
			}
		})
	}
	if _, err := sample.Start("fax"); err == nil || !strings.Contains(err.Error(), "confluence, github") || !slices.IsSorted(sample.Kinds()) {
		t.Errorf("an unknown kind: %v", err)
	}
}

func walk(t *testing.T, source connectors.Source) []connectors.Item {
	t.Helper()
	var items []connectors.Item
	for cursor := ""; ; {
		page, err := source.Walk(t.Context(), cursor)
		if err != nil {
			t.Fatal(err)
		}
		if items = append(items, page.Items...); page.Done {
			return items
		}
		cursor = page.Next
	}
}
