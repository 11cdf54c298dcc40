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
	// The length of a password in characters, and the minimum number of different
	// ones.
	MinPassword = 10
	MaxPassword = 128
	minDistinct = 5
)

// commonText lists common passwords and the words that most of them consist of, in
// lower case, separated by white space.
//
//go:embed common.txt
var commonText string

var commonPasswords = sync.OnceValue(func() map[string]struct{} {
	words := map[string]struct{}{}
	for word := range strings.FieldsSeq(commonText) {
		words[norm.NFC.String(word)] = struct{}{}
	}
	return words
})

// checkNewPassword checks a new password of the person with an email address. The
// error names the field.
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
	case distinctRunes(lower) < minDistinct:
		return refuse(fmt.Sprintf("must have at least %d different characters", minDistinct))
	case isCommon(lower):
		return refuse("is one of the most common passwords, or one of them with something before or after it")
	}
	return nil
}

func distinctRunes(text string) int {
	seen := map[rune]struct{}{}
	for _, r := range text {
		seen[r] = struct{}{}
	}
	return len(seen)
}

// isCommon reports whether a password in lower case is common: as it is, without
// digits and signs around it, with lookalike signs replaced, or repeated.
func isCommon(lower string) bool {
	core := strings.TrimFunc(lower, func(r rune) bool { return !unicode.IsLetter(r) })
	for _, text := range []string{lower, core, replaceLookalikes(core), replaceLookalikes(lower)} {
		for times := 1; times <= 4; times++ {
			unit := text[:len(text)/times]
			if unit == "" || strings.Repeat(unit, times) != text {
				continue
			}
			if _, ok := commonPasswords()[unit]; ok {
				return true
			}
		}
	}
	return false
}

// replaceLookalikes replaces signs that often represent letters.
func replaceLookalikes(text string) string {
	return strings.NewReplacer("0", "o", "1", "i", "3", "e", "4", "a", "5", "s", "7", "t", "@", "a", "$", "s", "!", "i").Replace(text)
}
