package cli

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// checkReserved rejects a path that cobra takes for a command of every program. A list of changed
// files can begin with a file called help: the program would describe itself and exit with 0, as if
// it had read the files.
func checkReserved(root *cobra.Command, args []string) error {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd(args...)
	cmd, rest, err := root.Find(args)
	if err != nil {
		return nil //nolint:nilerr // cobra says so
	}
	top := cmd
	for top.HasParent() && top.Parent() != root {
		top = top.Parent()
	}
	name := "" // from the lists below, so an argument never chooses the file
	if at := slices.IndexFunc(shellCompletion, func(name string) bool { return slices.Contains(args, name) }); at >= 0 {
		name = shellCompletion[at]
	} else if at := slices.Index(standard, top.Name()); at >= 0 && top != root {
		name = standard[at]
	}
	if _, err := os.Lstat(name); name != "" && err == nil && strings.Contains(root.Use, "PATH") {
		return &UsageError{Err: fmt.Errorf("%q is the name of a command and of a file", name),
			Hint: "write ./" + name + " for the file"}
	}
	words := slices.DeleteFunc(slices.Clone(rest), func(arg string) bool { return strings.HasPrefix(arg, "-") })
	switch name {
	case "help":
		topic, unknown, err := root.Find(words)
		if err != nil {
			topic, unknown = root, words
		}
		return UnknownCommand(topic, unknown)
	case "completion":
		return UnknownCommand(cmd, words)
	}
	return nil
}

// standard are the commands of every program.
var standard = []string{"completion", "help", "version"}

// shellCompletion are the commands by which a shell asks a program for completion.
var shellCompletion = []string{cobra.ShellCompRequestCmd, cobra.ShellCompNoDescRequestCmd}
