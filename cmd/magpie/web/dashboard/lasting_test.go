package dashboard_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/magpie-search/magpie/cmd/magpie/stack/stacktest"
	"github.com/magpie-search/magpie/internal/testkit"
	"github.com/magpie-search/magpie/internal/testkit/browser"
)

// hastened counts what a page receives, and shortens its pauses between 1 and 5 seconds, so
// that it does in moments what it does in hours.
const hastened = `
window.heard = 0;
window.sockets = 0;
window.WebSocket = class extends WebSocket {
  constructor(...all) { super(...all); sockets++; this.addEventListener('message', () => heard++); }
};
const later = window.setTimeout;
window.setTimeout = (call, pause, ...rest) => later(call, pause >= 1000 && pause < 5000 ? 10 : pause, ...rest);
`

// pagesLeftOpen checks that pages do not grow. A page that is left open for a day sees many
// syncs, changes of documents and lost connections; it must not hold more after them than
// before.
func pagesLeftOpen(t *testing.T, m *world) {
	paths := []string{"/connectors/" + m.connector, "/collections/" + m.collection, "/documents/" + m.document, "/approvals", "/connectors", "/documents"}
	var people []*person
	for _, path := range paths {
		p := signIn(t, m.Magpie, stacktest.Email, stacktest.Password, "/search")
		p.Do(chromedp.ActionFunc(func(ctx context.Context) error {
			_, err := page.AddScriptToEvaluateOnNewDocument(hastened).Do(ctx)
			return err
		}))
		p.open(path)
		p.Until(`sockets > 0 && heard > 0`)
		people = append(people, p)
	}
	edition := 0
	live := func(times int) {
		for range times {
			edition++
			if status := m.Upload(m.connector, map[string]string{"office/lamps.md": fmt.Sprintf("# Lamps\n\nEdition %d of the page on lamps.\n", edition)}); status != "PARTIAL" { // bad.docx stays bad
				t.Fatal(status)
			}
			for _, p := range people {
				p.Until(fmt.Sprintf(`(window.lost ??= [])[%[1]d] ? sockets > lost[%[1]d] : (lost[%[1]d] = sockets, dispatchEvent(new Event("offline")), dispatchEvent(new Event("online")), false)`, edition))
			}
		}
		people[2].sees(fmt.Sprintf("Edition %d of", edition))
	}
	const few, many = 6, 12
	live(few)
	before := make([]browser.Memory, len(people))
	for i, p := range people {
		before[i] = p.Memory()
	}
	live(many)
	for i, p := range people {
		var after browser.Memory
		// What fades or loads at the moment goes. The heap also grows by what the cache knows of a sync or a document, and by
		// compiled code.
		testkit.WaitWithin(t, 10*time.Second, fmt.Sprintf("%s to hold little more than %+v", paths[i], before[i]), func() bool {
			after = p.Memory()
			return after.Nodes <= before[i].Nodes+many && after.Listeners <= before[i].Listeners+many && after.Heap <= before[i].Heap+many*(64<<10)
		})
		t.Logf("%s: %+v, then %+v; %s messages in %s connections", paths[i], before[i], after, p.Text("heard"), p.Text("sockets"))
	}
	// What comes is in the lists, too.
	m.Upload(m.connector, map[string]string{"office/ladders.md": "# Ladders\n\nLadders are in the cellar.\n"})
	people[4].row("Files", "4")
	people[5].row("Ladders", "Indexed")
	for _, p := range people {
		p.Clean()
	}
}
