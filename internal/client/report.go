package client

// A Reporter shows a person how far a long task is.
type Reporter interface {
	// Progress begins the display of a task.
	Progress(label string) Progress
	// Warn shows a line.
	Warn(format string, arguments ...any)
}

// Progress is the display of one task.
type Progress interface {
	// Show displays that done of total pieces are done. A total of 0 is unknown.
	Show(done, total int, note string)
	// Done ends the display. It shows a last line unless format is empty.
	Done(format string, arguments ...any)
}

// Silent is a Reporter that shows nothing.
type Silent struct{}

// Progress implements Reporter.
func (Silent) Progress(string) Progress { return silentProgress{} }

// Warn implements Reporter.
func (Silent) Warn(string, ...any) {}

type silentProgress struct{}

func (silentProgress) Show(int, int, string) {}
func (silentProgress) Done(string, ...any)   {}
