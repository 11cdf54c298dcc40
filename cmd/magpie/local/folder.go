package local

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/magpie-search/magpie/testdata/demo"
)

// DefaultName is the default name of the data folder.
const DefaultName = ".magpie"

// Files of a data folder.
const (
	secretsFile = "secrets.json"
	runFile     = "run.json"
	lockFile    = "run.lock"
	devFile     = "dev.json"
	logFile     = "magpie.log"
	// markFile says that the other names in the folder are Magpie's.
	markFile = ".magpie-data"
)

const privateMode = 0o600

// Folder is a data folder.
type Folder struct{ path string }

// Make opens the data folder at path, and creates it when it is missing. The default
// path is .magpie in the working directory. A folder that has a file or folder of a name that
// Magpie uses, but that Magpie did not make, is an error: Magpie would overwrite or delete it.
func Make(path string) (*Folder, error) {
	if path == "" {
		path = DefaultName
	}
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("data folder %s: %w", path, err)
	}
	// The private services may run as another user, who must be able to enter.
	// Secret files have their own permissions.
	if err := os.MkdirAll(absolute, 0o755); err != nil { //nolint:gosec // see above
		return nil, fmt.Errorf("create data folder: %w", err)
	}
	f := &Folder{path: absolute}
	return f, f.claim()
}

// names are the names that Magpie uses in a data folder, but for the mark.
func (f *Folder) names() []string {
	return []string{f.Services(), f.Blobs(), f.S3(), f.Demo(), demo.Mark(f.Demo()), f.Fakes(), f.file(secretsFile), f.file(runFile), f.file(devFile), f.Log(), f.file(lockFile)}
}

// claim marks the folder as Magpie's.
func (f *Folder) claim() error {
	if exists(f.file(markFile)) {
		return nil
	}
	// Another process may have claimed it in the meantime.
	if foreign := f.foreign(); len(foreign) > 0 && !exists(f.file(markFile)) {
		return fmt.Errorf("%s has %s, which Magpie did not make and would overwrite; choose another folder with --data", f.path, strings.Join(foreign, ", "))
	}
	if err := os.WriteFile(f.file(markFile), []byte("A data folder of Magpie.\n"), privateMode); err != nil {
		return fmt.Errorf("mark data folder: %w", err)
	}
	return nil
}

// foreign returns what has a name that Magpie uses in a folder that Magpie did not make.
func (f *Folder) foreign() []string {
	var s Secrets
	if found, err := f.read(secretsFile, &s); exists(f.file(markFile)) || filepath.Base(f.path) == DefaultName ||
		exists(filepath.Join(filepath.Dir(f.path), markFile)) || // a folder of a benchmark in a data folder
		err == nil && found && s.SessionKey != "" && s.SealingKeys != "" && s.AdminEmail != "" {
		return nil
	}
	var out []string
	for _, path := range f.names() {
		if exists(path) {
			out = append(out, filepath.Base(path))
		}
	}
	return out
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// ErrNone is the error of Find without a data folder.
var ErrNone = errors.New("no data folder")

// Find opens an existing data folder: the one at path or, with an empty path, .magpie
// in the working directory or a folder above.
func Find(path string) (*Folder, error) {
	if path != "" {
		absolute, err := filepath.Abs(path)
		if err != nil {
			return nil, fmt.Errorf("data folder %s: %w", path, err)
		}
		if !isFolder(absolute) {
			return nil, ErrNone
		}
		return &Folder{path: absolute}, nil
	}
	directory, err := os.Getwd()
	if err != nil {
		return nil, fmt.Errorf("find data folder: %w", err)
	}
	for {
		if candidate := filepath.Join(directory, DefaultName); isFolder(candidate) {
			return &Folder{path: candidate}, nil
		}
		parent := filepath.Dir(directory)
		if parent == directory {
			return nil, ErrNone
		}
		directory = parent
	}
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// Path returns the absolute path of the folder.
func (f *Folder) Path() string { return f.path }

// Services returns the folder of the private PostgreSQL and Redis.
func (f *Folder) Services() string { return filepath.Join(f.path, "services") }

// Blobs returns the folder of uploaded files.
func (f *Folder) Blobs() string { return filepath.Join(f.path, "blobs") }

// S3 returns the folder of the demo's S3 server.
func (f *Folder) S3() string { return filepath.Join(f.path, "s3") }

// Log returns the log file of a background process.
func (f *Folder) Log() string { return filepath.Join(f.path, logFile) }

// Demo is the folder of the demo documents.
func (f *Folder) Demo() string { return filepath.Join(f.path, "demo") }

// Fakes returns the folder of the settings of stand-ins for platforms.
func (f *Folder) Fakes() string { return filepath.Join(f.path, "fakes") }

// DevPath returns the path of dev.json.
func (f *Folder) DevPath() string { return filepath.Join(f.path, devFile) }

func (f *Folder) file(name string) string { return filepath.Join(f.path, name) }

// read decodes a JSON file, and reports whether it exists.
func (f *Folder) read(name string, into any) (found bool, err error) {
	content, err := os.ReadFile(f.file(name))
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read data folder: %w", err)
	}
	if err := json.Unmarshal(content, into); err != nil {
		return false, fmt.Errorf("%s is damaged (%w); remove it if the data folder has no valuable data", f.file(name), err)
	}
	return true, nil
}

// write replaces a JSON file atomically.
func (f *Folder) write(name string, value any) error {
	content, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return fmt.Errorf("write data folder: %w", err)
	}
	temporary, err := os.CreateTemp(f.path, name+".*") // mode 0600
	if err != nil {
		return fmt.Errorf("write data folder: %w", err)
	}
	_, err = temporary.Write(append(content, '\n'))
	err = errors.Join(err, temporary.Close())
	if err == nil {
		err = os.Rename(temporary.Name(), f.file(name))
	}
	if err != nil {
		return fmt.Errorf("write data folder: %w", errors.Join(err, os.Remove(temporary.Name())))
	}
	return nil
}

func (f *Folder) remove(name string) error {
	if err := os.Remove(f.file(name)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("clean data folder: %w", err)
	}
	return nil
}

// Purge deletes Magpie's files in the folder. Other files stay. It is an error, and everything
// stays, if files have Magpie's names but Magpie did not make the folder.
func (f *Folder) Purge() error {
	if foreign := f.foreign(); len(foreign) > 0 {
		return fmt.Errorf("delete data folder: %s has %s, which Magpie did not make; nothing was deleted", f.path, strings.Join(foreign, ", "))
	}
	for _, path := range append(f.names(), f.file(markFile)) {
		if err := os.RemoveAll(path); err != nil {
			return fmt.Errorf("delete data folder: %w", err)
		}
	}
	return nil
}
