package actions_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/polex-dev/polex/test/must"
)

type action struct {
	Inputs  map[string]struct{ Description, Default string }
	Outputs map[string]struct{ Description, Value string }
	Runs    struct {
		Using string
		Steps []struct {
			ID, Uses, Run, Shell string
			Env                  map[string]string
		}
	}
}

func actions(t *testing.T) map[string]action {
	t.Helper()
	files, err := filepath.Glob("../../actions/*/action.yml")
	if err != nil || len(files) == 0 {
		t.Fatal("there are no actions", err)
	}
	found := map[string]action{}
	for _, file := range files {
		raw := must.Get(os.ReadFile(file))(t)
		var a action
		if err := yaml.Unmarshal(raw, &a); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		found[filepath.Dir(file)] = a
	}
	return found
}

var pinned = regexp.MustCompile(`^[\w.-]+/[\w./-]+@[0-9a-f]{40}$`)

// TestNothingIsInterpolated: no script contains an expression. With one, the shell would run an
// input such as the name of a branch or a title.
func TestNothingIsInterpolated(t *testing.T) {
	for dir, a := range actions(t) {
		if a.Runs.Using != "composite" {
			t.Errorf("%s is not composite", dir)
		}
		for i, step := range a.Runs.Steps {
			if strings.Contains(step.Run, "${{") || strings.Contains(step.Shell, "${{") {
				t.Errorf("%s, step %d: an expression in a script", dir, i)
			}
			if step.Uses != "" && !pinned.MatchString(step.Uses) {
				t.Errorf("%s, step %d: %s is not pinned by its commit", dir, i, step.Uses)
			}
		}
	}
}

// TestInputsAndOutputsAreDocumented: the tables of the README name each input with its default, and
// each output. The action uses each of them.
func TestInputsAndOutputsAreDocumented(t *testing.T) {
	for dir, a := range actions(t) {
		readme := must.Get(os.ReadFile(filepath.Join(dir, "README.md")))(t)
		passed := map[string]bool{}
		steps := map[string]bool{}
		for _, step := range a.Runs.Steps {
			steps[step.ID] = true
			for _, value := range step.Env {
				passed[value] = true
			}
		}
		inputs, outputs := table(string(readme), "input"), table(string(readme), "output")
		for name, input := range a.Inputs {
			if input.Description == "" || inputs[name] == "" {
				t.Errorf("%s: the input %s is not described", dir, name)
			}
			if input.Default != "" && !strings.Contains(input.Default, "${{") && !strings.Contains(inputs[name], "`"+input.Default+"`") {
				t.Errorf("%s: the README does not give the default of %s", dir, name)
			}
			if !passed["${{ inputs."+name+" }}"] {
				t.Errorf("%s: the input %s is not passed on", dir, name)
			}
		}
		for name, output := range a.Outputs {
			if output.Description == "" || outputs[name] == "" {
				t.Errorf("%s: the output %s is not described", dir, name)
			}
			from := regexp.MustCompile(`^\$\{\{ steps\.([a-z]+)\.outputs\.` + name + ` \}\}$`).FindStringSubmatch(output.Value)
			if from == nil || !steps[from[1]] {
				t.Errorf("%s: the output %s is no step's", dir, name)
			}
		}
		if len(inputs) != len(a.Inputs) || len(outputs) != len(a.Outputs) {
			t.Errorf("%s: %d inputs and %d outputs, %d and %d documented", dir, len(a.Inputs), len(a.Outputs), len(inputs), len(outputs))
		}
	}
}

// table returns the rows of the table with a certain first word in its head, by the name in their
// first cell.
func table(readme, head string) map[string]string {
	rows := map[string]string{}
	_, below, _ := strings.Cut(readme, "\n| "+head+" |")
	for line := range strings.SplitSeq(below, "\n") {
		if line == "" {
			break
		}
		if row := regexp.MustCompile("^\\| `([a-z0-9-]+)` \\|").FindStringSubmatch(line); row != nil {
			rows[row[1]] = line
		}
	}
	return rows
}

