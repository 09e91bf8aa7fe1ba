package cli

import (
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
		return UsageHint("write ./"+name+" for the file", "%q is the name of a command and of a file", name)
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

const inTrustPolicy = "the section trust of the configuration (--config) says it"

const nothingKept = "nothing is kept between runs: --previous names the last commit of an earlier report"

// instead has the hints for flags that a command does not have, or no longer: what to use instead.
var instead = map[string]string{
	"allow-unbounded":             inTrustPolicy + ": allowUnbounded",
	"certificate-identity":        inTrustPolicy + ": authorities, with issuer and subject",
	"certificate-identity-regexp": inTrustPolicy + ": authorities, with issuer and subjectRegexp",
	"certificate-oidc-issuer":     inTrustPolicy + ": authorities, with issuer and subject",
	"key":                         inTrustPolicy + ": authorities, with keyFile",
	"kinds":                       inTrustPolicy + ": kinds",
	"max-lifetime":                inTrustPolicy + ": maxLifetime",
	"trusted-root":                inTrustPolicy + ": trustedRoot",

	"accept-rewritten":  "leave out --previous",
	"author":            "git config user.name and user.email, or GIT_AUTHOR_NAME and GIT_AUTHOR_EMAIL",
	"cache-dir":         nothingKept,
	"color":             "a terminal gets colors, except with NO_COLOR=1 or TERM=dumb",
	"concurrency":       "8 documents are signed at once",
	"directory":         "the configuration says it: directories.signed and directories.unsigned",
	"f":                 "give files and folders without a flag",
	"filename":          "give files and folders without a flag",
	"dry-run":           "polex promote and polex prune change nothing without --commit, --push or another destination",
	"github-repository": "set GITHUB_REPOSITORY",
	"no-cache":          nothingKept,
	"policy-threshold":  "the report lists the policies with the most open exceptions first",
	"pull-request-mode": "--pull-request",
	"push-attempts":     "a push is tried 10 times",
	"rekor-versions":    "both versions of Rekor run",
	"reload-interval":   "the guard reads its files every 5 seconds",
	"remote":            "git config branch.NAME.remote",
	"sign-commit":       "git config commit.gpgSign true",
	"timeout":           "a recipient of notifications has 3 minutes",
	"webhook-name":      "the ValidatingWebhookConfiguration is called polex-guard",
}
