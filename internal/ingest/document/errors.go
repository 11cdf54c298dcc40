package document

// An UnsupportedError is returned for a file that is not read. Such a file is skipped. It has not failed.
type UnsupportedError struct {
	// Reason is shown to people: "format not supported: video/mp4", "binary content", "empty", "no text".
	Reason string
}

// Error returns the reason.
func (e *UnsupportedError) Error() string { return e.Reason }

// A LimitError is returned for a file that exceeds a limit.
type LimitError struct {
	// Detail is what exceeds which limit: "content is 40 MiB, the limit is 32 MiB".
	Detail string
}

// Error returns "too large" and the detail.
func (e *LimitError) Error() string { return "too large: " + e.Detail }

// An EncryptedError is returned for a file that needs a password.
type EncryptedError struct {
	// Format is what the file is: "PDF", "Word document".
	Format string
}

// Error returns the format and what to do.
func (e *EncryptedError) Error() string {
	return e.Format + " is encrypted: remove its password to have it indexed"
}

// A DamagedError is returned for a file that is invalid in its format.
type DamagedError struct {
	// Format is what the file is or should be: "PDF", "zip archive". Detail is what is wrong. It may be shown and
	// contains no text of the file. Cause is the error of the reader, if any.
	Format, Detail string
	Cause          error
}

// Error returns the format and the detail.
func (e *DamagedError) Error() string { return e.Format + " is damaged: " + e.Detail }

// Unwrap returns the cause.
func (e *DamagedError) Unwrap() error { return e.Cause }
