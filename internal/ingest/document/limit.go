package document

import "fmt"

// Limits bounds what one file may cost. Zero fields take the default.
type Limits struct {
	// MaxBytes is the largest content, 32 MiB by default.
	MaxBytes int
	// MaxText is the most text a document may have, in bytes, 64 MiB by default.
	MaxText int
	// MaxDepth is how deep JSON may be nested, 256 by default. Deeper lists, quotes and elements lose their structure
	// but not their text.
	MaxDepth int
	// MaxPages is how many pages, slides or sheets are read, 5,000 by default; a file with more fails.
	MaxPages int
	// MaxExpanded is how many bytes everything that is compressed in a file may have together, 512 MiB by default.
	MaxExpanded int64
	// MaxRatio is how many times larger than its compressed form a part of more than 1 MiB may be, 250 by default.
	MaxRatio int64
	// MaxMembers is how many members an archive may have, 20,000 by default.
	MaxMembers int
	// MaxNesting is how deep files may stand in files (a mail in an archive attached to a mail), 4 by default.
	MaxNesting int
}

// WithDefaults returns the limits with the defaults filled in.
func (l Limits) WithDefaults() Limits {
	set := func(field *int, value int) {
		if *field <= 0 {
			*field = value
		}
	}
	set(&l.MaxBytes, 32<<20)
	set(&l.MaxText, 64<<20)
	set(&l.MaxDepth, 256)
	set(&l.MaxPages, 5000)
	set(&l.MaxMembers, 20_000)
	set(&l.MaxNesting, 4)
	if l.MaxExpanded <= 0 {
		l.MaxExpanded = 512 << 20
	}
	if l.MaxRatio <= 0 {
		l.MaxRatio = 250
	}
	return l
}

// Budget counts what is expanded while one file is read, its attachments and members included. It is for one goroutine.
type Budget struct {
	limits Limits
	spent  int64
}

// NewBudget makes the budget of one file.
func NewBudget(limits Limits) *Budget { return &Budget{limits: limits.WithDefaults()} }

// Spend counts n bytes that were expanded. The error is a *LimitError once there were too many.
func (b *Budget) Spend(n int64) error {
	b.spent += n
	if b.spent > b.limits.MaxExpanded {
		return &LimitError{Detail: fmt.Sprintf("what is compressed in the file has more than %d MiB", b.limits.MaxExpanded>>20)}
	}
	return nil
}

// CheckRatio says whether a part may be so much larger than its compressed form. The error is a *LimitError.
func (b *Budget) CheckRatio(expanded, compressed int64) error {
	if expanded > 1<<20 && expanded/b.limits.MaxRatio > compressed {
		return &LimitError{Detail: fmt.Sprintf("a compressed part is more than %d times its size when expanded", b.limits.MaxRatio)}
	}
	return nil
}
