package weaviate

// What tests of this package need.
var (
	Encode     = encode
	ReadSearch = func(b []byte) error { _, err := readSearch(b); return err }
	ReadPut    = func(b []byte) error { _, err := readPut(b); return err }
	ReadDelete = func(b []byte) error { _, err := readDelete(b); return err }
)
