package confluence

import "time"

// Document is a page as HTML, for the tests of the conversion.
func Document(base, space, title, storage string, labels []string, names map[string]string) string {
	return string(document(base, &page{space: space, title: title, body: storage, labels: labels}, nil, names))
}

// Commented is a page with one comment.
func Commented(storage, author, on string) string {
	said := []comment{{author: author, body: storage, on: on, created: time.Date(2024, 5, 2, 0, 0, 0, 0, time.UTC)}}
	return string(document("https://acme.atlassian.net/wiki", &page{space: "ENG", title: "T"}, said, nil))
}
