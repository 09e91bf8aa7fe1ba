package polex_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

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

var programs = map[string]func(cli.Streams) *cobra.Command{
	"polex": polex.Named("polex"), "polex-adopt": adopt.New, "polex-audit": audit.New, "polex-guard": guard.New,
	"polex-prune":   prune.New,
	"polex-request": request.New, "polex-sandbox": sandbox.New, "polex-sign": sign.New, "polex-trust": trust.New,
	"polex-validate": validate.New, "polex-verify": verify.New,
}

// TestShownCommands: each command of polex in a page, an example, a help, a policy or an action has flags
// that exist, with values of their types. It also reads the blocks that no test runs.
func TestShownCommands(t *testing.T) {
	root := filepath.Join("..", "..", "..")
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
