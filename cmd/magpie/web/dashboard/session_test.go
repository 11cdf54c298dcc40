package dashboard_test

import (
	"os/exec"
	"testing"

	"github.com/magpie-search/magpie/cmd/magpie/stack/stacktest"
)

// tabsRefreshOnce has the tokens of two tabs refused at once: one of them refreshes, and the other uses its token.
func tabsRefreshOnce(t *testing.T, m *world) {
	p := signIn(t, m.Magpie, stacktest.Email, stacktest.Password, "/search")
	p.Eval(`(window.other = window.open("/people"), null)`, nil)
	p.Until(`other.document.querySelector("h1")?.innerText === "People" && other.document.querySelectorAll("tr").length > 1`)
	p.Eval(`(() => {
		window.counted = {refreshes: 0, refusals: 0};
		let refuse;
		const bothAsk = new Promise((done) => { refuse = done; }); // otherwise the first may refresh before the second asks
		for (const tab of [window, other]) {
			const real = tab.fetch.bind(tab);
			let accepted = false;
			tab.fetch = (request, options) => {
				const address = String(request.url ?? request);
				if (address.includes("/auth/refresh")) counted.refreshes++;
				if (accepted || !address.includes("/graphql")) return real(request, options);
				accepted = true;
				if (++counted.refusals === 2) refuse();
				return bothAsk.then(() => new tab.Response('{"errors":[{"message":"expired","extensions":{"code":"unauthorized"}}]}', {status: 401, headers: {"Content-Type": "application/json"}}));
			};
			tab.history.pushState({}, "", "/usage");
		}
	})()`, nil)
	p.Until(`counted.refusals === 2 && title() === "Usage" && settled()`)
	p.Until(`other.document.querySelector("h1")?.innerText === "Usage" && !other.document.querySelector(".mantine-Loader-root, .mantine-Skeleton-root")`)
	if n := p.Text(`counted.refreshes`); n != "1" {
		t.Errorf("two tabs refreshed their session %s times", n)
	}
	p.Eval(`(other.close(), null)`, nil)
	p.Clean()
}

// problemsNameTheirRequest has the service fail: the page says so, with the id by which its operator finds the request.
func problemsNameTheirRequest(t *testing.T, m *world) {
	p := signIn(t, m.Magpie, stacktest.Email, stacktest.Password, "/search")
	p.Eval(`(() => {
		const real = window.fetch;
		window.fetch = async (request, options) => {
			if (!String(request.url ?? request).includes("/graphql")) return real(request, options);
			const id = (await real(request, options)).headers.get("X-Request-Id");
			window.failed = id;
			return new Response('{"data":null,"errors":[{"message":"The database cannot be reached; try again.","extensions":{"code":"unavailable"}}]}',
				{status: 200, headers: {"Content-Type": "application/json", "X-Request-Id": id}});
		};
		history.pushState({}, "", "/usage");
	})()`, nil)
	p.Until(`window.failed && all("[role=alert]").some((e) => e.innerText.includes("The database cannot be reached") && /Request \S{8,}/.test(e.innerText))`)
}

// TestTheSiteCanBeLeftOut builds the package without the site.
func TestTheSiteCanBeLeftOut(t *testing.T) {
	t.Parallel()
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-tags", "nodashboard", ".").CombinedOutput(); err != nil {
		t.Errorf("go build -tags nodashboard: %v\n%s", err, out)
	}
}
