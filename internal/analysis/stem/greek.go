package stem

// greek is a light stemmer of Modern Greek with the endings of case and person of G.
// Ntais (Development of a Stemmer for the Greek Language, 2006) and S. Saroukos
// (Enhancing a Greek Language Stemmer, 2008), without their lists of exceptions. It
// folds first, which removes accents and the final form of sigma.
func greek(word string) string {
	w := cut(fold(word), 2, "οσ ου ο ον οι ων ουσ ε εσ α ασ η ησ ι ισ υ υσ εισ εων εωσ ει "+
		"ματοσ=μ ματα=μ ματων=μ μα=μ ιοσ ιου ιο ιον ιοι ιων ιουσ ιε ια ιασ ιεσ εια ειασ ειεσ ειων ειο ειου εια εασ εα "+
		"ω ουμε ετε τε ουν ομαι εσαι εται ομαστε εστε ονται αμε ατε αν ησω ησει ησετε ησουν ηστε ησε ησαν")
	return cut(w, 3, "ιζ=ισ υσ=υ ησ=η αζ=ασ")
}
