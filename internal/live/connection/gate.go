package live

import (
	"fmt"
	"sync"

	"github.com/magpie-search/magpie/internal/viewer"
)

// gate counts what is open.
type gate struct {
	limits Limits

	mu          sync.Mutex
	connections tally
	operations  tally
}

// tally is a number of things, in all and of each person.
type tally struct {
	all int
	of  map[string]int
}

// owner is whose a stream counts as: a person's, or, for those who are nobody,
// an address's.
func owner(v viewer.Viewer, address string) string {
	if v.Kind == viewer.KindAnonymous || v.Kind == "" {
		return "at " + address
	}
	return v.Subject.String()
}

// enter counts one in; release counts it out again, once. It is refused with
// words for the client.
func (g *gate) enter(t *tally, what, who string) (release func(), refused *ending) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.limits.PerProcess > 0 && t.all >= g.limits.PerProcess:
		return nil, full("This server has too many open " + what + "; try again later")
	case g.limits.PerPerson > 0 && t.of[who] >= g.limits.PerPerson:
		return nil, full(fmt.Sprintf("You have %d open %s already, which is the most; close some", t.of[who], what))
	}
	if t.of == nil {
		t.of = make(map[string]int)
	}
	t.all++
	t.of[who]++
	return sync.OnceFunc(func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		t.all--
		if t.of[who]--; t.of[who] == 0 {
			delete(t.of, who)
		}
	}), nil
}

func (g *gate) connection(who string) (release func(), refused *ending) {
	return g.enter(&g.connections, "connections", who)
}

func (g *gate) operation(who string) (release func(), refused *ending) {
	return g.enter(&g.operations, "subscriptions", who)
}
