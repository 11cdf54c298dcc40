package gitwire

// ParsePack parses a pack.
func ParsePack(data []byte, maxInflated int) error {
	_, err := parsePack(data, maxInflated)
	return err
}
