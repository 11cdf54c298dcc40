package compose

// Bounds that readers of text formats share. They keep a hostile file from costing much more than its size.
const (
	// MaxLines is how many lines a text may have if its reader builds a tree of it.
	MaxLines = 500_000
	// MaxNesting is how deep lists and quotations keep their structure.
	MaxNesting = 32
	// MaxHeading is the longest text, in bytes, that becomes a heading.
	MaxHeading = 1000
	// MaxInlineSpan is how far, in bytes, the end of inline markup may be from its start.
	MaxInlineSpan = 4000
	// MaxTableCells is how many cells a file may have. A row counts as one more cell.
	MaxTableCells = 8 << 20
	// MaxNames is how many labels, link targets or footnotes of a file are kept.
	MaxNames = 50_000
	// MaxFacts is how many facts about itself a file may state, MaxListItems how many items a list among them has, and
	// MaxNameBytes the longest name.
	MaxFacts     = 50
	MaxListItems = 50
	MaxNameBytes = 200
)
