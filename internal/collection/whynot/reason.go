package whynot

import (
	"fmt"
	"strings"

	"github.com/magpie-search/magpie/ent"
	entdocument "github.com/magpie-search/magpie/ent/document"
	"github.com/magpie-search/magpie/ent/syncitem"
	"github.com/magpie-search/magpie/internal/search"
)

// Reason is the first reason that keeps a document out of the results.
type Reason string

// The reasons, in the order in which they are checked.
const (
	NoSuchDocument     Reason = "NO_SUCH_DOCUMENT"    // for the caller
	Deleted            Reason = "DELETED"             // its ledger entry may say why
	NotIndexed         Reason = "NOT_INDEXED"         // pending, skipped or failed
	NoText             Reason = "NO_TEXT"             // it has no passage
	OutsideCollections Reason = "OUTSIDE_COLLECTIONS" // the search does not search its collection
	NotReadable        Reason = "NOT_READABLE"        // for the person
	Hidden             Reason = "HIDDEN"              // the caller may not read it, but the person may
	FilteredOut        Reason = "FILTERED_OUT"
	PhraseMissing      Reason = "PHRASE_MISSING"
	Excluded           Reason = "EXCLUDED"        // by a word or phrase after a minus sign
	NoCommonWord       Reason = "NO_COMMON_WORD"  // and its similarity does not suffice
	BelowMinScore      Reason = "BELOW_MIN_SCORE" // it has a score and a place
	NotACandidate      Reason = "NOT_A_CANDIDATE" // other passages fill the candidate pool
	BeyondPage         Reason = "BEYOND_PAGE"     // before offset, or after limit
	Repeated           Reason = "REPEATED"        // another document with nearly the same text is shown
	Found              Reason = "FOUND"
)

// conclude sets the reason of an answer, with sentences on it and on what would have to
// change.
func (a *Answer) conclude(reason Reason, explanation, change string) {
	a.Reason, a.Explanation, a.Change = reason, explanation, change
}

func (a *Answer) noSuchDocument() {
	a.conclude(NoSuchDocument, "There is no such document that you may read.", "Give the id, URL or path of a document, or add it to a connector.")
}

// indexed reports whether a document and its ledger entry, either of which may be nil, let
// it be found. If not, it concludes.
func (a *Answer) indexed(d *ent.Document, item *ent.SyncItem) bool {
	why := ""
	if item != nil && item.Reason != nil {
		why = ": " + strings.TrimSuffix(*item.Reason, ".")
	} else if d != nil && d.Failure != nil {
		why = ": " + strings.TrimSuffix(*d.Failure, ".")
	}
	const wait = "Wait for the sync, or start one."
	switch {
	case d != nil && (d.Status == entdocument.StatusDeleted || d.DeletedAt != nil), d == nil && item.Status == syncitem.StatusDeleted:
		change := "Restore the document, or sync its source when it is there again."
		if item != nil && item.Suppressed {
			change = "Restore the document, or allow the item of the ledger to be synced again."
		}
		a.conclude(Deleted, "The document was deleted"+why+".", change)
	case d != nil && d.IndexedAt != nil && d.PassageCount > 0:
		return true
	case d != nil && d.IndexedAt != nil:
		a.conclude(NoText, "The document has no text that can be searched.", "Put text into the document at its source, and sync it.")
	case item != nil && item.Status == syncitem.StatusSkipped:
		a.conclude(NotIndexed, "The last sync skipped the item"+why+".", "Remove the reason at the source or in the settings of the connector, and sync again.")
	case item != nil && item.Status == syncitem.StatusFailed, d != nil && d.Status == entdocument.StatusFailed:
		change := "Correct the document at its source, and sync it again."
		if item != nil && item.Retryable {
			change = "Retry the item, or wait for the next sync."
		}
		a.conclude(NotIndexed, "The document could not be indexed"+why+".", change)
	default:
		a.conclude(NotIndexed, "The document waits to be indexed"+why+".", wait)
	}
	return false
}

// judge concludes from the standing of a readable document in a search.
func (a *Answer) judge(s *search.Standing, q *search.Query) {
	place := fmt.Sprintf("Its best passage has the score %.3f, place %d of the candidates", s.Score, s.Place)
	switch {
	case len(s.Filters) > 0:
		a.conclude(FilteredOut, "The filters exclude the document: "+strings.Join(s.Filters, ", ")+".", "Change or remove these filters.")
	case len(s.Phrases) > 0:
		a.conclude(PhraseMissing, "No passage of the document has the phrase "+quoted(s.Phrases)+".", "Leave out the quotation marks.")
	case len(s.Excluded) > 0:
		a.conclude(Excluded, "Each passage of the document has a word that the query excludes: "+quoted(s.Excluded)+".", "Leave out the minus sign.")
	case !s.Selected:
		a.conclude(FilteredOut, "No single passage of the document has all phrases and passes all exclusions and filters.", "Leave out a phrase, an exclusion or a filter.")
	case s.Rank > 0 && (s.Rank <= q.Offset || s.Rank > q.Offset+q.Limit):
		a.conclude(BeyondPage, fmt.Sprintf("The document is result %d, which is not on this page.", s.Rank), fmt.Sprintf("Ask for an offset of %d.", (s.Rank-1)/q.Limit*q.Limit))
	case s.Rank > 0:
		a.conclude(Found, fmt.Sprintf("The document is result %d, with the score %.3f.", s.Rank, s.Score), "Nothing.")
	case s.Repeated:
		a.conclude(Repeated, "Another document with the same text, or nearly the same, is shown in its place: that of the version which the query names, else of the newest.",
			"Filter by the document's version, or ask for results without collapse.")
	case !s.CommonWord && s.Place > 0:
		a.conclude(NoCommonWord, "The document has no word in common with the query. "+place+".", "Use a word of the document, or write the query's words into it.")
	case !s.CommonWord:
		a.conclude(NoCommonWord, "The document has no word in common with the query, and other passages are more similar.", "Use a word of the document, or write the query's words into it.")
	case s.Place > 0:
		a.conclude(BelowMinScore, fmt.Sprintf("%s; the minimum score is %.3f.", place, q.MinScore),
			fmt.Sprintf("Ask for a minimum score of at most %.3f, or use more words of the document.", floor(s.Score)))
	default:
		a.conclude(NotACandidate, "Enough other passages match the query better to fill the pool of candidates.", "Use rarer words of the document, or narrow the search with filters.")
	}
}

// floor rounds a score down to three decimals.
func floor(score float64) float64 { return float64(int(score*1000)) / 1000 }

func quoted(phrases []string) string {
	out := make([]string, len(phrases))
	for i, p := range phrases {
		out[i] = fmt.Sprintf("%q", p)
	}
	return strings.Join(out, ", ")
}
