package quote

// Units returns the texts of a passage's units.
func Units(markdown string) []string {
	var texts []string
	for _, u := range splitUnits(markdown, "") {
		texts = append(texts, u.text)
	}
	return texts
}
