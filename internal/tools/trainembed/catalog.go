package main

import (
	"encoding/binary"
	"regexp"
	"strings"
	"sync"
)

// readCatalog returns the messages of a program with their translations (GNU gettext .mo files).
func readCatalog(content []byte) []pair {
	var order binary.ByteOrder = binary.LittleEndian
	if len(content) < 28 {
		return nil
	}
	if order.Uint32(content) != 0x950412de {
		order = binary.BigEndian
		if order.Uint32(content) != 0x950412de {
			return nil
		}
	}
	count, sources, targets := int(order.Uint32(content[8:])), int(order.Uint32(content[12:])), int(order.Uint32(content[16:]))
	read := func(table, i int) string {
		at := table + 8*i
		if at+8 > len(content) {
			return ""
		}
		size, start := int(order.Uint32(content[at:])), int(order.Uint32(content[at+4:]))
		if start+size > len(content) {
			return ""
		}
		text, _, _ := strings.Cut(string(content[start:start+size]), "\x00")
		return text
	}
	var pairs []pair
	for i := range count {
		source, target := read(sources, i), read(targets, i)
		if _, text, ok := strings.Cut(source, "\x04"); ok {
			source = text
		}
		source, target = cleanMessage(source), cleanMessage(target)
		if len(source) >= 3 && len(target) >= 3 && source != target {
			pairs = append(pairs, pair{kind: kindMessage, left: source, right: target})
		}
	}
	return pairs
}

var placeholder = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`%[-+#0-9.*$]*(l|ll|h|z|j)?[a-zA-Z]|%[0-9]+|\$[A-Za-z0-9_(){}]+|%[A-Z_]+|<[^>]*>|\{[^}]*\}|\\n|\([&_][A-Za-z]\)`)
})

// cleanMessage removes placeholders, tags and the marks of keyboard shortcuts.
func cleanMessage(text string) string {
	text = placeholder().ReplaceAllString(text, " ")
	return squeeze(strings.NewReplacer("_", "", "&", "", "~", "").Replace(text))
}
