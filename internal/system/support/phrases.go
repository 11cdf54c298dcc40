package support

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"
	"unicode"
)

// gap stands for everything of a text that is not known.
const gap = "…"

// common are phrases of errors that operating systems, networks and stores report, and of
// the checks of the schema. Sentences of Magpie's own come with the options.
func common() []string {
	return []string{
		"connection refused", "connection reset by peer", "broken pipe", "no such host", "no route to host", "network is unreachable", "i/o timeout", "TLS handshake timeout",
		"context deadline exceeded", "context canceled", "unexpected EOF", "use of closed network connection", "Client.Timeout exceeded", "dial tcp", "dial unix",
		"certificate has expired", "certificate signed by unknown authority", "certificate is not valid for", "failed to verify certificate", "first record does not look like a TLS handshake",
		"permission denied", "no such file or directory", "not a directory", "no space left on device", "disk quota exceeded", "read-only file system", "too many open files", "file name too long",
		"cannot allocate memory", "out of memory", "out of shared memory", "access denied", "invalid credentials", "invalid token", "invalid grant", "token expired", "rate limit", "too many requests", "quota exceeded",
		"bad request", "not found", "method not allowed", "internal server error", "bad gateway", "service unavailable", "gateway timeout", "invalid character", "unexpected end of JSON input",
		"failed to connect to", "server error", "password authentication failed", "no pg_hba.conf entry", "database does not exist", "role does not exist", "too many connections", "too many clients already",
		"the database system is starting up", "the database system is shutting down", "terminating connection", "deadlock detected", "statement timeout", "lock timeout", "canceling statement due to",
		"duplicate key value violates unique constraint", "violates foreign key constraint", "violates not-null constraint", "violates check constraint", "could not serialize access",
		"row-level security policy", "row level security", "could not extend file", "could not resize shared memory segment", "cannot execute in a read-only transaction",
		"OOM command not allowed when used memory", "NOAUTH Authentication required", "READONLY You can't write against a read only replica", "LOADING Redis is loading", "WRONGPASS invalid username-password pair",
		"there is no such role", "is no member of it", "may not use the schema of pgvector", "the database has no pgvector", "the database lacks the table", "the database lacks the function",
		"the database has no tables of Magpie", "the schema is older than this program", "the schema is newer than this program", "may not read which steps the schema has",
		"cannot be called", "does not exist", "already exists", "is not set", "cannot be opened", "there is no bucket", "SECRET_KEYS lacks", "not collected", "the process answers", "ask for metrics",
		"there is no pg_stat_statements",
	}
}

// statuses find the numbers of answers and of errors of PostgreSQL.
var (
	statuses  = regexp.MustCompile(`(?i)\b(?:status|http|answers|answered|response)(?: code)?(?: with)?(?: status)?:? ([1-5]\d\d)\b`)
	sqlstates = regexp.MustCompile(`\bSQLSTATE ([0-9FHPX][0-9FPVWXZ][0-9P][0-9][0-9A-Z])\b`)
	words     = regexp.MustCompile(`[\p{L}\p{N}_]+`)
	holes     = regexp.MustCompile(`\{\*?\d+\}`)
)

// phrases choose what of a text may leave an installation: phrases that are known, in the
// words in which they are known. A text is never searched for what to remove, since nobody
// knows how names and titles look.
type phrases struct {
	byFirst map[string][]phrase // by the first word
	key     []byte              // makes hashes that nobody else can make
}

type phrase struct {
	text  string
	words []string
}

// newPhrases returns the phrases of sentences, in which {1} stands for a value.
func newPhrases(sentences []string) *phrases {
	p := &phrases{byFirst: map[string][]phrase{}, key: []byte(rand.Text())}
	known := map[string]bool{}
	add := func(text string) {
		text = strings.TrimFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) })
		in := words.FindAllString(text, -1)
		if len(in) < 2 || known[text] { // a single word says little, and may be somebody's
			return
		}
		known[text] = true
		p.byFirst[in[0]] = append(p.byFirst[in[0]], phrase{text, in})
	}
	for _, text := range common() {
		add(text)
	}
	for _, sentence := range sentences {
		for _, part := range holes.Split(sentence, -1) {
			add(part)
		}
	}
	return p
}

// choose returns the known phrases of a text, with an ellipsis for the rest and a hash that
// shows which texts of a bundle are the same.
func (p *phrases) choose(text string) string {
	if strings.TrimSpace(text) == "" {
		return ""
	}
	spans := words.FindAllStringIndex(text, -1)
	in := make([]string, len(spans))
	for i, span := range spans {
		in[i] = text[span[0]:span[1]]
	}
	var out []string
	skip := func() {
		if len(out) == 0 || out[len(out)-1] != gap {
			out = append(out, gap)
		}
	}
	whole := false
	for i := 0; i < len(in); {
		found := p.longest(in[i:])
		if found == nil {
			skip()
			i++
			continue
		}
		out = append(out, found.text)
		i += len(found.words)
		whole = i == len(in) && len(found.words) == len(in)
	}
	for _, match := range statuses.FindAllStringSubmatch(text, -1) {
		out = append(out, "status "+match[1])
	}
	for _, match := range sqlstates.FindAllStringSubmatch(text, -1) {
		out = append(out, "SQLSTATE "+match[1])
	}
	if !whole {
		sum := hmac.New(sha256.New, p.key)
		sum.Write([]byte(text))
		out = append(out, "#"+hex.EncodeToString(sum.Sum(nil)[:4]))
	}
	return strings.Join(out, " ")
}

// longest returns the longest phrase that words begin with, or nil.
func (p *phrases) longest(in []string) *phrase {
	if len(in) == 0 {
		return nil
	}
	var best *phrase
	for i, candidate := range p.byFirst[in[0]] {
		if n := len(candidate.words); n <= len(in) && (best == nil || n > len(best.words)) && equal(candidate.words, in[:n]) {
			best = &p.byFirst[in[0]][i]
		}
	}
	return best
}

func equal(a, b []string) bool {
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}
