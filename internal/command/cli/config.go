package cli

import (
	"errors"

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
	return cfg, InConfig(err)
}

// LoadRepositoryConfig is [config.LoadRepository] with usage errors.
func LoadRepositoryConfig(path string) (*config.Config, error) {
	cfg, err := config.LoadRepository(path)
	return cfg, InConfig(err)
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
