package parse_test

import (
	"strings"
	"testing"

	"github.com/magpie-search/magpie/internal/ingest/parse"
)

// benchmarkReader reads a file of many like parts, some 500 KB.
func benchmarkReader(b *testing.B, name, head, part, tail string) {
	b.Helper()
	source := []byte(head + strings.Repeat(part, 500_000/len(part)) + tail)
	parser := parse.New(parse.Options{})
	b.SetBytes(int64(len(source)))
	for b.Loop() {
		if _, err := parser.Parse(b.Context(), parse.Input{Name: name, Content: source}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkHTML(b *testing.B) {
	benchmarkReader(b, "a.html", `<!doctype html><html lang="en"><head><title>Keeping copies | Handbook</title></head><body class="docs">
<header><a href="/">Home</a></header><nav><ul><li><a href="/a">First page</a></li><li><a href="/b">Second page</a></li></ul></nav><main>`,
		`<section id="copies" class="chapter"><h2>Keeping copies<a class="headerlink" href="#copies">¶</a></h2>
<p>A copy is taken <em>every night</em>, and kept for <a href="/retention">thirty days</a>; run <code>copy --now</code> to take one at once.</p>
<ul class="steps"><li>Stop the writer.</li><li>Take the copy:<ul><li>of the <b>data</b>,</li><li>of the settings.</li></ul></li></ul>
<div class="highlight"><pre><code class="language-sh">copy --now --to /srv/copies
copy --list</code></pre></div>
<table class="data"><thead><tr><th>Kind</th><th>Kept</th></tr></thead><tbody><tr><td>daily</td><td>30 days</td></tr><tr><td>monthly</td><td>1 year</td></tr></tbody></table></section>
`, `</main><footer><a href="/imprint">Imprint</a></footer></body></html>`)
}

func BenchmarkRestructured(b *testing.B) {
	benchmarkReader(b, "a.rst", "========\nHandbook\n========\n\n", `Keeping copies
--------------

A copy is taken *every night*, and kept for `+"`thirty days <https://example.org/retention>`_; run ``copy --now``"+` to
take one at once, see :ref:`+"`the settings <settings>`"+`.

- Stop the writer.
- Take the copy:

  - of the **data**,
  - of the settings.

.. code-block:: sh

   copy --now --to /srv/copies
   copy --list

.. note:: Copies are encrypted.

=======  =======
Kind     Kept
=======  =======
daily    30 days
monthly  1 year
=======  =======

`, "")
}

func BenchmarkASCIIDoc(b *testing.B) {
	benchmarkReader(b, "a.adoc", "= Handbook\nAda Example <ada@example.org>\n:product: Copier\n\n", `== Keeping copies

A copy is taken _every night_ by {product}, and kept for https://example.org/retention[thirty days]; run `+"`copy --now`"+` to
take one at once, see <<settings,the settings>>.

* Stop the writer.
* Take the copy:
** of the *data*,
** of the settings.

[source,sh]
----
copy --now --to /srv/copies
copy --list
----

NOTE: Copies are encrypted.

|===
|Kind |Kept

|daily |30 days
|monthly |1 year
|===

`, "")
}

func BenchmarkMarkdown(b *testing.B) {
	benchmarkReader(b, "a.md", "---\ntitle: Handbook\n---\n\n", `## Keeping copies

A copy is taken *every night*, and kept for [thirty days](https://example.org/retention); run `+"`copy --now`"+` to
take one at once, see [the settings].

- Stop the writer.
- Take the copy:
  - of the **data**,
  - of the settings.

`+"```sh\ncopy --now --to /srv/copies\ncopy --list\n```"+`

> Copies are encrypted.

| Kind | Kept |
| --- | --- |
| daily | 30 days |
| monthly | 1 year |

`, "[the settings]: settings.md\n")
}
