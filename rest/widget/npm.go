package widget

import (
	"embed"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

//go:embed package
var packaged embed.FS

// Package returns the files of the npm package magpie-search by name: the client, the
// widget as a module, their types, and what describes them. A version has the form 1.2.3.
func Package(version string) (map[string][]byte, error) {
	files := make(map[string][]byte)
	for _, name := range []string{"package.json", "README.md", "widget.d.ts"} {
		content, err := packaged.ReadFile("package/" + name)
		if err != nil {
			return nil, fmt.Errorf("read package: %w", err)
		}
		files[name] = content
	}
	files["package.json"] = []byte(strings.ReplaceAll(string(files["package.json"]), "0.0.0", version))
	for name, source := range map[string]string{"index.js": "client.js", "index.d.ts": "magpie.d.ts"} {
		content, err := asset(source)
		if err != nil {
			return nil, err
		}
		files[name] = content
	}
	// The module has the client from index.js, and places no widget by itself.
	code, err := joined(slices.DeleteFunc(parts(), func(name string) bool { return name == "client.js" }), regexp.MustCompile(`(?m)^start\(\);$`))
	if err != nil {
		return nil, err
	}
	files["widget.js"] = []byte("import { Magpie, MagpieError, ChatStream } from \"./index.js\";\n" + code + "export { mount };\n")
	return files, nil
}
