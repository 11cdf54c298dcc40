//go:build nodashboard

package dashboard

import "io/fs"

// Site reports false, since the program was built without the site.
func Site() (site fs.FS, ok bool) { return nil, false }
