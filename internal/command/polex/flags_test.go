package polex_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/polex-dev/polex/internal/command/adopt"
	"github.com/polex-dev/polex/internal/command/audit"
	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/command/guard"
	"github.com/polex-dev/polex/internal/command/polex"
	"github.com/polex-dev/polex/internal/command/prune"
	"github.com/polex-dev/polex/internal/command/request"
	"github.com/polex-dev/polex/internal/command/sandbox"
	"github.com/polex-dev/polex/internal/command/sign"
	"github.com/polex-dev/polex/internal/command/trust"
	"github.com/polex-dev/polex/internal/command/validate"
	"github.com/polex-dev/polex/internal/command/verify"
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
// names is a flag of that command. The README names every command.
func TestFlagsInPages(t *testing.T) {
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
		if path == "README.md" {
			for name := range programs {
				expect.Contains(t, strings.ReplaceAll(text, "`polex ", "`polex-"), "`"+name)
			}
		} else if !strings.HasPrefix(path, "docs/") {
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
	for _, removed := range []struct {
		flags    []string
		commands []string
	}{
		{policyFlags, []string{"promote", "audit", "audit notify", "trust explain"}},
		{[]string{"key"}, []string{"audit", "audit notify", "trust explain"}},
		{[]string{"allow-unbounded", "max-lifetime"}, []string{"validate", "request"}},
		{[]string{"author", "dry-run", "push-attempts", "remote", "sign-commit"}, []string{"promote", "prune"}},
		{[]string{"color"}, []string{"validate", "verify", "sign", "prune", "adopt", "request", "guard check", "audit notify"}},
		{[]string{"timeout"}, []string{"audit notify"}},
		{[]string{"accept-rewritten", "cache-dir", "no-cache", "policy-threshold"}, []string{"audit"}},
		{[]string{"reload-interval"}, []string{"guard serve"}},
		{[]string{"webhook-name"}, []string{"guard serve", "guard check"}},
		{[]string{"directory"}, []string{"audit", "audit notify"}},
		{[]string{"github-repository"}, []string{"audit notify"}},
		{[]string{"rekor-versions"}, []string{"sandbox run", "sandbox serve"}},
		{[]string{"concurrency"}, []string{"sign", "promote"}},
	} {
		for _, flag := range removed.flags {
			for _, command := range removed.commands {
				var out bytes.Buffer
				args := append(strings.Fields(command), "--"+flag+"=x")
				status := cli.Run(context.Background(), polex.Named("polex"), args, cli.Streams{In: &out, Out: &out, Err: &out, Now: time.Now})
				expect.That(t, status == cli.Usage && strings.Contains(out.String(), "unknown flag: --"+flag),
					"polex %s: exit code %d\n%s", args, status, out.String())
				_, hint, ok := strings.Cut(out.String(), "hint: ")
				expect.That(t, ok && !strings.HasPrefix(hint, "run ") && !strings.HasPrefix(hint, "did you mean"),
					"polex %s: no replacement in\n%s", args, out.String())
			}
		}
	}
}

var root = filepath.Join("..", "..", "..")

var programs = map[string]func(cli.Streams) *cobra.Command{
	"polex": polex.Named("polex"), "polex-adopt": adopt.New, "polex-audit": audit.New, "polex-guard": guard.New,
	"polex-prune":   prune.New,
	"polex-request": request.New, "polex-sandbox": sandbox.New, "polex-sign": sign.New, "polex-trust": trust.New,
	"polex-validate": validate.New, "polex-verify": verify.New,
}

// TestShownCommands: each command of polex in a page, an example, a help, a policy or an action has flags
// that exist, with values of their types. It also reads the blocks that no test runs.
func TestShownCommands(t *testing.T) {
	fenced := regexp.MustCompile("(?ms)^ *```(?:sh|bash|console|yaml)\n(.*?)^ *```")
	parsed := 0
	check := func(from, text string) {
		for _, words := range shown(text) {
			parsed++
			err := parse(words)
			expect.That(t, err == nil, "%s: %s: %v", from, strings.Join(words, " "), err)
		}
	}
	var examples func(*cobra.Command)
	examples = func(cmd *cobra.Command) {
		check(cmd.CommandPath(), cmd.Example)
		for _, below := range cmd.Commands() {
			examples(below)
		}
	}
	for _, constructor := range programs {
		examples(constructor(cli.Streams{}))
	}
	for _, folder := range []string{"docs", "examples", "policies", "actions", "charts", "README.md"} {
		must.Do(t, filepath.WalkDir(filepath.Join(root, folder), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			raw, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			texts := []string{string(raw)}
			switch filepath.Ext(path) {
			case ".md":
				texts = nil
				for _, m := range fenced.FindAllStringSubmatch(string(raw), -1) {
					texts = append(texts, m[1])
				}
			case ".sh", ".yaml", ".yml":
			default:
				return nil
			}
			for _, text := range texts {
				check(path, text)
			}
			return nil
		}))
	}
	expect.That(t, parsed >= 150, "found only %d commands", parsed)
}

