package command

import (
	"runtime/debug"

	"github.com/magpie-search/magpie/internal/system"
)

type versionCommand struct{}

// Run prints the version.
func (versionCommand) Run(r *runtime) error {
	v := map[string]string{"version": system.Version(), "go": "", "revision": ""}
	if info, ok := debug.ReadBuildInfo(); ok {
		v["go"] = info.GoVersion
		for _, setting := range info.Settings {
			if setting.Key == "vcs.revision" {
				v["revision"] = setting.Value
			}
		}
	}
	return r.console.Result(v, func() { r.console.Printf("magpie %s %s %s\n", v["version"], v["go"], v["revision"]) })
}
