package connectors

import "github.com/magpie-search/magpie/connectors/glob"

// CheckString returns an [Option].Check for a string.
func CheckString(check func(text string) error) func(value any) error {
	return func(value any) error {
		text, _ := value.(string)
		return check(text)
	}
}

// CheckStrings returns an [Option].Check for a list of strings.
func CheckStrings(check func(list []string) error) func(value any) error {
	return func(value any) error {
		list, _ := value.([]string)
		return check(list)
	}
}

// CheckEach returns an [Option].Check for a list, each string of which is checked.
func CheckEach(check func(text string) error) func(value any) error {
	return CheckStrings(func(list []string) error {
		for _, text := range list {
			if err := check(text); err != nil {
				return err
			}
		}
		return nil
	})
}

// CheckPatterns is an [Option].Check for a list of patterns of package glob.
func CheckPatterns(value any) error { return CheckEach(glob.Check)(value) }
