package document

// UnsupportedError says that a file is not read, and why. It is no fault of the file: it is skipped, not failed.
type UnsupportedError struct {
	// Reason is for visitors to read: "format not supported: video/mp4", "binary content", "empty", "no text".
	Reason string
}

// Error returns the reason.
func (e *UnsupportedError) Error() string { return e.Reason }

// LimitError says that a file goes beyond a limit.
type LimitError struct {
	// What exceeds the limit, and the limit: "content is 40 MiB, the limit is 32 MiB".
	Detail string
}

// Error says "too large" and what is.
func (e *LimitError) Error() string { return "too large: " + e.Detail }

// EncryptedError says that a file can only be read with a password.
type EncryptedError struct {
	// Format is what the file is, "PDF" or "Word document".
	Format string
}

// Error says what to do about it.
func (e *EncryptedError) Error() string {
	return e.Format + " is encrypted: remove its password to have it indexed"
}

// DamagedError says that a file is not what its format asks for.
type DamagedError struct {
	// Format is what the file is or should be, "PDF" or "zip archive"; Detail what is wrong, in words that may be shown
	// and that quote no text of the file; Cause the reader's error, if there is one.
	Format, Detail string
	Cause          error
}

// Error says what is damaged, and how.
func (e *DamagedError) Error() string { return e.Format + " is damaged: " + e.Detail }

// Unwrap returns the cause.
func (e *DamagedError) Unwrap() error { return e.Cause }
