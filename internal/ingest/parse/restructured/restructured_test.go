package restructured_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/parsetest"
)

func TestRestructuredElements(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ source, want string }{
		"levels by order of styles":    {"Aa\n==\n\nBb\n~~\n\nCc\n==\n\n=====\n  D\n=====\n\nEe\n~~\n", "# Aa\n\n## Bb\n\n# Cc\n\n### D\n\n## Ee"},
		"a transition":                 {"a\n\n-----\n\nb\n", "a\n\nb"},
		"a title in wide letters":      {"見出し\n======\n\n本文\n", "# 見出し\n\n本文"},
		"emphasis of every kind":       {"*a* **b** `c` ``d`` :e:`f` \\*g\\* h*i*j 2*3*4 \"*\" x\\ *y*\\ z\n", "*a* **b** `c` `d` `f` *g* h*i*j 2*3*4 \"*\" x*y*z"},
		"references":                   {"a_ `b c`_ `d <e_>`__ `f`__ g_ `h <mailto:i@j.example>`_ k__\n\n.. _a: https://a.example\n.. _b c: a_\n.. _e: e.html\n__ https://f.example\n.. __: https://k.example\n", "[a](https://a.example) [b c](https://a.example) [d](e.html) [f](https://f.example) g_ [h](mailto:i@j.example) [k](https://k.example)"},
		"a reference to a title":       {".. _the place:\n\nTitle ``x``\n=========\n\nSee :ref:`the place`, :ref:`so <the place>`, `the place`_.\n", "# Title x\n\nSee Title x, so, the place."},
		"roles of Sphinx":              {":py:func:`~a.b.c` :class:`!d` :doc:`/e/f` :menuselection:`g --> h` :pep:`8#x` :abbr:`i (j)` `k`:sup:\n", "`c` `d` e/f g > h [PEP 8](https://peps.python.org/pep-0008/#x) i (j) k"},
		"replacements":                 {"|a| |b| |c| |d|\n\n.. |a| replace:: *x*\n   y\n.. |b| image:: z.png\n   :alt: pic\n.. |c| unicode:: 0x2014 U+00E9\n", "*x* y pic —é |d|"},
		"literal blocks":               {"a::\n\n  b\n\n   c\n\n::\n\n d\n\ne ::\n\n f\n\ng::\n\n> h\n> i\n\nj\n", "a:\n\n```\nb\n\n c\n```\n\n```\nd\n```\n\ne\n\n```\nf\n```\n\ng:\n\n```\n> h\n> i\n```\n\nj"},
		"lists of every kind":          {"* a\n\n  b\n\n  1. c\n  #. d\n\n* e\n\n(i) f\n(ii) g\n\nA. Einstein was a\nphysicist.\n", "- a\n  b\n  1. c\n  2. d\n- e\n\n- i. f\n- ii. g\n\nA. Einstein was a\nphysicist."},
		"code in a list":               {"- a\n\n  .. code:: sh\n\n     b\n\n- c\n", "- a\n\n```sh\nb\n```\n\n- c"},
		"an indented list":             {"a\n\n  - b\n  - c\n", "a\n\n- b\n- c"},
		"definitions":                  {"a\n  b\n\nc : d : e\n  f\n\n  g\n", "- a: b\n- c (d, e): f\n  g"},
		"fields of a function":         {"x\n\n:param int a: b\n:returns: c\n:raises D: e\n", "x\n\n- a (int): b\n- Returns: c\n- Raises D: e"},
		"options":                      {"-a       b\n-c d, --e=d\n         f\n--g\n   h\n\n- no option\n", "- `-a`: b\n- `-c d, --e=d`: f\n- `--g`: h\n\n- no option"},
		"lines":                        {"| a\n| *b*\n  c\n|\n| d\n", "a\n*b* c\n\nd"},
		"directives that set apart":    {".. note:: a\n   b\n\n   - c\n.. admonition:: T *x*\n   :class: y\n\n   d\n.. seealso::\n\n   e\n", "> **Note:** a\n> b\n> \n> - c\n\n> **T x:** d\n\n> **See also:** e"},
		"directives that are left out": {".. contents::\n   :depth: 2\n\n.. include:: x.rst\n\n.. index:: y\n\n.. toctree::\n   :maxdepth: 1\n\n   a\n   B <c>\n\n.. comment\n   d\n..\n\nx\n", "- [B](c)\n\nx"},
		"code of every kind":           {".. highlight:: sh\n\na::\n\n  b\n\n.. code-block::\n\n   c\n\n.. code-block:: python\n   :caption: D\n\n   e\n\n>>> f\ng\n\n.. parsed-literal::\n\n   h *i*\n\n.. prompt:: bash $\n\n   j\n", "a:\n\n```sh\nb\n```\n\n```sh\nc\n```\n\nD\n\n```python\ne\n```\n\n```python\n>>> f\ng\n```\n\n```\nh i\n```\n\n```bash\nj\n```"},
		"pictures":                     {".. image:: a.png\n   :alt: B\n   :target: https://c.example\n\n.. figure:: d.png\n   :alt: E\n\n   F\n\n   g\n", "[B](https://c.example)\n\nE\n\nF\n\ng"},
		"tabs":                         {".. tabs::\n\n   .. tab:: A\n\n      b\n\n   .. code-tab:: py C\n\n      d\n", "**A**\n\nb\n\n**C**\n\n```py\nd\n```"},
		"notes":                        {"a [#]_ b [#n]_ c [2]_ d [*]_ e [E]_\n\n.. [#] f\n.. [#n] g\n.. [2] h\n.. [*] i\n.. [E] j\n\n   k\n", "a [1] b [3] c [2] d [*] e [E]\n\n[1] f\n\n[3] g\n\n[2] h\n\n[*] i\n\n[E] j\n\nk"},
		"a table of one column":        {".. list-table::\n\n   * - a\n   * - b\n", "| a |\n| --- |\n| b |"},
		"raw text":                     {".. raw:: html\n\n   <p>a <b>b</b></p>\n\n.. raw:: latex\n\n   \\c\n\nd\n", "a b\n\nd"},
		"a formula":                    {".. math:: a^2\n\n:math:`b`\n", "$$\na^2\n$$\n\n$b$"},
		"versions":                     {".. versionchanged:: 3.2\n   a\n\n.. versionadded:: 1.0\n\nb\n", "Changed in version 3.2: a\n\nNew in version 1.0\n\nb"},
		"tabs at the margin":           {"a\n\n\tb\n\n-\tc\n\td\n", "a\n\n> b\n\n- c\n  d"},
		"unknown directives":           {".. x:: y\n\n   z\n\n.. w::\n   :o: p\n\n.. v:: one two three\n", "y\n\nz\n\none two three"},
	} {
		if got := parsetest.Read(t, "a.rst", c.source).Markdown(); got != c.want {
			t.Errorf("%s:\n got %q\nwant %q", name, got, c.want)
		}
	}
}

