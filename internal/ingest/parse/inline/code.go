package inline

import "strings"

// CodeSpan returns a text on one line as a Markdown code span.
func CodeSpan(text string) string {
	switch {
	case text == "":
		return ""
	case !strings.Contains(text, "`"):
		return "`" + text + "`"
	case strings.HasPrefix(text, "`") || strings.HasSuffix(text, "`"):
		text = " " + text + " "
	}
	longest, run := 0, 0
	for i := range len(text) {
		if text[i] == '`' {
			run++
			longest = max(longest, run)
		} else {
			run = 0
		}
	}
	fence := strings.Repeat("`", longest+1)
	return fence + text + fence
}

// SpanLength returns the length of the code span that text starts with, or of its opening if it is not closed.
func SpanLength(text string) int {
	width := len(text) - len(strings.TrimLeft(text, "`"))
	if end := strings.Index(text[width:], text[:width]); end >= 0 {
		closing := width + end
		for closing+width < len(text) && text[closing+width] == '`' {
			closing++ // a longer run of backquotes does not close the span, but its end will do
		}
		return closing + width
	}
	return width
}

// FenceLanguage returns the language of a block of code from the info string after its fence.
func FenceLanguage(info string) string {
	info = strings.Trim(strings.TrimSpace(info), "{}")
	end := strings.IndexAny(info, " \t,{:")
	if end >= 0 {
		info = info[:end]
	}
	info = strings.TrimPrefix(info, ".")
	if len(info) > 40 || strings.ContainsAny(info, "`=") {
		return ""
	}
	return strings.ToLower(info)
}

// ClassLanguage returns the programming language in the class names of an element, or "".
func ClassLanguage(class string) string {
	isNext := false // whether the previous class announced a language
	for name := range strings.FieldsSeq(class) {
		language, found := "", isNext
		if isNext {
			language = name
		}
		isNext = name == "brush:" || name == "sourceCode"
		for _, prefix := range []string{"language-", "lang-", "highlight-source-", "highlight-text-", "highlight-", "mw-highlight-lang-", "brush:", "src-"} {
			if !found && len(name) > len(prefix) {
				language, found = strings.CutPrefix(name, prefix)
			}
		}
		switch language = strings.ToLower(strings.TrimRight(language, ";")); {
		case !found || !IsLanguageName(language):
		case language == "none", language == "default", language == "notranslate", language == "plaintext", language == "text":
			return ""
		default:
			return language
		}
	}
	for name := range strings.FieldsSeq(class) {
		if isCommonLanguage(name) {
			return name
		}
	}
	return ""
}

// isCommonLanguage reports whether a class is the name of a language and hardly anything else.
func isCommonLanguage(name string) bool {
	switch name {
	case "rust", "python", "java", "golang", "javascript", "typescript", "bash", "ruby", "php", "perl", "kotlin", "scala", "haskell", "csharp", "cpp",
		"json", "yaml", "toml", "sql", "xml", "powershell", "dockerfile", "console", "elixir", "erlang", "clojure", "groovy":
		return true
	}
	return false
}

// IsLanguageName reports whether a word may be the name of a programming language.
func IsLanguageName(name string) bool {
	return name != "" && len(name) < 30 && strings.Trim(strings.ToLower(name), "abcdefghijklmnopqrstuvwxyz0123456789+-#._") == ""
}
