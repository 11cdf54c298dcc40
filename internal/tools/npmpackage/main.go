// Command npmpackage writes the files of the npm package magpie-search to a folder. Its
// working directory must be the root of the module, whose license the package has. The
// second argument is the version, 0.0.0 by default.
package main

import (
	"log"
	"os"
	"path/filepath"

	"github.com/magpie-search/magpie/rest/widget"
)

func main() {
	log.SetFlags(0)
	if err := run(os.Args[1:]); err != nil {
		log.Fatal(err)
	}
}

func run(arguments []string) error {
	if len(arguments) == 0 {
		log.Fatal("usage: npmpackage FOLDER [VERSION]")
	}
	version := "0.0.0"
	if len(arguments) > 1 {
		version = arguments[1]
	}
	files, err := widget.Package(version)
	if err != nil {
		return err
	}
	if files["LICENSE"], err = os.ReadFile("LICENSE"); err != nil {
		return err
	}
	if err := os.MkdirAll(arguments[0], 0o755); err != nil { //nolint:gosec // nothing in it is secret
		return err
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(arguments[0], name), content, 0o644); err != nil { //nolint:gosec // nothing in it is secret
			return err
		}
	}
	return nil
}