// notEverywhere are the uses that bash 3.2 and the programs of macOS do not have, or take otherwise.
// A runner on macOS runs the scripts with them. like is a line that each of them matches.
var notEverywhere = []struct{ what, pattern, like string }{
	{"an empty array is an unbound variable under set -u: write ${a[@]+\"${a[@]}\"}", `(^|[^+"])"?\$\{\w+\[[@*]\](:[^}]*)?\}`, `run "${a[@]}"`},
	{"mapfile and readarray", `\b(mapfile|readarray)\b`, `mapfile -t lines <x`},
	{"declare -A, -n and -g", `\b(declare|local|typeset) -\w*[Angu]`, `declare -A names`},
	{"the case of letters in an expansion", `\$\{\w+(\[[^]]*\])?(,|\^)`, `${name,,}`},
	{"an expansion that quotes", `\$\{\w+(\[[^]]*\])?@\w\}`, `${name@Q}`},
	{"&>> and |&", `&>>|\|&`, `run |& cat`},
	{"a negative subscript or length", `\[-[0-9]+\]|:\d+:-`, `${a[-1]}`},
	{"the time in printf", `%\([^)]*\)T`, `printf '%(%F)T'`},
	{"wait -n and coproc", `\bwait -\w*[np]|\bcoproc\b`, `wait -n`},
	{";& in case", `;;?&`, `a) run ;;&`},
	{"variables of newer versions", `\$\{?(BASHPID|EPOCH\w+|SRANDOM|BASH_ARGV0)\b`, `echo $BASHPID`},
	{"options of newer versions", `shopt -s (globstar|lastpipe|inherit_errexit|assoc_expand_once)`, `shopt -s lastpipe`},
	{"a descriptor in a variable", `\bexec \{\w+\}[<>]`, `exec {fd}<x`},
	{"[[ -v and [ -v", `\[ -[vR] `, `[[ -v name ]]`},
	{"$'…' inside of quotes", `"[^"']*\$\{[^}"]*\$'`, `echo "${text//$'\n'/x}"`},
	{"sed -i, -r and -z", `\bsed (-\w+ )*-\w*[irzs]`, `sed -i s/a/b/ x`},
	{"date -d", `\bdate .*(-d|--date|--iso)`, `date -d yesterday`},
	{"stat -c", `\bstat -`, `stat -c %s x`},
	{"readlink -f and realpath", `\breadlink -|\brealpath\b`, `readlink -f x`},
	{"grep -P", `\bgrep (-\w+ )*-\w*[Pz]`, `grep -oP x`},
	{"base64 -w", `\bbase64 -`, `base64 -w0`},
	{"sort -V and -z", `\bsort (-\w+ )*-\w*[Vzh]|sort --`, `sort -V`},
	{"head and tail with a negative number", `\bhead -(n ?|c ?)-|\btail -(n ?)?\+?\d+ -`, `head -n -1`},
	{"xargs -d and -r", `\bxargs (-\w+ )*-\w*[dr]`, `xargs -r rm`},
	{"find -printf and -quit", `\bfind .*-(printf|quit|regextype)`, `find . -print -quit`},
	{"mktemp with long options", `\bmktemp .*(--|-p)`, `mktemp --directory`},
	{"cp with long options", `\b(cp|mv|ln|rm|ls|mkdir) --\w`, `cp --parents a b`},
	{"programs of GNU", `\b(tac|timeout|nproc|gsed|numfmt|shuf)\b `, `timeout 5 run`},
	{"echo with options", `\becho -[ne]`, `echo -e x`},
}

// checksums is the one line that asks first whether the program exists.
const checksums = "if command -v sha256sum >/dev/null"

// TestBash32: the scripts of the actions run under bash 3.2 and with the programs of macOS. No such
// machine runs the tests, so every use that differs is excluded.
func TestBash32(t *testing.T) {
	compiled := make([]*regexp.Regexp, len(notEverywhere))
	for i, use := range notEverywhere {
		if compiled[i] = regexp.MustCompile(use.pattern); !compiled[i].MatchString(use.like) {
			t.Errorf("%q does not match %q", use.pattern, use.like)
		}
	}
	scripts, err := filepath.Glob("../../actions/*/*.sh")
	if err != nil || len(scripts) < 8 {
		t.Fatalf("there are %d scripts: %v", len(scripts), err)
	}
	check := func(name, text string) {
		for n, line := range strings.Split(text, "\n") {
			if strings.HasPrefix(strings.TrimSpace(line), "#") {
				continue
			}
			for i, use := range notEverywhere {
				if compiled[i].MatchString(line) {
					t.Errorf("%s:%d: %s: %s", name, n+1, use.what, strings.TrimSpace(line))
				}
			}
			if strings.Contains(line, "sha256sum") && !strings.Contains(line, checksums) {
				t.Errorf("%s:%d: sha256sum: %s", name, n+1, strings.TrimSpace(line))
			}
		}
	}
	for _, name := range scripts {
		text := must.Get(os.ReadFile(name))(t)
		check(name, string(text))
	}
	for dir, a := range actions(t) {
		for _, step := range a.Runs.Steps {
			check(dir+"/action.yml", step.Run)
		}
	}
}
