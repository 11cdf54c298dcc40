package htmldoc

import (
	"encoding/json"
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/compose"
	"github.com/magpie-search/magpie/internal/safetext"
)

// structuredData holds the facts of a page in JSON-LD, in the vocabulary of schema.org.
type structuredData struct {
	title, author, description, created, modified, keywords, section, url, version string
	questions                                                                      []questionAndAnswer
}

// questionAndAnswer is a question of a page and its answer in HTML.
type questionAndAnswer struct{ question, answer string }

// Bounds of structured data.
const (
	maxDataBytes = 1 << 20
	maxQuestions = 500
	maxDataDepth = 8
)

// read adds the data of a script element. Malformed JSON is ignored.
func (d *structuredData) read(script string) {
	if len(script) > maxDataBytes {
		return
	}
	var value any
	if json.Unmarshal([]byte(strings.TrimSpace(script)), &value) == nil {
		d.object(value, 0)
	}
}

func (d *structuredData) object(value any, depth int) {
	if depth > maxDataDepth {
		return
	}
	switch value := value.(type) {
	case []any:
		for _, item := range value {
			d.object(item, depth+1)
		}
	case map[string]any:
		for _, kind := range texts(value["@type"]) {
			d.thing(kind, value)
		}
		d.object(value["@graph"], depth+1)
		d.object(value["mainEntity"], depth+1)
	}
}

func (d *structuredData) thing(kind string, value map[string]any) {
	set := func(field *string, names ...string) {
		for _, name := range names {
			if text := strings.Join(texts(value[name]), ", "); *field == "" && text != "" {
				*field = safetext.TruncateBytes(strings.Join(strings.Fields(text), " "), 2000)
			}
		}
	}
	switch kind {
	case "Article", "BlogPosting", "TechArticle", "NewsArticle", "HowTo", "APIReference", "ScholarlyArticle", "Report", "QAPage", "LearningResource":
		set(&d.title, "headline", "name")
		set(&d.author, "author", "creator")
		set(&d.created, "datePublished", "dateCreated")
		set(&d.modified, "dateModified")
		set(&d.keywords, "keywords")
		set(&d.section, "articleSection")
		set(&d.version, "version")
		set(&d.url, "url")
		set(&d.description, "description")
	case "WebPage", "FAQPage", "ItemPage":
		set(&d.title, "headline", "name")
		set(&d.created, "datePublished")
		set(&d.modified, "dateModified")
		set(&d.description, "description")
	case "Question":
		for _, name := range []string{"acceptedAnswer", "suggestedAnswer"} {
			answer := firstObject(value[name])
			question, text := strings.Join(texts(value["name"]), " "), strings.Join(texts(answer["text"]), " ")
			if question != "" && text != "" && len(d.questions) < maxQuestions {
				d.questions = append(d.questions, questionAndAnswer{question, text})
				return
			}
		}
	}
}

func firstObject(value any) map[string]any {
	switch value := value.(type) {
	case map[string]any:
		return value
	case []any:
		if len(value) > 0 {
			object, _ := value[0].(map[string]any)
			return object
		}
	}
	return nil
}

// texts returns a string, the strings of a list, or the name of an object.
func texts(value any) []string {
	switch value := value.(type) {
	case string:
		if value = strings.TrimSpace(value); value != "" {
			return []string{value}
		}
	case map[string]any:
		if name, ok := value["name"].(string); ok {
			return texts(name)
		}
	case []any:
		var list []string
		for _, item := range value {
			if len(list) >= compose.MaxListItems {
				break
			}
			switch item := item.(type) {
			case string:
				list = append(list, texts(item)...)
			case map[string]any:
				list = append(list, texts(item["name"])...)
			}
		}
		return list
	}
	return nil
}

// missingAnswers adds the questions and answers of the structured data that the text lacks.
func (w *walker) missingAnswers(data structuredData) {
	if len(data.questions) == 0 {
		return
	}
	var b strings.Builder
	for i := range w.blocks {
		b.WriteString(lettersOf(w.blocks[i].Markdown()))
	}
	seen := b.String()
	for _, item := range data.questions {
		blocks := Fragment(w.ctx, item.answer, make(document.Anchors))
		start := lettersOf(compose.Cell(blocks))
		if start == "" || strings.Contains(seen, safetext.TruncateBytes(start, 60)) {
			continue
		}
		question := safetext.TruncateBytes(strings.Join(strings.Fields(item.question), " "), compose.MaxHeading)
		w.emit(document.Block{Kind: document.Heading, Level: 2, Text: question, Anchor: w.anchors.Take("", question)})
		for i := range blocks {
			if blocks[i].Kind == document.Heading {
				blocks[i] = document.Block{Kind: document.Paragraph, Text: blocks[i].Text}
			}
			w.emit(blocks[i])
		}
	}
}

// lettersOf returns the letters and digits of a text, by which texts with different markup are compared.
func lettersOf(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case 'A' <= r && r <= 'Z':
			return r | 0x20
		case 'a' <= r && r <= 'z', '0' <= r && r <= '9', r > 0x7F:
			return r
		}
		return -1
	}, text)
}
