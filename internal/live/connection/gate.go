package connection

import (
	"fmt"
	"sync"

	"github.com/magpie-search/magpie/internal/viewer"
)

// A gate limits open connections and operations.
type gate struct {
	limits Limits

	mu          sync.Mutex
	connections tally
	operations  tally
}

// A tally counts things in total and per owner.
type tally struct {
	total  int
	owners map[string]int
}

// ownerOf returns the owner that a stream counts for: the subject, or the address of an
// anonymous client.
func ownerOf(v viewer.Viewer, address string) string {
	if v.Kind == viewer.KindAnonymous || v.Kind == "" {
		return "at " + address
	}
	return v.Subject.String()
}

// enter counts a thing of an owner until release is called. At a limit it returns the
// refusal for the client.
func (g *gate) enter(t *tally, what, who string) (release func(), refused *closing) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.limits.PerProcess > 0 && t.total >= g.limits.PerProcess:
		return nil, full("This server has too many open " + what + "; try again later")
	case g.limits.PerPerson > 0 && t.owners[who] >= g.limits.PerPerson:
		return nil, full(fmt.Sprintf("You have %d open %s already, which is the most; close some", t.owners[who], what))
	}
	if t.owners == nil {
		t.owners = make(map[string]int)
	}
	t.total++
	t.owners[who]++
	return sync.OnceFunc(func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		t.total--
		if t.owners[who]--; t.owners[who] == 0 {
			delete(t.owners, who)
		}
	}), nil
}

// connection counts a connection.
func (g *gate) connection(who string) (release func(), refused *closing) {
	return g.enter(&g.connections, "connections", who)
}

// operation counts an operation.
func (g *gate) operation(who string) (release func(), refused *closing) {
	return g.enter(&g.operations, "subscriptions", who)
}
