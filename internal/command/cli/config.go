package cli

import (
	"errors"
	"io/fs"

	"github.com/spf13/pflag"

	"github.com/polex-dev/polex/internal/config"
	"github.com/polex-dev/polex/pkg/exception"
)

// AddConfigFlag adds the flag --config to a command that uses [LoadRepositoryConfig].
func AddConfigFlag(flags *pflag.FlagSet, path *string) {
	flags.StringVar(path, "config", "", "configuration `file` (default: "+config.Name+" of the repository)")
}

// LoadConfig is [config.Load] with usage errors.
func LoadConfig(path string) (*config.Config, error) {
	cfg, err := config.Load(path)
	return cfg, inFile(err, path)
}

// LoadRepositoryConfig is [config.LoadRepository] with usage errors.
func LoadRepositoryConfig(path string) (*config.Config, error) {
	cfg, err := config.LoadRepository(path)
	return cfg, inFile(err, path)
}

// inFile is InConfig for the file that --config names.
func inFile(err error, path string) error {
	if path != "" && errors.Is(err, fs.ErrNotExist) {
		return &UsageError{Err: err, Hint: "name an existing file with --config"}
	}
	return InConfig(err)
}

// InConfig converts an error in the configuration to a [UsageError] with its hint. nil stays nil.
func InConfig(err error) error {
	if err == nil {
		return nil
	}
	usage := &UsageError{Err: err}
	var syntax *exception.SyntaxError
	if errors.As(err, &syntax) {
		usage.Hint = syntax.Hint
	}
	return usage
}
