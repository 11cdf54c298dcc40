package ooxml

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/xmlscan"
)

// maxNodes is how many nodes of a diagram are kept.
const maxNodes = 5000

// diagramNode is a shape of a diagram.
type diagramNode struct {
	text     string
	shown    bool // a shape with text, not one that only holds others together
	children []diagramChild
	visited  bool
}

type diagramChild struct {
	id    string
	order int
}

// diagram returns the text of a diagram (SmartArt; DrawingML diagrams, ECMA-376 part 1, 21.4) as a list, nested as the
// shapes are. With an error it returns what was read.
func (p *Package) diagram(part string, step func() error) ([]document.Block, error) {
	nodes := make(map[string]*diagramNode)
	var order []string
	err := p.Scan(part, func(s *xmlscan.Scanner) error {
		names := newNames()
		for {
			kind, err := s.Next()
			if err != nil {
				return err
			}
			if err := step(); err != nil {
				return err
			}
			if kind != xmlscan.Start || names.of(s) != spaceDiagram {
				continue
			}
			switch s.Name() {
			case "pt":
				id, kind := s.Attr("modelId"), s.Attr("type")
				node := &diagramNode{shown: kind == "" || kind == "node" || kind == "asst"}
				if len(nodes) < maxNodes && nodes[id] == nil {
					nodes[id] = node
					order = append(order, id)
				}
				if node.text, err = nodeText(s, node.shown); err != nil {
					return err
				}
			case "cxn":
				if kind := s.Attr("type"); kind != "" && kind != "parOf" {
					continue
				}
				parent := nodes[s.Attr("srcId")]
				if parent == nil || len(parent.children) >= maxNodes {
					continue
				}
				place, _ := strconv.Atoi(s.Attr("srcOrd")) // without a place, the first
				parent.children = append(parent.children, diagramChild{s.Attr("destId"), place})
			}
		}
	})
	list := diagramList{nodes: nodes}
	nested := make(map[string]bool)
	for _, node := range nodes {
		slices.SortStableFunc(node.children, func(a, b diagramChild) int { return cmp.Compare(a.order, b.order) })
		for _, child := range node.children {
			nested[child.id] = true
		}
	}
	for _, id := range order {
		if !nested[id] {
			list.add(id, 0)
		}
	}
	for _, id := range order {
		list.add(id, 0) // what stands in a circle
	}
	if list.text.text.Len() == 0 {
		return nil, err
	}
	return []document.Block{{Kind: document.List, Text: list.text.text.String()}}, err
}

// nodeText returns the text in the element of the last Start.
func nodeText(s *xmlscan.Scanner, shown bool) (string, error) {
	if !shown {
		return "", s.Skip()
	}
	return drawnText(s)
}

type diagramList struct {
	nodes map[string]*diagramNode
	text  listText
}

// add adds a node and those below it.
func (l *diagramList) add(id string, level int) {
	node := l.nodes[id]
	if node == nil || node.visited {
		return
	}
	node.visited = true
	below := level
	if node.shown && node.text != "" {
		l.text.item(level, marker{}, node.text)
		below++
	}
	for _, child := range node.children {
		l.add(child.id, min(below, maxLevels))
	}
}
