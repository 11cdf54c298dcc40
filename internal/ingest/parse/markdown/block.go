package markdown

import (
	"bytes"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// markdownParser parses the blocks of Markdown: those of CommonMark, GitHub's tables, definition lists and footnotes of
// Markdown Extra, formulas between lines of $$, and the asides and tabs of MkDocs. Inline marks are not parsed: the text of a
// passage keeps them, and parsing them is what can be made slow.
func markdownParser() parser.Parser {
	blocks := append(parser.DefaultBlockParsers(),
		util.Prioritized(extension.NewDefinitionListParser(), 101),
		util.Prioritized(extension.NewDefinitionDescriptionParser(), 102),
		util.Prioritized(&noteParser{}, 810),
		util.Prioritized(&asideParser{}, 820),
		util.Prioritized(&formulaParser{}, 90),
	)
	return parser.NewParser(
		parser.WithBlockParsers(blocks...),
		parser.WithParagraphTransformers(append(parser.DefaultParagraphTransformers(),
			util.Prioritized(extension.NewTableParagraphTransformer(), 200))...),
	)
}

// markdownNote is a footnote: [^label]: text.
type markdownNote struct {
	ast.BaseBlock
	label string
}

// Kind tells the parser that this is a block with blocks in it.
func (n *markdownNote) Kind() ast.NodeKind { return ast.KindBlockquote }

// Dump writes nothing.
func (n *markdownNote) Dump([]byte, int) {}

// markdownAside is an aside (!!! note "Title") or a tab (=== "Title") of MkDocs.
type markdownAside struct {
	ast.BaseBlock
	label string
	tab   bool
}

// Kind tells the parser that this is a block with blocks in it.
func (n *markdownAside) Kind() ast.NodeKind { return ast.KindBlockquote }

// Dump writes nothing.
func (n *markdownAside) Dump([]byte, int) {}

// markdownFormula is a formula between lines of $$ or \[ and \].
type markdownFormula struct {
	ast.BaseBlock
	closing string
	closed  bool
}

// Kind tells the parser that lines in this block are not looked into.
func (n *markdownFormula) Kind() ast.NodeKind { return ast.KindCodeBlock }

// Dump writes nothing.
func (n *markdownFormula) Dump([]byte, int) {}

// IsRaw tells that what is in the block is no Markdown.
func (n *markdownFormula) IsRaw() bool { return true }

// noteParser reads footnotes. Their further lines are indented.
type noteParser struct{}

func (*noteParser) Trigger() []byte             { return []byte{'['} }
func (*noteParser) CanInterruptParagraph() bool { return true }
func (*noteParser) CanAcceptIndentedLine() bool { return false }

func (*noteParser) Close(ast.Node, text.Reader, parser.Context) {}

func (*noteParser) Open(parent ast.Node, reader text.Reader, pc parser.Context) (ast.Node, parser.State) {
	line, _ := reader.PeekLine()
	at := pc.BlockOffset()
	if parent.Kind() != ast.KindDocument || at < 0 || !bytes.HasPrefix(line[at:], []byte("[^")) {
		return nil, parser.NoChildren
	}
	end := bytes.Index(line[at:min(len(line), at+200)], []byte("]:"))
	if end < 3 || bytes.ContainsAny(line[at:at+end], " \t") {
		return nil, parser.NoChildren
	}
	reader.Advance(at + end + 2)
	return &markdownNote{label: string(line[at+2 : at+end])}, parser.HasChildren
}

func (*noteParser) Continue(_ ast.Node, reader text.Reader, _ parser.Context) parser.State {
	return continueIndented(reader)
}

// continueIndented goes on with blank lines and lines indented by four.
func continueIndented(reader text.Reader) parser.State {
	line, _ := reader.PeekLine()
	if util.IsBlank(line) {
		return parser.Continue | parser.HasChildren
	}
	at, padding := util.IndentPosition(line, reader.LineOffset(), 4)
	if at < 0 {
		return parser.Close
	}
	reader.AdvanceAndSetPadding(at, padding)
	return parser.Continue | parser.HasChildren
}

// asideParser reads asides and tabs. Their lines are indented.
type asideParser struct{}

func (*asideParser) Trigger() []byte             { return []byte{'!', '?', '='} }
func (*asideParser) CanInterruptParagraph() bool { return true }
func (*asideParser) CanAcceptIndentedLine() bool { return false }

func (*asideParser) Close(ast.Node, text.Reader, parser.Context) {}

func (*asideParser) Open(_ ast.Node, reader text.Reader, pc parser.Context) (ast.Node, parser.State) {
	line, _ := reader.PeekLine()
	at := pc.BlockOffset()
	if at < 0 {
		return nil, parser.NoChildren
	}
	mark, rest, found := strings.Cut(strings.TrimSpace(string(line[at:min(len(line), at+500)])), " ")
	if !found {
		return nil, parser.NoChildren
	}
	node := &markdownAside{}
	switch mark {
	case "!!!", "???", "???+":
		kind, title, titled := strings.Cut(rest, `"`)
		node.label = strings.Trim(title, `" `)
		words := strings.Fields(kind)
		if len(words) == 0 || strings.Trim(words[0], "abcdefghijklmnopqrstuvwxyz-_") != "" || len(words) > 4 {
			return nil, parser.NoChildren
		}
		if !titled {
			node.label = strings.ToUpper(words[0][:1]) + words[0][1:]
		}
	case "===", "===!", "===+":
		title, quotes := strings.CutPrefix(rest, `"`)
		if !quotes || !strings.HasSuffix(title, `"`) {
			return nil, parser.NoChildren
		}
		node.label, node.tab = strings.TrimSuffix(title, `"`), true
	default:
		return nil, parser.NoChildren
	}
	reader.Advance(len(line) - 1)
	return node, parser.HasChildren
}

func (*asideParser) Continue(_ ast.Node, reader text.Reader, _ parser.Context) parser.State {
	return continueIndented(reader)
}

// formulaParser reads formulas on lines of their own.
type formulaParser struct{}

func (*formulaParser) Trigger() []byte             { return []byte{'$', '\\'} }
func (*formulaParser) CanInterruptParagraph() bool { return true }
func (*formulaParser) CanAcceptIndentedLine() bool { return false }

func (*formulaParser) Close(ast.Node, text.Reader, parser.Context) {}

// maxFormula is how far the end of a formula is looked for.
const maxFormula = 4 << 10

func (*formulaParser) Open(_ ast.Node, reader text.Reader, pc parser.Context) (ast.Node, parser.State) {
	line, segment := reader.PeekLine()
	at := pc.BlockOffset()
	if at < 0 {
		return nil, parser.NoChildren
	}
	node := &markdownFormula{}
	switch first := bytes.TrimSpace(line[at:]); {
	case bytes.HasPrefix(first, []byte("$$")) && !bytes.Contains(first[2:], []byte("$$")):
		node.closing = "$$"
	case string(first) == `\[`:
		node.closing = `\]`
	default:
		return nil, parser.NoChildren
	}
	source := reader.Source()
	ahead := source[min(segment.Stop, len(source)):min(segment.Stop+maxFormula, len(source))]
	if end := bytes.Index(ahead, []byte(node.closing)); end < 0 || bytes.Contains(ahead[:end], []byte("\n\n\n")) {
		return nil, parser.NoChildren
	}
	node.Lines().Append(segment)
	reader.Advance(segment.Len() - 1)
	return node, parser.NoChildren
}

func (*formulaParser) Continue(node ast.Node, reader text.Reader, _ parser.Context) parser.State {
	formula, _ := node.(*markdownFormula)
	if formula == nil || formula.closed {
		return parser.Close
	}
	line, segment := reader.PeekLine()
	formula.Lines().Append(segment)
	formula.closed = bytes.Contains(line, []byte(formula.closing))
	reader.Advance(segment.Len() - 1)
	return parser.Continue | parser.NoChildren
}
