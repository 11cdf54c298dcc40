package stack_test

import (
	"bufio"
	"context"
	"net/http"
	"strings"
	"testing"
	"time"
)

// Every subscription completes, over each transport, when its object is deleted.
func TestSubscriptionsCompleteWhenWhatTheyWatchIsDeleted(t *testing.T) {
	t.Parallel()
	s := start(t)
	const watchCollection = `subscription($id: ID!) { documentStatus(collectionId: $id) { cursor } }`
	const watchConnector = `subscription($id: ID!) { documentStatus(connectorId: $id) { cursor } }`
	const watchJobs = `subscription($id: ID!) { connectorSync(connectorId: $id) { connectorId } }`
	for name, c := range map[string]struct {
		watch    string
		whole    bool // the collection is watched
		deletion string
		all      bool // the collection is deleted
	}{
		"documents of a connector":                      {watch: watchConnector, deletion: `mutation($id: ID!) { deleteConnector(id: $id) }`},
		"documents of a connector, with its collection": {watch: watchConnector, deletion: `mutation($id: ID!) { deleteCollection(id: $id) }`, all: true},
		"documents of a collection":                     {watch: watchCollection, whole: true, deletion: `mutation($id: ID!) { deleteCollection(id: $id) }`, all: true},
		"jobs of a connector":                           {watch: watchJobs, deletion: `mutation($id: ID!) { deleteConnector(id: $id) }`},
		"jobs of a connector, with its collection":      {watch: watchJobs, deletion: `mutation($id: ID!) { deleteCollection(id: $id) }`, all: true},
	} {
		t.Run(name, func(t *testing.T) {
			here := *s
			here.t = t
			connector := here.connector()
			var found struct {
				Connector struct{ Collection struct{ ID string } }
			}
			here.graphql(&found, `query($id: ID!) { connector(id: $id) { collection { id } } }`, map[string]any{"id": connector})
			pick := func(collection bool) map[string]any {
				if collection {
					return map[string]any{"id": found.Connector.Collection.ID}
				}
				return map[string]any{"id": connector}
			}
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			socket := here.dial(ctx, map[string]any{"authorization": "Bearer " + here.token})
			defer func() { _ = socket.CloseNow() }()
			here.send(ctx, socket, map[string]any{"id": "1", "type": "subscribe", "payload": map[string]any{"query": c.watch, "variables": pick(c.whole)}})
			until := func(kind string) {
				for {
					switch f := here.receive(ctx, socket); f.Type {
					case kind:
						return
					case "error":
						t.Fatalf("%s", f.Payload)
					}
				}
			}
			until("next")
			request, err := http.NewRequestWithContext(ctx, http.MethodPost, here.url+"/graphql", encode(t, map[string]any{"query": c.watch, "variables": pick(c.whole)}))
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set("Content-Type", "application/json")
			request.Header.Set("Accept", "text/event-stream")
			request.Header.Set("Authorization", "Bearer "+here.token)
			response, err := here.http.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = response.Body.Close() }()
			events := bufio.NewScanner(response.Body)
			event := func(kind string) {
				for events.Scan() {
					if events.Text() == "event: "+kind {
						return
					}
				}
				t.Fatalf("no event %q: %v", kind, events.Err())
			}
			event("next")
			var ignored map[string]any
			began := time.Now()
			here.graphql(&ignored, c.deletion, pick(c.all))
			until("complete")
			event("complete")
			if rest := strings.TrimSpace(events.Text()); rest != "event: complete" {
				t.Errorf("the stream ends with %q", rest)
			}
			t.Logf("complete after %s", time.Since(began).Round(time.Millisecond))
		})
	}
}
