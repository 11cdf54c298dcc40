package restapi

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/magpie-search/magpie/connectors"
)

// A LoopDetector detects a list whose pages repeat in a loop of any length. Its
// size is constant: by Brent's algorithm (1980), it remembers one page, and
// replaces it each time the number of pages has doubled. The zero value is the
// start of a list. It is not safe for concurrent use.
type LoopDetector struct {
	hash  string // hash of the remembered page, "" at the start
	pages int    // pages since the remembered page
	limit int    // number of pages after which a newer page is remembered
}

// Visit records the next page. page identifies it: its cursor or number, or its
// content if pages are only counted. It returns a retryable error for a page that
// was visited before, at the latest in the third pass through a loop. platform and
// list are for the text of the error.
func (t *LoopDetector) Visit(platform, list, page string) error {
	sum := sha256.Sum256([]byte(page))
	hash := hex.EncodeToString(sum[:8])
	if t.hash == hash {
		return LoopError(platform, list, page)
	}
	if t.pages++; t.pages >= t.limit {
		t.hash, t.pages, t.limit = hash, 0, max(2*t.limit, 1)
	}
	return nil
}

// LoopError returns the retryable error of a list that leads back to a page that
// was read.
func LoopError(platform, list, page string) error {
	const maxBytes = 100
	if len(page) > maxBytes {
		page = strings.ToValidUTF8(page[:maxBytes], "") + "..."
	}
	return connectors.Retryable(fmt.Errorf("%s goes round in circles in %s: after its last page comes %q, which was read before", platform, list, page), 0)
}

// String encodes the detector as a part of a cursor, in letters, digits and
// hyphens.
func (t *LoopDetector) String() string {
	return fmt.Sprintf("%s-%d-%d", t.hash, t.pages, t.limit)
}

// ParseLoopDetector parses the result of [LoopDetector.String].
func ParseLoopDetector(text string) (LoopDetector, bool) {
	match := regexp.MustCompile(`^([0-9a-f]{16}|)-(\d{1,9})-(\d{1,9})$`).FindStringSubmatch(text)
	if match == nil {
		return LoopDetector{}, false
	}
	t := LoopDetector{hash: match[1]}
	t.pages, _ = strconv.Atoi(match[2])
	t.limit, _ = strconv.Atoi(match[3])
	return t, true
}
