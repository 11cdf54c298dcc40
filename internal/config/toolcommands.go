package config

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
)

var commandName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,39}$`)

// ToolCommands returns the tool servers that may be started as commands: by name, the
// program and its arguments. The setting is a list such as
// "files=/usr/bin/mcp-files /srv;time=/usr/bin/mcp-time". No shell reads it.
func (c *Config) ToolCommands() (map[string][]string, error) {
	out := map[string][]string{}
	for entry := range strings.SplitSeq(c.MCPStdioCommands, ";") {
		if strings.TrimSpace(entry) == "" {
			continue
		}
		name, command, _ := strings.Cut(strings.TrimSpace(entry), "=")
		name = strings.TrimSpace(name)
		words := strings.Fields(command)
		switch {
		case !commandName.MatchString(name):
			return nil, fmt.Errorf("must be name=program entries, separated by semicolons; a name has at most 40 lower-case letters, digits, hyphens and underscores")
		case len(words) == 0 || !filepath.IsAbs(words[0]):
			return nil, fmt.Errorf("the program of %s must be an absolute path", name)
		case out[name] != nil:
			return nil, fmt.Errorf("has %s twice", name)
		}
		out[name] = words
	}
	return out, nil
}
