package ooxml

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/wordmodel"
	"github.com/magpie-search/magpie/internal/ingest/parse/xmlscan"
)

// maxNodes is how many nodes of a diagram are read.
const maxNodes = 5000

// A diagramNode is a shape of a diagram.
type diagramNode struct {
	text      string
	isShown   bool // false for a node that only groups others
	children  []diagramChild
	isVisited bool
}

type diagramChild struct {
	id    string
	order int
}

// diagram returns the text of a diagram (SmartArt; DrawingML diagrams, ECMA-376 part 1, 21.4) as a list, nested like
// the shapes. It calls step for each element, and ends with its error. With an error it returns the part that it has
// read.
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
			if kind != xmlscan.Start || names.space(s) != spaceDiagram {
				continue
			}
			switch s.Name() {
			case "pt":
				id, kind := s.Attr("modelId"), s.Attr("type")
				node := &diagramNode{isShown: kind == "" || kind == "node" || kind == "asst"}
				if len(nodes) < maxNodes && nodes[id] == nil {
					nodes[id] = node
					order = append(order, id)
				}
				if node.text, err = nodeText(s, node.isShown); err != nil {
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
				place, _ := strconv.Atoi(s.Attr("srcOrd")) // 0 if it is missing
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
		list.add(id, 0) // a node of a cycle
	}
	return list.flow.Finish(), err
}

// nodeText returns the text in the element of the last Start.
func nodeText(s *xmlscan.Scanner, isShown bool) (string, error) {
	if !isShown {
		return "", s.Skip()
	}
	return drawnText(s)
}

type diagramList struct {
	nodes map[string]*diagramNode
	flow  wordmodel.Flow
}

// add adds a node and its descendants.
func (l *diagramList) add(id string, level int) {
	node := l.nodes[id]
	if node == nil || node.isVisited {
		return
	}
	node.isVisited = true
	nested := level
	if node.isShown && node.text != "" {
		l.flow.Item(level, wordmodel.Marker{}, node.text, 0)
		nested++
	}
	for _, child := range node.children {
		l.add(child.id, min(nested, wordmodel.MaxListLevels))
	}
}
