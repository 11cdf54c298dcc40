package document

import "fmt"

// Limits limits what a file may cost. Zero fields have defaults.
type Limits struct {
	// MaxBytes is the largest content. The default is 32 MiB.
	MaxBytes int
	// MaxText is the longest text of a document, in bytes. The default is 64 MiB.
	MaxText int
	// MaxDepth is how deep JSON may be nested. The default is 256. Deeper lists, quotes and elements lose their
	// structure but not their text.
	MaxDepth int
	// MaxPages is how many pages, slides or sheets a file may have. The default is 5,000.
	MaxPages int
	// MaxExpanded is how many bytes all compressed parts of a file may have when they are expanded. The default is 512
	// MiB.
	MaxExpanded int64
	// MaxRatio is the highest compression ratio of a part of more than 1 MiB. The default is 250.
	MaxRatio int64
	// MaxEntries is how many entries an archive may have. The default is 20,000.
	MaxEntries int
	// MaxNesting is how deep files may be nested, such as a mail in an archive in a mail. The default is 4.
	MaxNesting int
}

// WithDefaults returns the limits with defaults for zero fields.
func (l Limits) WithDefaults() Limits {
	setDefault := func(field *int, value int) {
		if *field <= 0 {
			*field = value
		}
	}
	setDefault(&l.MaxBytes, 32<<20)
	setDefault(&l.MaxText, 64<<20)
	setDefault(&l.MaxDepth, 256)
	setDefault(&l.MaxPages, 5000)
	setDefault(&l.MaxEntries, 20_000)
	setDefault(&l.MaxNesting, 4)
	if l.MaxExpanded <= 0 {
		l.MaxExpanded = 512 << 20
	}
	if l.MaxRatio <= 0 {
		l.MaxRatio = 250
	}
	return l
}

// A Budget counts the bytes that are expanded while a file is read, including attachments and entries. It is not safe
// for concurrent use.
type Budget struct {
	limits Limits
	spent  int64
}

// NewBudget returns the budget of a file.
func NewBudget(limits Limits) *Budget { return &Budget{limits: limits.WithDefaults()} }

// Spend counts n expanded bytes. The error is a *LimitError if the budget is spent.
func (b *Budget) Spend(n int64) error {
	b.spent += n
	if b.spent > b.limits.MaxExpanded {
		return &LimitError{Detail: fmt.Sprintf("what is compressed in the file has more than %d MiB", b.limits.MaxExpanded>>20)}
	}
	return nil
}

// CheckRatio returns a *LimitError if the compression ratio of a part is too high.
func (b *Budget) CheckRatio(expanded, compressed int64) error {
	if expanded > 1<<20 && expanded/b.limits.MaxRatio > compressed {
		return &LimitError{Detail: fmt.Sprintf("a compressed part is more than %d times its size when expanded", b.limits.MaxRatio)}
	}
	return nil
}