func TestRestructuredFactsAndAnchors(t *testing.T) {
	t.Parallel()
	doc := parsetest.Read(t, "a.rst", ":orphan:\n\nTitle\n=====\n\n:Author: A\n:Date: 2024-05-17\n:Version: 1.2\n:Status: draft\n\n.. _My_Label:\n\nWas ist's?\n----------\n\n.. py:currentmodule:: m\n\n.. py:class:: C\n\n   .. py:method:: f(x)\n\n      g\n\nÜber uns\n--------\n\n見出し\n------\n\nx\n")
	if doc.Title != "Title" || doc.Author != "A" || doc.CreatedAt.IsZero() || doc.Version != "1.2" || doc.Metadata["status"] != "draft" {
		t.Errorf("%+v", doc)
	}
	var got []string
	for _, block := range doc.Blocks {
		if block.Kind == document.Heading {
			got = append(got, strings.Repeat("#", block.Level)+block.Anchor)
		}
	}
	if want := "#title ##my-label ###m.C ####m.C.f ##uber-uns ##見出し"; strings.Join(got, " ") != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestRestructuredText(t *testing.T) {
	t.Parallel()
	got := parsetest.Read(t, "a.rst", "=====\nGuide\n=====\n\nPart\n----\n\nRun this::\n\n    make\n    test\n\n.. code-block:: go\n   :linenos:\n\n   x := 1\n\nEnd.\n").Blocks
	want := []document.Block{
		{Kind: document.Heading, Level: 1, Text: "Guide", Anchor: "guide"}, {Kind: document.Heading, Level: 2, Text: "Part", Anchor: "part"},
		{Kind: document.Paragraph, Text: "Run this:"}, {Kind: document.Code, Text: "make\ntest"}, {Kind: document.Code, Language: "go", Text: "x := 1"},
		{Kind: document.Paragraph, Text: "End."},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func FuzzRestructured(f *testing.F) {
	parsetest.Fuzz(f, "a.rst", "===\nT\n===\n\na::\n\n  b\n\n.. code-block:: go\n\n  c\n")
}

func FuzzRestructuredFiles(f *testing.F) { parsetest.Fuzz(f, "a.rst", parsetest.Seeds(f, "rst")...) }

func BenchmarkRestructured(b *testing.B) {
	parsetest.Benchmark(b, "a.rst", "========\nHandbook\n========\n\n", `Keeping copies
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
