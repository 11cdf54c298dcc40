package odf_test

import (
	"testing"

	"github.com/magpie-search/magpie/internal/ingest/parse/odf"
)

func box(attributes, text string) string {
	return `<draw:frame ` + attributes + `><draw:text-box><text:p>` + text + `</text:p></draw:text-box></draw:frame>`
}

func TestSlidesInReadingOrder(t *testing.T) {
	t.Parallel()
	page := func(inside string) string { return `<draw:page draw:name="page1">` + inside + `</draw:page>` }
	title := box(`presentation:class="title" svg:x="1cm" svg:y="9cm"`, "The title")
	for name, c := range map[string]struct{ body, want string }{
		"by place": {page(box(`svg:x="1cm" svg:y="8cm"`, "low") + box(`svg:x="9cm" svg:y="2.1cm"`, "right") + box(`svg:x="20mm" svg:y="2.2cm"`, "left") + box("", "nowhere") + box(`svg:x="0.1in" svg:y="2in"`, "middle") + title),
			"## The title\n\nleft\n\nright\n\nmiddle\n\nlow\n\nnowhere"},
		"groups and turned shapes": {page(title + `<draw:g>` + box(`svg:x="1cm" svg:y="8cm"`, "c") + box(`svg:x="1cm" svg:y="1cm"`, "a") + `</draw:g><draw:custom-shape draw:transform="rotate (0.5) translate (3cm 4cm)"><text:p>b</text:p></draw:custom-shape>`),
			"## The title\n\na\n\nb\n\nc"},
		"lists and tables": {page(title + `<draw:frame presentation:class="outline" svg:y="1cm"><draw:text-box>` + listOf("", "<text:p>a</text:p>"+listOf("", "<text:p>b</text:p>")) + `</draw:text-box></draw:frame>` +
			`<draw:frame svg:y="2cm"><table:table>` + cells("A", "B") + cells("1", "2") + `</table:table></draw:frame>`),
			"## The title\n\n- a\n  - b\n\n| A | B |\n| --- | --- |\n| 1 | 2 |"},
		"notes": {page(title + `<presentation:notes><draw:page-thumbnail/>` + box(`presentation:class="notes"`, "say</text:p><text:p>this") + box(`presentation:class="page-number"`, "1") + `</presentation:notes>`),
			"## The title\n\nNotes: say\nthis"},
		"a list in notes":     {page(title + `<presentation:notes><draw:frame presentation:class="notes"><draw:text-box>` + listOf("", "<text:p>a</text:p>") + `</draw:text-box></draw:frame></presentation:notes>`), "## The title\n\nNotes:\n- a"},
		"placeholders":        {page(title + `<draw:frame presentation:class="outline" presentation:placeholder="true"><draw:text-box><text:p>Click to add</text:p></draw:text-box></draw:frame>`), "## The title"},
		"footers":             {`<presentation:footer-decl presentation:name="f">Works, 2024</presentation:footer-decl><presentation:footer-decl>Works, 2024</presentation:footer-decl><presentation:date-time-decl>today</presentation:date-time-decl>` + page(title+box(`presentation:class="footer"`, "Works, 2024")), "## The title\n\nWorks, 2024"},
		"a name":              {`<draw:page draw:name="Fotos">` + box("", "x") + `</draw:page>`, "## Fotos\n\nx"},
		"no name":             {page(box("", "x")), "## Slide 1\n\nx"},
		"a line on top":       {page(box(`svg:y="1cm"`, "Looks like a title") + box(`svg:y="5cm"`, "x")), "## Looks like a title\n\nx"},
		"a sentence on top":   {page(box(`svg:y="1cm"`, "This is one.") + box(`svg:y="5cm"`, "x")), "## Slide 1\n\nThis is one.\n\nx"},
		"an empty slide":      {page("") + page(box("", "x")), "## Slide 2\n\nx"},
		"two titles":          {page(title + box(`presentation:class="title" svg:y="10cm"`, "second")), "## The title\n\nsecond"},
		"a title of lines":    {page(box(`presentation:class="title"`, "a<text:line-break/>b</text:p><text:p>c")), "## a b c"},
		"pictures":            {page(title + `<draw:frame><draw:image/><svg:title>Plan</svg:title><svg:desc>Plan of the quay</svg:desc></draw:frame><draw:frame><draw:image/></draw:frame>`), "## The title\n\nPlan of the quay"},
		"comments":            {page(title + `<office:annotation><dc:creator>Ann</dc:creator><text:p>why</text:p></office:annotation>`), "## The title\n\n> Ann: why"},
		"nothing of the rest": {page(title + `<anim:par><anim:seq>no</anim:seq></anim:par><office:forms>no</office:forms>`), "## The title"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			draft := mustRead(t, odf.ReadPresentation, flat("presentation", "", c.body))
			if got := markdown(draft); got != c.want {
				t.Errorf("got:\n%s\nwant:\n%s", got, c.want)
			}
			for _, block := range draft.Blocks {
				if block.Page == 0 && block.Text != "Works, 2024" {
					t.Errorf("%q has no page", block.Text)
				}
			}
		})
	}
}

func TestDrawingsArePages(t *testing.T) {
	t.Parallel()
	draft := mustRead(t, odf.ReadPresentation, flat("drawing", "", `<draw:page draw:name="page1"><draw:rect><text:p>x</text:p></draw:rect></draw:page>`))
	if got := markdown(draft); got != "## Page 1\n\nx" || draft.Pages != 1 {
		t.Errorf("%q, %d pages", got, draft.Pages)
	}
}
