package rtf

import (
	"strings"
	"time"
)

// info holds the properties of a file.
type info struct {
	meta  map[string]any
	key   string
	text  []byte
	time  [5]int // year, month, day, hour, minute
	pages int
}

func newInfo() info { return info{meta: make(map[string]any)} }

// infoKey returns the key of document.Draft.Meta for a word of the information group, "" for others.
func infoKey(word string) string {
	switch word {
	case "title", "author", "subject", "keywords", "category", "company", "manager":
		return word
	case "doccomm":
		return "description"
	case "operator":
		return "last_modified_by"
	case "creatim":
		return "created"
	case "revtim":
		return "modified"
	}
	return ""
}

// maxInfo is the longest text of the information group that is kept.
const maxInfo = 4000

func (n *info) add(text string) {
	if len(n.text) < maxInfo {
		n.text = append(n.text, text...)
	}
}

// infoWord handles a word of the information group.
func (r *reader) infoWord(t *token) {
	word := string(t.text)
	if r.state.dest == destInfoTime {
		if at := strings.Index("yr mo dy hr min", word); at >= 0 && word != "" {
			r.info.time[at/3] = t.value
		}
		return
	}
	switch key := infoKey(word); {
	case word == "nofpages":
		r.info.pages = t.value
	case key == "created" || key == "modified":
		r.become(destInfoTime)
		r.info.key, r.info.time = key, [5]int{}
	case key != "":
		r.become(destInfoText)
		r.info.key, r.info.text = key, nil
	case word == "printim" || word == "buptim" || word == "hlinkbase" || word == "comment" || word == "userprops":
		r.scanner.skipGroup()
	}
}

// keep stores the text or time of a property, unless it has a value.
func (n *info) keep(dest destination) {
	if n.key == "" || n.meta[n.key] != nil {
		return
	}
	if dest == destInfoTime {
		t := n.time
		if t[0] >= 1900 && t[0] <= 2200 && t[1] >= 1 && t[1] <= 12 && t[2] >= 1 && t[2] <= 31 {
			n.meta[n.key] = time.Date(t[0], time.Month(t[1]), t[2], t[3], t[4], 0, 0, time.UTC)
		}
		return
	}
	if text := oneLine(string(n.text)); text != "" {
		n.meta[n.key] = text
	}
}
