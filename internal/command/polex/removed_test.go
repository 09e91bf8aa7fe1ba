package polex_test

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/command/polex"
)

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
			if got := cmd.Flags().Lookup(flag) != nil; got != slices.Contains(commands, cmd.CommandPath()) {
				t.Errorf("%s has --%s: %v", cmd.CommandPath(), flag, got)
			}
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
			if status != cli.Usage || !strings.Contains(out.String(), "unknown flag: --"+flag) {
				t.Errorf("polex %s: exit code %d\n%s", args, status, out.String())
			}
			_, hint, ok := strings.Cut(out.String(), "hint: ")
			if !ok || strings.HasPrefix(hint, "run ") || strings.HasPrefix(hint, "did you mean") {
				t.Errorf("polex %s: no replacement in\n%s", args, out.String())
			}
		}
	}
}
