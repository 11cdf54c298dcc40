package notebook_test

import (
	"strings"
	"testing"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/parsetest"
)

func TestNotebooksKeepCodeAndWhatItPrinted(t *testing.T) {
	t.Parallel()
	source := `{"nbformat": 4, "metadata": {"language_info": {"name": "R"}}, "cells": [
		{"cell_type": "raw", "source": "---\ntitle: From the head\n---"},
		{"cell_type": "markdown", "source": ["# One\n", "text"]}, {"cell_type": "markdown", "source": "# One"},
		{"cell_type": "code", "source": "x <- 1", "outputs": [
			{"output_type": "stream", "text": "` + strings.Repeat(`line\n`, 200) + `"},
			{"output_type": "error", "ename": "E", "evalue": "v", "traceback": []},
			{"output_type": "display_data", "data": {"image/png": "aaaa", "application/json": {"a": 1}}}]},
		{"cell_type": "unknown", "source": 7}, {"cell_type": "code"}]}`
	doc := parsetest.Read(t, "a.ipynb", source)
	var got []string
	for i := range doc.Blocks {
		got = append(got, doc.Blocks[i].Kind.String()+" "+doc.Blocks[i].Language+doc.Blocks[i].Anchor)
	}
	want := "heading one, paragraph , heading one-1, code r, code text, code text"
	if strings.Join(got, ", ") != want || doc.Title != "From the head" || doc.Format != "notebook" {
		t.Errorf("%q, title %q", got, doc.Title)
	}
	if lines := strings.Count(doc.Blocks[4].Text, "\n"); lines != 49 || doc.Blocks[5].Text != "E: v" {
		t.Errorf("%d lines, %q", lines, doc.Blocks[5].Text)
	}
	if doc := parsetest.Read(t, "a.ipynb", `{"cells": "none of a notebook"}`); doc.Blocks[0].Kind != document.Paragraph {
		t.Errorf("%+v", doc.Blocks)
	}
}

func TestNotebookCellsOfOtherKinds(t *testing.T) {
	t.Parallel()
	source := `{"nbformat": 4, "metadata": {"kernelspec": {"name": "python3"}}, "cells": [
		{"cell_type": "code", "source": "%%bash\nls", "outputs": [{"data": {"text/plain": "<Figure size 640x480 with 1 Axes>"}}]},
		{"cell_type": "code", "source": "f()", "outputs": [{"data": {"image/png": "aaaa", "text/latex": "$\\displaystyle x^2$", "text/plain": "x**2"}},
			{"output_type": "error", "ename": "E", "evalue": "v", "traceback": ["\u001b[31mE\u001b[0m", "  line 1", "E: v"]}]},
		{"cell_type": "raw", "metadata": {"raw_mimetype": "text/restructuredtext"}, "source": "Part\n----\n\n*text*"},
		{"cell_type": "raw", "metadata": {"format": "text/html"}, "source": "<p>one<p>two"},
		{"cell_type": "markdown", "source": "# H {#own}\n\nx[^1]\n\n[^1]: note"}]}`
	want := "```bash\n%%bash\nls\n```\n\n```python\nf()\n```\n\n$\\displaystyle x^2$\n\n```text\nE\n  line 1\nE: v\n```\n\n# Part\n\n*text*\n\none\n\ntwo\n\n# H\n\nx[1]\n\n[1] note"
	doc := parsetest.Read(t, "a.ipynb", source)
	if got := doc.Markdown(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if last := doc.Blocks[len(doc.Blocks)-3]; last.Anchor != "own" {
		t.Errorf("anchor %q", last.Anchor)
	}
}

func FuzzNotebook(f *testing.F) {
	parsetest.Fuzz(f, "a.ipynb", `{"nbformat": 4, "cells": [{"cell_type": "code", "source": ["a"], "outputs": [{"data": {"text/html": "<table><tr><td>1"}}]}]}`,
		`{"nbformat": 3, "worksheets": [{"cells": [{"cell_type": "heading", "level": 9, "source": "x"}]}]}`)
}
