package htmldoc

import (
	"encoding/json"
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/compose"
	"github.com/magpie-search/magpie/internal/safetext"
)

// pageData is what a page says about itself in JSON-LD with the vocabulary of schema.org.
type pageData struct {
	title, author, description, created, modified, keywords, section, url, version string
	questions                                                                      []answered
}

// answered is a question of a page of questions and its answer, in HTML.
type answered struct{ question, answer string }

// Bounds of the data that is believed.
const (
	maxData      = 1 << 20
	maxQuestions = 500
	maxDataDepth = 8
)

// read takes in one script element; what is no JSON says nothing.
func (d *pageData) read(script string) {
	if len(script) > maxData {
		return
	}
	var value any
	if json.Unmarshal([]byte(strings.TrimSpace(script)), &value) == nil {
		d.object(value, 0)
	}
}

func (d *pageData) object(value any, depth int) {
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
			d.typed(kind, value)
		}
		d.object(value["@graph"], depth+1)
		d.object(value["mainEntity"], depth+1)
	}
}

func (d *pageData) typed(kind string, value map[string]any) {
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
				d.questions = append(d.questions, answered{question, text})
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

// texts returns a text, the texts of a list, or the name of an object.
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

// unseenAnswers adds the questions and answers of the data that are not in the text.
func (w *htmlWalker) unseenAnswers(data pageData) {
	if len(data.questions) == 0 {
		return
	}
	var b strings.Builder
	for i := range w.blocks {
		b.WriteString(letters(w.blocks[i].Markdown()))
	}
	seen := b.String()
	for _, item := range data.questions {
		blocks := Fragment(w.ctx, item.answer, make(document.Anchors))
		start := letters(compose.Cell(blocks))
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

// letters returns the letters and digits of a text, to compare texts that differ in marks.
func letters(text string) string {
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
