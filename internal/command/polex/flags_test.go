package polex_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/command/polex"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// foreign are flags of other commands and programs that pages name without them.
var foreign = []string{
	"--signed", "--config", "--policies", "--changed-since", "--enforce-existing", // of another command than that of the page
	"--output-format", "--enablePolicyException", "--exceptionNamespace", "--allowedResults", // of Kyverno
	"--tarball", "--root", "--admission-control-config-file", "--feature-gates", "--take-ownership", // of kubectl sigstore, the API server and Helm
}

// A call is a program with its arguments, up to the end of the command. A span is a flag alone.
var (
	call = regexp.MustCompile(`(?:^|[\s` + "`" + `(/])polex[- ]([a-z]+)( [^` + "`" + `|;&$]*)?`)
	span = regexp.MustCompile("`(--[a-z][A-Za-z-]*)")
	name = regexp.MustCompile(`(?:^|\s)(--[a-z][a-z-]*)`)
)

// TestFlagsInPages: each flag of polex that a page, a script, a workflow or a manifest passes or
// names is a flag of that command.
func TestFlagsInPages(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	program := polex.Named("polex")(cli.Streams{})
	listed := must.Get(exec.Command("git", "-C", root, "ls-files", "-z", "--", "README.md", "docs", "demo",
		"policies", "examples", "actions", ".github").Output())(t)
	calls, spans := 0, 0
	for path := range strings.SplitSeq(strings.TrimSuffix(string(listed), "\x00"), "\x00") {
		raw := must.Get(os.ReadFile(filepath.Join(root, path)))(t)
		text := strings.ReplaceAll(string(raw), "\\\n", " ")
		for _, m := range call.FindAllStringSubmatch(text, -1) {
			line, _, _ := strings.Cut(m[2], "\n")
			cmd, _, err := program.Find(append([]string{m[1]}, strings.Fields(line)...))
			if err != nil || cmd == program || strings.Contains(m[0], "polex-trust") {
				continue // a name such as polex-system, or the ConfigMap polex-trust
			}
			isTold := strings.Contains(cmd.Use, "COMMAND") // a text about all its commands
			for _, flag := range name.FindAllStringSubmatch(line, -1) {
				if calls++; !has(flag[1])(cmd) && (!isTold || !below(has(flag[1]))(cmd)) {
					t.Errorf("%s: %s has no flag %s", path, cmd.CommandPath(), flag[1])
				}
			}
		}
		if !strings.HasPrefix(path, "docs/") {
			continue
		}
		commands := program.Commands()
		if cmd, _, err := program.Find([]string{strings.TrimSuffix(filepath.Base(path), ".md")}); err == nil && cmd != program {
			commands = []*cobra.Command{cmd} // its page
		}
		for _, m := range span.FindAllStringSubmatch(text, -1) {
			if spans++; !slices.Contains(foreign, m[1]) && !slices.ContainsFunc(commands, below(has(m[1]))) {
				t.Errorf("%s: no flag %s", path, m[1])
			}
		}
	}
	expect.That(t, calls >= 50 && spans >= 100, "%d flags in commands and %d alone are not all of them", calls, spans)
}

// has returns a test whether a command has a flag.
func has(flag string) func(*cobra.Command) bool {
	return func(cmd *cobra.Command) bool {
		return slices.Contains([]string{"--help", "--version"}, flag) || cmd.Flag(strings.TrimPrefix(flag, "--")) != nil
	}
}

// below returns a test of a command and those below it.
func below(is func(*cobra.Command) bool) func(*cobra.Command) bool {
	return func(cmd *cobra.Command) bool { return is(cmd) || slices.ContainsFunc(cmd.Commands(), below(is)) }
}

// policyFlags change the trust policy.
var policyFlags = []string{"allow-unbounded", "certificate-identity", "certificate-identity-regexp",
	"certificate-oidc-issuer", "kinds", "max-lifetime", "trusted-root"}

// TestPolicyFlags: only plain polex-sign and polex-verify have flags that change the trust policy.
// The others read it from the configuration.
func TestPolicyFlags(t *testing.T) {
	have := map[string][]string{"key": {"polex sign", "polex promote", "polex sign promote", "polex verify"}}
	for _, flag := range policyFlags {
		have[flag] = []string{"polex sign", "polex verify"}
	}
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		for flag, commands := range have {
			expect.Is(t, fmt.Sprintf("%s has --%s", cmd.CommandPath(), flag),
				slices.Contains(commands, cmd.CommandPath()), cmd.Flags().Lookup(flag) != nil)
		}
		for _, c := range cmd.Commands() {
			walk(c)
		}
	}
	walk(polex.Named("polex")(cli.Streams{}))
}

// TestRemovedFlags: a flag that a command no longer has is an error that names its replacement.
func TestRemovedFlags(t *testing.T) {
	removed := map[string][]string{}
	for _, flag := range policyFlags {
		removed[flag] = []string{"promote", "audit", "audit notify", "trust explain"}
	}
	removed["key"] = []string{"audit", "audit notify", "trust explain"}
	for _, flag := range []string{"allow-unbounded", "max-lifetime"} {
		removed[flag] = append(removed[flag], "validate", "request")
	}
	for _, flag := range []string{"author", "dry-run", "push-attempts", "remote", "sign-commit"} {
		removed[flag] = []string{"promote", "prune"}
	}
	removed["color"] = []string{"validate", "verify", "sign", "prune", "adopt", "request", "guard check", "audit notify"}
	removed["timeout"] = []string{"audit notify"}
	for _, flag := range []string{"accept-rewritten", "cache-dir", "no-cache", "policy-threshold"} {
		removed[flag] = []string{"audit"}
	}
	removed["reload-interval"] = []string{"guard serve"}
	removed["webhook-name"] = []string{"guard serve", "guard check"}
	removed["directory"] = []string{"audit", "audit notify"}
	removed["github-repository"] = []string{"audit notify"}
	removed["rekor-versions"] = []string{"sandbox run", "sandbox serve"}
	removed["concurrency"] = []string{"sign", "promote"}
	for flag, commands := range removed {
		for _, command := range commands {
			var out bytes.Buffer
			args := append(strings.Fields(command), "--"+flag+"=x")
			streams := cli.Streams{In: &out, Out: &out, Err: &out, Now: time.Now}
			status := cli.Run(context.Background(), polex.Named("polex"), args, streams)
			expect.That(t, status == cli.Usage && strings.Contains(out.String(), "unknown flag: --"+flag),
				"polex %s: exit code %d\n%s", args, status, out.String())
			_, hint, ok := strings.Cut(out.String(), "hint: ")
			expect.That(t, ok && !strings.HasPrefix(hint, "run ") && !strings.HasPrefix(hint, "did you mean"),
				"polex %s: no replacement in\n%s", args, out.String())
		}
	}
}
