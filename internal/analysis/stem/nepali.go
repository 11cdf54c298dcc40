package stem

// nepali cuts the postposition and the plural at the end of a noun, after the
// spelling is normalized as that of Hindi.
func nepali(word string) string {
	w := devanagari(word)
	w = cut(w, 2, "को का कि लाइ ले मा बाट देखि संग सम्म मै कै नै")
	return cut(w, 2, "हरु")
}
