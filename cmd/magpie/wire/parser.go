package wire

import (
	"magpie/internal/config"
	"magpie/internal/ingest/parse"
)

// Parser makes the parser of documents that the settings ask for. The caller closes it.
func Parser(*config.Config) *parse.Parser { return parse.New(parse.Options{}) }
