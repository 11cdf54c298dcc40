package dashboard_test

import (
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/magpie-search/magpie/cmd/magpie/stack/stacktest"
)

var (
	// back goes to the page before.
	back = chromedp.Evaluate(`history.back()`, nil)
	// blank leaves the site.
	blank = chromedp.Navigate("about:blank")
)

// comingBack checks that what other services send the browser back with is told in words,
// with a way on.
func comingBack(t *testing.T, m *world) {
	p := signIn(t, m.Magpie, stacktest.Email, stacktest.Password, "/search")
	for _, one := range []struct{ path, says, leads string }{
		{"/oauth-done?oauth=connected&provider=github&grant=1", "GitHub is connected.", "/integrations"},
		{"/oauth-done?oauth=connected&provider=github&connector={connector}", "GitHub is connected.", "/connectors/{connector}"},
		{"/oauth-done?oauth=connected&provider=github&back=%2Fagents%2F{agent}", "GitHub is connected.", "/agents/{agent}"},
		{"/oauth-done?oauth=failed&provider=github&error=access_denied&error_description=You+said+no", "Access was refused there.", "/connectors"},
		{"/oauth-done?oauth=failed&provider=github&error=strange&connector={connector}", "The service did not give access.", "/connectors/{connector}"},
		{"/oauth-confirm", "There is nothing to connect at this address.", ""},
		{"/oauth-confirm#oauth=confirm&provider=github&state=unknown&code=1", "A connection works once, for ten minutes", ""},
		{"/command-line", "There is nothing to answer at this address.", ""},
		{"/command-line#redirect_uri=https%3A%2F%2Fevil.example.com%2Fcallback&state=s&code_challenge=x", "There is nothing to answer at this address.", ""},
		{"/integrations/{integration}?oauth=connected", "The account is connected.", ""},
		{"/integrations/{integration}?oauth=failed&error_description=You+said+no", "You said no", ""},
	} {
		p.Do(blank) // another fragment alone would load nothing
		p.open(m.address(one.path))
		p.sees(one.says)
		if one.leads != "" && !p.holds(`all("main a").some((e) => e.getAttribute("href") === `+quoted(m.address(one.leads))+`)`) {
			t.Errorf("%s leads to %s", one.path, p.Text(`all("main a").map((e) => e.getAttribute("href"))`))
		}
		if p.holds(`location.hash`) {
			t.Errorf("%s leaves its secrets in the address", one.path)
		}
	}
	p.Clean()

	q := visitor(t, m.Magpie, "/oidc")
	q.sees("This sign-in was begun in another tab or browser")
	for fragment, says := range map[string]string{
		"error=access_denied&error_description=You+said+no": "You said no",
		"error=forbidden":   "You may not come in this way.",
		"code=1":            "This sign-in was begun in another tab or browser",
		"error=unavailable": "The sign-in provider cannot be reached at the moment.",
	} {
		q.Do(blank)
		q.open("/oidc#" + fragment)
		q.sees(says)
		q.Until(`hit("Sign in again")`)
	}
	q.Clean()
}
