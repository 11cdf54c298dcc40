package confluence

import "time"

// FormatDocument returns a page as HTML.
func FormatDocument(base, space, title, storage string, labels []string, names map[string]string) string {
	return string(renderDocument(base, &page{space: space, title: title, body: storage, labels: labels}, nil, names))
}

// FormatComment returns a page with one comment as HTML.
func FormatComment(storage, author, on string) string {
	comments := []comment{{author: author, body: storage, selection: on, created: time.Date(2024, 5, 2, 0, 0, 0, 0, time.UTC)}}
	return string(renderDocument("https://acme.atlassian.net/wiki", &page{space: "ENG", title: "T"}, comments, nil))
}
