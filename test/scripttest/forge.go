package scripttest

import (
	"regexp"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/polex-dev/polex/internal/forge/githubtest"
)

// ForgeKey is the key of the running API in the values of a script: a new(*githubtest.Server).
type ForgeKey struct{}

// Forge is the script command
//
//	forge REMOTE [RULE...] [OPERATION=FAULT,...] [bypass=ANSWER]
//
// It starts the API of GitHub for a bare repository with rules for main, in place of an
// earlier one, and sets the environment of a workflow. Pull requests of an earlier
// one are lost.
func Forge(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 1 {
		ts.Fatalf("usage: forge remote [rule...] [operation=fault,...] [bypass=answer]")
	}
	var rules []string
	faults, bypass := map[string][]string{}, ""
	for _, arg := range args[1:] {
		switch name, value, fault := strings.Cut(arg, "="); {
		case name == "bypass":
			bypass = value
		case fault:
			faults[name] = strings.Split(value, ",")
		default:
			rules = append(rules, arg)
		}
	}
	server, err := githubtest.New(ts.MkAbs(args[0]), rules...)
	ts.Check(err)
	server.Faults, server.Bypass = faults, bypass
	ts.Defer(server.Close)
	*ts.Value(ForgeKey{}).(**githubtest.Server) = server
	for name, value := range map[string]string{
		"GITHUB_API_URL": server.URL, "GITHUB_REPOSITORY": githubtest.Repository, "GITHUB_TOKEN": githubtest.Token,
	} {
		ts.Setenv(name, value)
	}
}

// Pulls is the script command
//
//	pulls [REGEXP...]
//
// It compares the pull requests, each as "state head: title".
func Pulls(ts *testscript.TestScript, _ bool, args []string) {
	found := (*ts.Value(ForgeKey{}).(**githubtest.Server)).Pulls()
	ok := len(found) == len(args)
	for i := 0; ok && i < len(args); i++ {
		ok = regexp.MustCompile("^(?:" + args[i] + ")$").MatchString(found[i])
	}
	if !ok {
		ts.Fatalf("the pull requests are\n%s", strings.Join(found, "\n"))
	}
}

// Pull is the script command
//
//	pull REPOSITORY HEAD BASE
//
// It opens a pull request of somebody else.
func Pull(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: pull repository head base")
	}
	(*ts.Value(ForgeKey{}).(**githubtest.Server)).AddPull(args[0], args[1], args[2])
}
