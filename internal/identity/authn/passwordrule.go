package authn

import (
	_ "embed"
	"fmt"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/magpie-search/magpie/internal/apierr"
)

// How many characters a password has, and how many different ones at least.
const (
	MinPassword = 10
	MaxPassword = 128
	minDistinct = 5
)

// commonText lists well-known passwords and the words most of them are made of,
// in lower case; blanks and ends of lines stand between them.
//
//go:embed common.txt
var commonText string

var common = sync.OnceValue(func() map[string]struct{} {
	words := map[string]struct{}{}
	for word := range strings.FieldsSeq(commonText) {
		words[norm.NFC.String(word)] = struct{}{}
	}
	return words
})

// checkNewPassword checks what a person of an address, in its clean form, wants
// for a password. The error names the field.
func checkNewPassword(field, password, email string) error {
	refuse := func(why string) error { return apierr.Invalid(field, why) }
	if !utf8.ValidString(password) {
		return refuse("must be text")
	}
	password = norm.NFC.String(password)
	n := utf8.RuneCountInString(password)
	switch {
	case n < MinPassword:
		return refuse(fmt.Sprintf("must have at least %d characters", MinPassword))
	case n > MaxPassword:
		return refuse(fmt.Sprintf("must have at most %d characters", MaxPassword))
	}
	lower := strings.ToLower(strings.TrimSpace(password))
	local, _, _ := strings.Cut(email, "@")
	switch {
	case email != "" && (lower == email || lower == local):
		return refuse("must not be the email address or its first part")
	case distinct(lower) < minDistinct:
		return refuse(fmt.Sprintf("must have at least %d different characters", minDistinct))
	case known(lower):
		return refuse("is one of the most common passwords, or one of them with something before or after it")
	}
	return nil
}

func distinct(text string) int {
	seen := map[rune]struct{}{}
	for _, r := range text {
		seen[r] = struct{}{}
	}
	return len(seen)
}

// known says that a password in lower case is a common one: as it is, without
// the digits and signs around it, with its look-alike signs read as letters, or
// said several times.
func known(lower string) bool {
	core := strings.TrimFunc(lower, func(r rune) bool { return !unicode.IsLetter(r) })
	for _, text := range []string{lower, core, letters(core), letters(lower)} {
		for times := 1; times <= 4; times++ {
			unit := text[:len(text)/times]
			if unit == "" || strings.Repeat(unit, times) != text {
				continue
			}
			if _, ok := common()[unit]; ok {
				return true
			}
		}
	}
	return false
}

// letters reads the signs that often stand for letters as those.
func letters(text string) string {
	return strings.NewReplacer("0", "o", "1", "i", "3", "e", "4", "a", "5", "s", "7", "t", "@", "a", "$", "s", "!", "i").Replace(text)
}
