package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/polex-dev/polex/pkg/lifetime"
)

// repeats marks a flag value that may be given several times, in addition to pflag's lists.
type repeats interface{ Repeats() }

// MayBeEmpty marks flags for which an empty value has a meaning of its own.
func MayBeEmpty(flags *pflag.FlagSet, names ...string) {
	for _, name := range names {
		_ = flags.SetAnnotation(name, mayBeEmpty, nil)
	}
}

const mayBeEmpty = "polex_may_be_empty"

// CheckGiven rejects two mistakes that cobra accepts. An empty value usually comes from an unset
// variable in a script, and would act as if the flag were missing. If a flag with one value is
// given twice, only the last value would count. Cobra reports all other mistakes.
func CheckGiven(root *cobra.Command, args []string) error {
	if len(args) > 0 && slices.Contains(shellCompletion, args[0]) {
		return nil
	}
	cmd, rest, err := root.Find(args)
	if err != nil || cmd.DisableFlagParsing {
		return nil //nolint:nilerr // cobra says so
	}
	var wrong error
	met := map[string]string{}
	cmd.InheritedFlags() // adds the flags of the parent commands
	_ = cmd.Flags().ParseAll(rest, func(f *pflag.Flag, value string) error {
		before, again := met[f.Name]
		met[f.Name] = value
		_, list := f.Value.(pflag.SliceValue)
		_, several := f.Value.(repeats)
		_, empty := f.Annotations[mayBeEmpty]
		switch {
		case value == "" && !empty && (list || f.Value.Type() == "string"):
			wrong = UsageHint(fmt.Sprintf("set the variable that you pass, or leave --%s out", f.Name),
				"--%s is empty", f.Name)
		case again && !list && !several && (f.Value.Type() != "bool" || value != before):
			wrong = UsageHint(fmt.Sprintf("give it once; see %s --help", cmd.CommandPath()),
				"--%s is given twice, as %q and as %q, and accepts one value", f.Name, before, value)
		default:
			return nil
		}
		return wrong
	})
	if wrong != nil {
		return wrong
	}
	paths := cmd.Flags().Args()
	if dash := cmd.ArgsLenAtDash(); dash >= 0 {
		paths = paths[:dash]
	}
	if slices.Contains(paths, "") {
		return UsageHint("set the variable that you pass, or leave the argument out", "PATH is empty")
	}
	return nil
}

// Check makes a flag reject a wrong value, or a wrong item of a list, before anything else is read,
// with an error that names the flag. The error of check quotes the value.
func Check(flags *pflag.FlagSet, name string, check func(value string) error) {
	f := flags.Lookup(name)
	if list, ok := f.Value.(pflag.SliceValue); ok {
		f.Value = checkedList{checkedValue{f.Value, check}, list}
		return
	}
	f.Value = checkedValue{f.Value, check}
}

type checkedList struct {
	checkedValue
	pflag.SliceValue
}

type checkedValue struct {
	pflag.Value
	check func(string) error
}

func (v checkedValue) Set(value string) error {
	items := []string{value}
	if _, list := v.Value.(pflag.SliceValue); list {
		items = strings.Split(value, ",")
	}
	if value == "" {
		items = nil // CheckGiven decides about this one
	}
	for _, item := range items {
		if err := v.check(item); err != nil {
			return err
		}
	}
	return v.Value.Set(value)
}

// IsDuration is for [Check].
func IsDuration(text string) error {
	_, err := lifetime.ParseDuration(text)
	return err
}

// OneOf returns a check for [Check]: the value must be one of names.
func OneOf(names ...string) func(string) error {
	return func(name string) error {
		if slices.Contains(names, name) {
			return nil
		}
		return fmt.Errorf("%q is not one of %s", name, strings.Join(names, ", "))
	}
}

// expected are the values of a type of flags, for errors.
var expected = map[string]string{
	"bool": "true or false", "int": "a whole number", "duration": "a duration such as 90s or 5m",
}

// inFlag rewrites pflag's error about a value as "--flag: the problem".
func inFlag(err error) error {
	var invalid *pflag.InvalidValueError
	if !errors.As(err, &invalid) {
		return err
	}
	f := invalid.GetFlag()
	_, checked := f.Value.(checkedValue) // its error says more
	if want := expected[f.Value.Type()]; want != "" && !checked {
		return fmt.Errorf("--%s: %q is not %s", f.Name, invalid.GetValue(), want)
	}
	return fmt.Errorf("--%s: %w", f.Name, invalid.Unwrap())
}