var (
	begins = regexp.MustCompile(`^(?:- )?(?:run: |exec |if |! |\$ )*(?:[A-Z_]+=\S* )*(?:kubectl )?` +
		`(?:\./)?(?:bin/)?polex(?:-[a-z]+)?(?: |$)`)
	program = regexp.MustCompile(`^(?:\./)?(?:bin/)?(polex(?:-[a-z]+)?)$`)
)

// shown returns the commands of polex in a text, as words.
func shown(text string) (commands [][]string) {
	text = strings.ReplaceAll(text, "\\\n", " ")
	for line := range strings.Lines(text) {
		for segment := range strings.SplitSeq(operators.Replace(line), "\x00") {
			if segment = strings.TrimSpace(segment); !begins.MatchString(segment) {
				continue
			}
			words := split(segment)
			at := slices.IndexFunc(words, program.MatchString)
			if at < 0 {
				continue
			}
			words = words[at:]
			if end := slices.Index(words, "--"); end >= 0 && end+1 < len(words) && program.MatchString(words[end+1]) {
				commands, words = append(commands, words[end+1:]), words[:end]
			}
			commands = append(commands, words)
		}
	}
	return commands
}

var operators = strings.NewReplacer(" | ", "\x00", " && ", "\x00", " || ", "\x00", "; ", "\x00", "$(", "\x00",
	" #", "\x00#", ")\"", "\x00")

// split splits a line into words and removes quotes and redirections.
func split(line string) (words []string) {
	word, quote, any := "", rune(0), false
	for _, c := range line + " " {
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			word += string(c)
		case c == '\'' || c == '"':
			quote, any = c, true
		case c == ' ' || c == '\t':
			if word != "" || any {
				words = append(words, word)
			}
			word, any = "", false
		default:
			word += string(c)
		}
	}
	if redirected := slices.IndexFunc(words, func(word string) bool {
		return regexp.MustCompile(`^[0-9&]*[<>]+&?[^<>]*$`).MatchString(word)
	}); redirected >= 0 {
		words = words[:redirected]
	}
	return words
}

// parse returns an error for an unknown program, command or flag, or a value of another type.
func parse(words []string) error {
	name := program.FindStringSubmatch(words[0])[1]
	constructor, known := programs[name]
	if !known {
		return errors.New("unknown program")
	}
	cmd, rest, err := constructor(cli.Streams{}).Find(words[1:])
	if err != nil {
		return err
	}
	builtIn := []string{"version", "--version", "completion", "help", "--help"}
	if name == "polex" && !cmd.HasParent() && len(rest) > 0 {
		if slices.Contains(builtIn, rest[0]) {
			return nil
		}
		return errors.New("unknown command")
	}
	cmd.InitDefaultHelpFlag()
	err = cmd.ParseFlags(rest)
	computed := slices.ContainsFunc(rest, func(word string) bool { return strings.ContainsAny(word, "$<{") })
	if errors.Is(err, pflag.ErrHelp) || err != nil && computed && !strings.Contains(err.Error(), "unknown") {
		return nil
	}
	policy := slices.ContainsFunc([]string{"config", "certificate-identity", "key", "help"}, cmd.Flags().Changed)
	if err == nil && cmd.Name() == strings.TrimPrefix("polex-verify", "polex-") && !policy {
		return errors.New("it names no trust policy")
	}
	return err
}
