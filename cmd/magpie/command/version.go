package command

import "github.com/magpie-search/magpie/internal/system"

type versionCommand struct{}

// Run prints what the program was built from.
func (versionCommand) Run(r *runtime) error {
	b := system.ReadBuild()
	return r.console.Result(b, func() {
		r.console.Printf("magpie %s\n", b.Version)
		for _, line := range [][2]string{{"commit", b.Commit}, {"date", b.Date}, {"go", b.Go}} {
			if line[1] != "" {
				r.console.Printf("%-8s%s\n", line[0], line[1])
			}
		}
	})
}
