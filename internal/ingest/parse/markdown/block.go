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

// newParser returns a parser of blocks: those of CommonMark, GitHub's tables, definition lists and footnotes of
// Markdown Extra, formulas between lines of $$, and the admonitions and tabs of MkDocs. Inline markup is not parsed,
// since passages keep it, and since it is what hostile input can make slow.
func newParser() parser.Parser {
	blocks := append(parser.DefaultBlockParsers(),
		util.Prioritized(extension.NewDefinitionListParser(), 101),
		util.Prioritized(extension.NewDefinitionDescriptionParser(), 102),
		util.Prioritized(&footnoteParser{}, 810),
		util.Prioritized(&admonitionParser{}, 820),
		util.Prioritized(&formulaParser{}, 90),
	)
	return parser.NewParser(
		parser.WithBlockParsers(blocks...),
		parser.WithParagraphTransformers(append(parser.DefaultParagraphTransformers(),
			util.Prioritized(extension.NewTableParagraphTransformer(), 200))...),
	)
}

// footnote is a footnote: [^label]: text.
type footnote struct {
	ast.BaseBlock
	label string
}

// Kind tells the parser that the block contains blocks.
func (n *footnote) Kind() ast.NodeKind { return ast.KindBlockquote }

// Dump writes nothing.
func (n *footnote) Dump([]byte, int) {}

// admonition is an admonition (!!! note "Title") or a tab (=== "Title") of MkDocs.
type admonition struct {
	ast.BaseBlock
	label string
	tab   bool
}

// Kind tells the parser that the block contains blocks.
func (n *admonition) Kind() ast.NodeKind { return ast.KindBlockquote }

// Dump writes nothing.
func (n *admonition) Dump([]byte, int) {}

// formula is a formula between lines of $$ or \[ and \].
type formula struct {
	ast.BaseBlock
	closing string
	closed  bool
}

// Kind tells the parser that the lines of the block are not parsed.
func (n *formula) Kind() ast.NodeKind { return ast.KindCodeBlock }

// Dump writes nothing.
func (n *formula) Dump([]byte, int) {}

// IsRaw tells the parser that the content is not Markdown.
func (n *formula) IsRaw() bool { return true }

// footnoteParser parses footnotes, whose continuation lines are indented.
type footnoteParser struct{}

func (*footnoteParser) Trigger() []byte             { return []byte{'['} }
func (*footnoteParser) CanInterruptParagraph() bool { return true }
func (*footnoteParser) CanAcceptIndentedLine() bool { return false }

func (*footnoteParser) Close(ast.Node, text.Reader, parser.Context) {}

func (*footnoteParser) Open(parent ast.Node, reader text.Reader, pc parser.Context) (ast.Node, parser.State) {
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
	return &footnote{label: string(line[at+2 : at+end])}, parser.HasChildren
}

func (*footnoteParser) Continue(_ ast.Node, reader text.Reader, _ parser.Context) parser.State {
	return continueIndented(reader)
}

// continueIndented continues a block with blank lines and lines indented by four.
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

// admonitionParser parses admonitions and tabs, whose lines are indented.
type admonitionParser struct{}

func (*admonitionParser) Trigger() []byte             { return []byte{'!', '?', '='} }
func (*admonitionParser) CanInterruptParagraph() bool { return true }
func (*admonitionParser) CanAcceptIndentedLine() bool { return false }

func (*admonitionParser) Close(ast.Node, text.Reader, parser.Context) {}

func (*admonitionParser) Open(_ ast.Node, reader text.Reader, pc parser.Context) (ast.Node, parser.State) {
	line, _ := reader.PeekLine()
	at := pc.BlockOffset()
	if at < 0 {
		return nil, parser.NoChildren
	}
	mark, rest, found := strings.Cut(strings.TrimSpace(string(line[at:min(len(line), at+500)])), " ")
	if !found {
		return nil, parser.NoChildren
	}
	node := &admonition{}
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

func (*admonitionParser) Continue(_ ast.Node, reader text.Reader, _ parser.Context) parser.State {
	return continueIndented(reader)
}

// formulaParser parses formulas on lines of their own.
type formulaParser struct{}

func (*formulaParser) Trigger() []byte             { return []byte{'$', '\\'} }
func (*formulaParser) CanInterruptParagraph() bool { return true }
func (*formulaParser) CanAcceptIndentedLine() bool { return false }

func (*formulaParser) Close(ast.Node, text.Reader, parser.Context) {}

// maxFormulaBytes bounds the search for the end of a formula.
const maxFormulaBytes = 4 << 10

func (*formulaParser) Open(_ ast.Node, reader text.Reader, pc parser.Context) (ast.Node, parser.State) {
	line, segment := reader.PeekLine()
	at := pc.BlockOffset()
	if at < 0 {
		return nil, parser.NoChildren
	}
	node := &formula{}
	switch first := bytes.TrimSpace(line[at:]); {
	case bytes.HasPrefix(first, []byte("$$")) && !bytes.Contains(first[2:], []byte("$$")):
		node.closing = "$$"
	case string(first) == `\[`:
		node.closing = `\]`
	default:
		return nil, parser.NoChildren
	}
	source := reader.Source()
	following := source[min(segment.Stop, len(source)):min(segment.Stop+maxFormulaBytes, len(source))]
	if end := bytes.Index(following, []byte(node.closing)); end < 0 || bytes.Contains(following[:end], []byte("\n\n\n")) {
		return nil, parser.NoChildren
	}
	node.Lines().Append(segment)
	reader.Advance(segment.Len() - 1)
	return node, parser.NoChildren
}

func (*formulaParser) Continue(node ast.Node, reader text.Reader, _ parser.Context) parser.State {
	formula, _ := node.(*formula)
	if formula == nil || formula.closed {
		return parser.Close
	}
	line, segment := reader.PeekLine()
	formula.Lines().Append(segment)
	formula.closed = bytes.Contains(line, []byte(formula.closing))
	reader.Advance(segment.Len() - 1)
	return parser.Continue | parser.NoChildren
}
