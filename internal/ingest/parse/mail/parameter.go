package mail

import (
	"sort"
	"strconv"
	"strings"
)

// maxParameters is how many parameters of a field are read.
const maxParameters = 100

// mediaType splits Content-Type or Content-Disposition into the value and its parameters by name, all in lower case but
// the values of parameters. Parameters may be split and encoded (RFC 2231) or, against the rules, encoded words.
func mediaType(value string) (string, map[string]string) {
	base, rest, _ := strings.Cut(value, ";")
	base = strings.ToLower(strings.TrimSpace(base))
	if at := strings.IndexAny(base, " \t("); at > 0 {
		base = base[:at]
	}
	parameters := make(map[string]string)
	var pieces []piece
	for range maxParameters {
		name, text, after, found := cutParameter(rest)
		if !found {
			break
		}
		rest = after
		if name == "" {
			continue
		}
		if p, isPiece := pieceOf(name, text); isPiece {
			pieces = append(pieces, p)
			continue
		}
		if _, taken := parameters[name]; !taken {
			parameters[name] = decodeWords(text)
		}
	}
	joinPieces(pieces, parameters)
	return base, parameters
}

// cutParameter cuts "name=value" or "name="value"" from a text, up to the next semicolon.
func cutParameter(text string) (name, value, rest string, found bool) {
	text = strings.TrimLeft(text, " \t;")
	if text == "" {
		return "", "", "", false
	}
	equals := strings.IndexByte(text, '=')
	semicolon := strings.IndexByte(text, ';')
	if equals < 0 || semicolon >= 0 && semicolon < equals {
		if semicolon < 0 {
			return "", "", "", true
		}
		return "", "", text[semicolon+1:], true
	}
	name = strings.ToLower(strings.TrimSpace(text[:equals]))
	text = strings.TrimLeft(text[equals+1:], " \t")
	if !strings.HasPrefix(text, `"`) {
		value, rest, _ = strings.Cut(text, ";")
		return name, strings.TrimSpace(value), rest, true
	}
	var b strings.Builder
	at := 1
	for ; at < len(text) && text[at] != '"'; at++ {
		if text[at] == '\\' && at+1 < len(text) && (text[at+1] == '"' || text[at+1] == '\\') {
			at++
		}
		b.WriteByte(text[at])
	}
	_, rest, _ = strings.Cut(text[min(at+1, len(text)):], ";")
	return name, b.String(), rest, true
}

// piece is a part of a parameter: "filename*1*".
type piece struct {
	name    string
	number  int
	encoded bool
	text    string
}

func pieceOf(name, text string) (piece, bool) {
	base, section, isPiece := strings.Cut(name, "*")
	if !isPiece || base == "" {
		return piece{}, false
	}
	p := piece{name: base, text: text}
	section, p.encoded = strings.CutSuffix(section, "*")
	if section == "" {
		p.encoded = true
		return p, true
	}
	number, err := strconv.Atoi(section)
	if err != nil || number < 0 || number > maxParameters {
		return piece{}, false
	}
	p.number = number
	return p, true
}

func joinPieces(pieces []piece, parameters map[string]string) {
	sort.SliceStable(pieces, func(i, j int) bool {
		return pieces[i].name < pieces[j].name || pieces[i].name == pieces[j].name && pieces[i].number < pieces[j].number
	})
	for i := 0; i < len(pieces); {
		name, label := pieces[i].name, ""
		var raw []byte
		for first := i; i < len(pieces) && pieces[i].name == name; i++ {
			text := pieces[i].text
			if !pieces[i].encoded {
				raw = append(raw, text...)
				continue
			}
			if i == first {
				if parts := strings.SplitN(text, "'", 3); len(parts) == 3 {
					label, text = parts[0], parts[2]
				}
			}
			raw = append(raw, unescape(text)...)
		}
		if _, taken := parameters[name]; !taken || label != "" {
			parameters[name] = decodeText(raw, label)
		}
	}
}

// unescape decodes %41.
func unescape(text string) []byte {
	raw := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		if text[i] == '%' && i+2 < len(text) {
			if c, err := strconv.ParseUint(text[i+1:i+3], 16, 8); err == nil {
				raw = append(raw, byte(c))
				i += 2
				continue
			}
		}
		raw = append(raw, text[i])
	}
	return raw
}
