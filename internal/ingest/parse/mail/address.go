package mail

import (
	"net/mail"
	"strings"
	"time"
)

// Limits of address lists.
const (
	maxAddressList = 32 << 10 // bytes that are read
	maxShown       = 30       // addresses that are shown in the text
	maxKept        = 100      // addresses that are kept
)

// address is a name with an address. Either may be "".
type address struct{ name, address string }

// String returns the usual form: "name <address>".
func (a address) String() string {
	switch {
	case a.name == "" || strings.EqualFold(a.name, a.address):
		return a.address
	case a.address == "":
		return a.name
	}
	return a.name + " <" + a.address + ">"
}

// short returns the name, or the address if there is no name.
func (a address) short() string {
	if a.name != "" {
		return a.name
	}
	return a.address
}

// addresses parses a list of addresses. Invalid ones are read as far as possible.
func addresses(value string) []address {
	value = guess([]byte(value[:min(len(value), maxAddressList)]))
	if strings.TrimSpace(value) == "" {
		return nil
	}
	if !strings.Contains(value, "=?") { // mail.ParseAddressList decodes encoded words strictly, and they are often broken
		if list, err := mail.ParseAddressList(value); err == nil {
			found := make([]address, 0, min(len(list), maxKept))
			for _, a := range list[:min(len(list), maxKept)] {
				found = append(found, address{name: cleanName(a.Name), address: strings.Join(strings.Fields(clean(a.Address)), " ")})
			}
			return found
		}
	}
	var found []address
	for _, part := range splitAddresses(value) {
		if a := lenientAddress(part); a != (address{}) && len(found) < maxKept {
			found = append(found, a)
		}
	}
	return found
}

// splitAddresses splits a list at commas and semicolons outside of quotes, brackets and comments.
func splitAddresses(value string) []string {
	var parts []string
	inQuotes, inBrackets, commentDepth, start := false, false, 0, 0
	for i := range len(value) {
		switch c := value[i]; {
		case c == '"' && (i == 0 || value[i-1] != '\\'):
			inQuotes = !inQuotes
		case inQuotes:
		case c == '<':
			inBrackets = true
		case c == '>':
			inBrackets = false
		case c == '(':
			commentDepth++
		case c == ')':
			commentDepth = max(commentDepth-1, 0)
		case (c == ',' || c == ';') && !inBrackets && commentDepth == 0:
			parts = append(parts, value[start:i])
			start = i + 1
		}
	}
	return append(parts, value[start:])
}

// lenientAddress parses an address.
func lenientAddress(text string) address {
	text = strings.TrimSpace(text)
	open := strings.LastIndexByte(text, '<')
	if open < 0 {
		decoded := cleanName(decodeWords(text))
		if group, _, found := strings.Cut(decoded, ":"); found {
			decoded = group // a group without its list
		}
		if before, comment, found := strings.Cut(decoded, " ("); found && strings.Contains(before, "@") {
			return address{name: strings.TrimSuffix(comment, ")"), address: before}
		}
		if comment, after, found := strings.Cut(strings.TrimPrefix(decoded, "("), ") "); found && strings.HasPrefix(decoded, "(") {
			return address{name: comment, address: after}
		}
		if strings.Contains(decoded, "@") && !strings.Contains(decoded, " ") {
			return address{address: decoded}
		}
		return address{name: decoded}
	}
	name := cleanName(decodeWords(text[:open]))
	mailbox, _, _ := strings.Cut(text[open+1:], ">")
	return address{name: name, address: strings.Join(strings.Fields(decodeText([]byte(mailbox), "")), " ")}
}

// cleanName removes the quotes of a name.
func cleanName(name string) string {
	name = strings.Join(strings.Fields(clean(name)), " ")
	for _, mark := range []string{`"`, "'"} {
		if len(name) > 2 && strings.HasPrefix(name, mark) && strings.HasSuffix(name, mark) {
			name = strings.TrimSpace(name[1 : len(name)-1])
		}
	}
	return strings.ReplaceAll(name, `\"`, `"`)
}

// people returns the addresses of a list as text, and the first of them on one line.
func people(list []address) (all []string, line string) {
	for _, a := range list {
		if text := a.String(); text != "" {
			all = append(all, text)
		}
	}
	line = strings.Join(all[:min(len(all), maxShown)], ", ")
	if len(all) > maxShown {
		line += ", …"
	}
	return all, line
}

// dateLayout is the layout of the date below the subject.
const dateLayout = "Mon, 2 Jan 2006 15:04 -0700"

// parseDate parses the date of a mail. It is zero for an invalid one.
func parseDate(value string) time.Time {
	value = strings.Join(strings.Fields(value), " ")
	if value == "" || len(value) > 200 {
		return time.Time{}
	}
	if date, err := mail.ParseDate(value); err == nil {
		return plausible(date)
	}
	bare, _, _ := strings.Cut(value, "(")
	bare = strings.TrimSpace(bare)
	if _, rest, found := strings.Cut(bare, ", "); found {
		bare = rest
	}
	for _, layout := range []string{
		"2 Jan 2006 15:04:05 -0700", "2 Jan 2006 15:04:05 MST", "2 Jan 2006 15:04:05", "2 Jan 2006 15:04 -0700", "2 Jan 2006 15:04 MST",
		"2 Jan 06 15:04:05 -0700", "2 Jan 06 15:04:05 MST", "2 Jan 06 15:04 MST", "Mon Jan 2 15:04:05 2006", "Mon Jan 2 15:04:05 MST 2006",
		"Mon, 2 Jan 2006 15:04:05 -0700", "2-Jan-2006 15:04:05 -0700", "2 January 2006 15:04:05 -0700", time.RFC3339, "2006-01-02 15:04:05 -0700",
		time.DateTime,
	} {
		if date, err := time.Parse(layout, bare); err == nil {
			return plausible(date)
		}
	}
	return time.Time{}
}

// plausible returns a date, or zero for one that no mail can have.
func plausible(date time.Time) time.Time {
	if date.Year() < 1970 || date.Year() > 2200 {
		return time.Time{}
	}
	return date
}
