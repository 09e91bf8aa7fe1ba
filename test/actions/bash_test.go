package actions_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/polex-dev/polex/test/must"
)

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
