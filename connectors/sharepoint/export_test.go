package sharepoint

import "encoding/json"

// RenderPage returns a page in Graph's JSON as HTML, and RenderListItem an entry of a
// list as Markdown.
func RenderPage(data []byte) ([]byte, bool) {
	var page sitePage
	if json.Unmarshal(data, &page) != nil {
		return nil, false
	}
	return renderPage(page), true
}

func RenderListItem(data []byte) ([]byte, bool) {
	var entry listItem
	if json.Unmarshal(data, &entry) != nil {
		return nil, false
	}
	return renderListItem(entry), true
}
