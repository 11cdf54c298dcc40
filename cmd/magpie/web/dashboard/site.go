//go:build !nodashboard

package dashboard

import (
	"embed"
	"io/fs"
)

//go:embed all:dist
var dist embed.FS

// Site returns the built site. It reports false if the program was built without it.
func Site() (site fs.FS, ok bool) {
	site, err := fs.Sub(dist, "dist")
	return site, err == nil
}
