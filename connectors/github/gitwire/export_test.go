package gitwire

// ParsePack reads a pack alone, for tests that make their own checksum.
func ParsePack(data []byte, most int) error {
	_, err := parse(data, most)
	return err
}
