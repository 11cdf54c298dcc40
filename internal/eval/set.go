package eval

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/magpie-search/magpie/internal/config/namedfile"
)

// A Set is a folder with corpus.jsonl, queries.jsonl and qrels.tsv.
type Set struct {
	Name      string // of the folder
	Documents []Document
	Questions []Question
	// Judged holds the grades of documents by question. A document with a grade above 0 is
	// relevant. Questions without a relevant document are not measured.
	Judged map[string]map[string]int
}

// A Document is a line of corpus.jsonl.
type Document struct {
	ID       string         `json:"_id"`
	Title    string         `json:"title"`
	Text     string         `json:"text"`
	Metadata map[string]any `json:"metadata"`
}

// A Question is a line of queries.jsonl.
type Question struct {
	ID       string         `json:"_id"`
	Text     string         `json:"text"`
	Metadata map[string]any `json:"metadata"`
	Answers  []string       `json:"answers"` // texts that answer it; nil if unknown
}

// Load reads a set. An error names the file and the line.
func Load(folder string) (*Set, error) {
	absolute, err := filepath.Abs(folder)
	if err != nil {
		return nil, fmt.Errorf("load a judged set: %w", err)
	}
	s := &Set{Name: filepath.Base(absolute), Judged: make(map[string]map[string]int)}
	known := make(map[string]bool)
	err = eachLine(filepath.Join(folder, "corpus.jsonl"), func(line []byte) error {
		var d Document
		if err := json.Unmarshal(line, &d); err != nil {
			return err
		}
		switch {
		case d.ID == "":
			return errors.New("a document has no _id")
		case known[d.ID]:
			return fmt.Errorf("document %q is there twice", d.ID)
		}
		known[d.ID] = true
		s.Documents = append(s.Documents, d)
		return nil
	})
	if err != nil {
		return nil, err
	}
	seen := make(map[string]bool)
	err = eachLine(filepath.Join(folder, "queries.jsonl"), func(line []byte) error {
		var q Question
		if err := json.Unmarshal(line, &q); err != nil {
			return err
		}
		switch {
		case q.ID == "":
			return errors.New("a question has no _id")
		case seen[q.ID]:
			return fmt.Errorf("question %q is there twice", q.ID)
		}
		seen[q.ID] = true
		s.Questions = append(s.Questions, q)
		return nil
	})
	if err != nil {
		return nil, err
	}
	first := true
	err = eachLine(filepath.Join(folder, "qrels.tsv"), func(line []byte) error {
		header := first
		first = false
		fields := strings.Fields(string(line))
		if header && fields[0] == "query-id" {
			return nil
		}
		if len(fields) == 4 { // TREC's format: question, iteration, document, grade
			fields = append(fields[:1], fields[2:]...)
		}
		if len(fields) != 3 {
			return fmt.Errorf("expected question, document and grade, not %d fields", len(fields))
		}
		grade, err := strconv.Atoi(fields[2])
		if err != nil {
			return fmt.Errorf("the grade %q is not a whole number", fields[2])
		}
		if s.Judged[fields[0]] == nil {
			s.Judged[fields[0]] = make(map[string]int)
		}
		s.Judged[fields[0]][fields[1]] = grade
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(s.Documents) == 0 || len(s.Questions) == 0 || len(s.Judged) == 0 {
		return nil, fmt.Errorf("the set in %s has %d documents, %d questions and judgements for %d questions; it needs some of each",
			folder, len(s.Documents), len(s.Questions), len(s.Judged))
	}
	return s, nil
}

// maxLine bounds a line of a set; a long book fits.
const maxLine = 64 << 20

// eachLine calls do for every line that is not blank.
func eachLine(path string, do func([]byte) error) error {
	file, err := namedfile.Open(path)
	if err != nil {
		return fmt.Errorf("load a judged set: %w", err)
	}
	defer func() { _ = file.Close() }()
	in := bufio.NewReader(file)
	for n := 1; ; n++ {
		line, err := in.ReadBytes('\n')
		if len(line) > maxLine {
			return fmt.Errorf("%s, line %d: longer than %d bytes", path, n, maxLine)
		}
		if text := strings.TrimSpace(string(line)); text != "" {
			if err := do([]byte(text)); err != nil {
				return fmt.Errorf("%s, line %d: %w", path, n, err)
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
}
