package config

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/caarlos0/env/v11"

	"github.com/magpie-search/magpie/internal/config/namedfile"
)

// A Source says where settings come from.
type Source struct {
	// Flags are settings of the command line by name. They have the highest
	// precedence.
	Flags map[string]string
	// Environment has the form of os.Environ; nil is that of the process.
	Environment []string
	// File is a file of NAME=value lines, after the environment in precedence; empty
	// is none.
	File string
	// Defaults are settings by name that replace the defaults of Config.
	Defaults map[string]string
}

// Load returns a valid Config. An error has the name of the setting and no secret.
func Load(s Source) (*Config, error) {
	values := map[string]string{}
	maps.Copy(values, s.Defaults)
	if s.File != "" {
		if err := readFile(s.File, values); err != nil {
			return nil, err
		}
	}
	environment := s.Environment
	if environment == nil {
		environment = os.Environ()
	}
	for _, entry := range environment {
		// An empty variable counts as not set.
		if name, value, _ := strings.Cut(entry, "="); value != "" {
			values[name] = value
		}
	}
	maps.Copy(values, s.Flags)
	c := &Config{}
	if err := env.ParseWithOptions(c, env.Options{Environment: values}); err != nil {
		return nil, nameSetting(err)
	}
	if err := c.Validate(); err != nil {
		return nil, err
	}
	var err error
	if c.OAuthClients, err = oauthClients(values); err != nil {
		return nil, err
	}
	if c.EmbeddingModels, err = c.embeddingModels(values); err != nil {
		return nil, err
	}
	if c.ChatModels, err = c.chatModels(values); err != nil {
		return nil, err
	}
	return c, nil
}

// Names returns the names of all settings in the order of Config.
func Names() []string {
	fields := reflect.VisibleFields(reflect.TypeFor[Config]())
	names := make([]string, 0, len(fields))
	for _, field := range fields {
		if name := field.Tag.Get("env"); name != "-" {
			names = append(names, name)
		}
	}
	return append(names, oauthNames()...)
}

// nameSetting replaces the field of the struct in an error with the name of the
// setting.
func nameSetting(err error) error {
	var all env.AggregateError
	if errors.As(err, &all) && len(all.Errors) > 0 {
		err = all.Errors[0]
	}
	var parse env.ParseError
	if !errors.As(err, &parse) {
		return fmt.Errorf("read the settings: %w", err)
	}
	name := parse.Name
	if field, found := reflect.TypeFor[Config]().FieldByName(parse.Name); found {
		name = field.Tag.Get("env")
	}
	return fmt.Errorf("%s: %w", name, parse.Err)
}

// readNamed reads a file. Every error has its path.
func readNamed(path string) ([]byte, error) {
	file, err := namedfile.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // only read
	content, err := namedfile.ReadAll(file, maxConfigFile)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return content, nil
}

// readFile reads a settings file into values.
func readFile(path string, values map[string]string) error {
	content, err := readNamed(path)
	if err != nil {
		return fmt.Errorf("read the settings file: %w", err)
	}
	names := Names()
	for number, line := range strings.Split(string(content), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, value, found := strings.Cut(strings.TrimPrefix(line, "export "), "=")
		name = strings.TrimSpace(name)
		switch {
		case !found:
			return fmt.Errorf("settings file %s, line %d: write NAME=value", path, number+1)
		case !slices.Contains(names, name):
			return fmt.Errorf("settings file %s, line %d: there is no setting %q", path, number+1, name)
		}
		values[name] = unquote(strings.TrimSpace(value))
	}
	return nil
}

// unquote removes one pair of quotes, like a shell.
func unquote(value string) string {
	for _, quote := range []string{`"`, `'`} {
		if len(value) >= 2 && strings.HasPrefix(value, quote) && strings.HasSuffix(value, quote) {
			return value[1 : len(value)-1]
		}
	}
	return value
}

func contains(list []string, text string) bool { return slices.Contains(list, text) }

func trimSlash(address string) string { return strings.TrimRight(address, "/") }
