package command

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/magpie-search/magpie/cmd/magpie/local"
	"github.com/magpie-search/magpie/internal/testkit/sample"
)

// startFakes starts the stand-ins of platforms.
func startFakes(kinds []string) (fakes []*sample.Server, err error) {
	for _, kind := range kinds {
		fake, err := sample.Start(kind)
		if err != nil {
			closeFakes(fakes)
			return nil, err
		}
		fakes = append(fakes, fake)
	}
	return fakes, nil
}

func closeFakes(fakes []*sample.Server) {
	for _, fake := range fakes {
		fake.Close()
	}
}

// showFakes prints the config of a connector for each stand-in, and writes its
// credentials to a file that the printed command reads.
func (r *runtime) showFakes(folder *local.Folder, fakes []*sample.Server) error {
	if len(fakes) == 0 {
		return nil
	}
	if err := os.MkdirAll(folder.Fakes(), 0o700); err != nil {
		return fmt.Errorf("make the folder of stand-ins: %w", err)
	}
	for _, fake := range fakes {
		credentials, err := json.MarshalIndent(fake.Credentials, "", "  ")
		if err != nil {
			return fmt.Errorf("encode credentials: %w", err)
		}
		config, err := json.Marshal(fake.Config)
		if err != nil {
			return fmt.Errorf("encode a config: %w", err)
		}
		path := filepath.Join(folder.Fakes(), fake.Kind+".json")
		if err := os.WriteFile(path, credentials, 0o600); err != nil {
			return fmt.Errorf("write the credentials of a stand-in: %w", err)
		}
		r.console.Note("  stand-in      %s", fake.Kind)
		r.console.Note("  config        %s", config)
		r.console.Note("  credentials   %s", path)
		r.console.Note("  connect it    magpie connectors create --name %s --type %s --collection COLLECTION --option-json %s --credentials %s",
			fake.Kind, fake.Kind, shellWord(string(config)), shellWord(path))
		r.console.Note("")
	}
	return nil
}
