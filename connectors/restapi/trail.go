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

// Trail notices a list whose pages lead in a circle, of whatever length, with a
// state of constant size (Brent's algorithm, 1980): it holds one page that was
// met, and takes a newer one each time that the number of pages doubles. The zero
// value is the beginning of a list. It is not safe for concurrent use.
type Trail struct {
	held string // hash of the page that is held, "" at the beginning
	met  int    // pages since it is held
	most int    // after so many, a newer one is
}

// Step goes on to the page with a name: its cursor or number, or what it holds
// where pages are only counted. A page that was met before is a retryable error
// that names it; at the latest it is noticed when the circle was gone through
// three times.
func (t *Trail) Step(platform, list, page string) error {
	sum := sha256.Sum256([]byte(page))
	hash := hex.EncodeToString(sum[:8])
	if t.held == hash {
		return Circle(platform, list, page)
	}
	if t.met++; t.met >= t.most {
		t.held, t.met, t.most = hash, 0, max(2*t.most, 1)
	}
	return nil
}

// Circle is the error of a list that leads back to a page that was read.
func Circle(platform, list, page string) error {
	const longest = 100
	if len(page) > longest {
		page = strings.ToValidUTF8(page[:longest], "") + "..."
	}
	return connectors.Retryable(fmt.Errorf("%s goes round in circles in %s: after its last page comes %q, which was read before", platform, list, page), 0)
}

// String is the trail as a part of a cursor: letters, digits and hyphens.
func (t *Trail) String() string {
	return fmt.Sprintf("%s-%d-%d", t.held, t.met, t.most)
}

// ParseTrail reads what String wrote. Another text is false.
func ParseTrail(text string) (Trail, bool) {
	match := regexp.MustCompile(`^([0-9a-f]{16}|)-(\d{1,9})-(\d{1,9})$`).FindStringSubmatch(text)
	if match == nil {
		return Trail{}, false
	}
	t := Trail{held: match[1]}
	t.met, _ = strconv.Atoi(match[2])
	t.most, _ = strconv.Atoi(match[3])
	return t, true
}
