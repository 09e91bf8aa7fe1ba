package actions_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hmarr/codeowners"
	"sigs.k8s.io/yaml"

	"github.com/polex-dev/polex/test/expect"
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

// parsed reads a YAML file.
func parsed[T any](t *testing.T, path string) (value T) {
	t.Helper()
	err := yaml.Unmarshal(must.Get(os.ReadFile(path))(t), &value)
	must.That(t, err == nil, "%s: %v", path, err)
	return value
}

func actions(t *testing.T) map[string]action {
	t.Helper()
	files, err := filepath.Glob("../../actions/*/action.yml")
	must.That(t, err == nil && len(files) > 0, "there are no actions: %v", err)
	found := map[string]action{}
	for _, file := range files {
		found[filepath.Dir(file)] = parsed[action](t, file)
	}
	return found
}

var pinned = regexp.MustCompile(`^[\w.-]+/[\w./-]+@[0-9a-f]{40}$`)

// TestNothingIsInterpolated: no script contains an expression. With one, the shell would run an
// input such as the name of a branch or a title.
func TestNothingIsInterpolated(t *testing.T) {
	for dir, a := range actions(t) {
		expect.That(t, a.Runs.Using == "composite", "%s is not composite", dir)
		for i, step := range a.Runs.Steps {
			expect.That(t, !strings.Contains(step.Run, "${{") && !strings.Contains(step.Shell, "${{"),
				"%s, step %d: an expression in a script", dir, i)
			expect.That(t, step.Uses == "" || pinned.MatchString(step.Uses),
				"%s, step %d: %s is not pinned by its commit", dir, i, step.Uses)
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
			expect.That(t, input.Description != "" && inputs[name] != "",
				"%s: the input %s is not described", dir, name)
			if input.Default != "" && !strings.Contains(input.Default, "${{") && !strings.Contains(inputs[name], "`"+input.Default+"`") {
				t.Errorf("%s: the README does not give the default of %s", dir, name)
			}
			expect.That(t, passed["${{ inputs."+name+" }}"], "%s: the input %s is not passed on", dir, name)
		}
		for name, output := range a.Outputs {
			expect.That(t, output.Description != "" && outputs[name] != "",
				"%s: the output %s is not described", dir, name)
			from := regexp.MustCompile(`^\$\{\{ steps\.([a-z]+)\.outputs\.` + name + ` \}\}$`).FindStringSubmatch(output.Value)
			expect.That(t, from != nil && steps[from[1]], "%s: the output %s is no step's", dir, name)
		}
		if len(inputs) != len(a.Inputs) || len(outputs) != len(a.Outputs) {
			t.Errorf("%s: %d inputs and %d outputs, %d and %d documented", dir, len(a.Inputs), len(a.Outputs), len(inputs), len(outputs))
		}
	}
}

// table returns the rows of the table with a certain first word in its head, by the name in their first cell.
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
	must.That(t, err == nil && len(scripts) >= 8, "there are %d scripts: %v", len(scripts), err)
	check := func(name, text string) {
		for n, line := range strings.Split(text, "\n") {
			if strings.HasPrefix(strings.TrimSpace(line), "#") {
				continue
			}
			for i, use := range notEverywhere {
				expect.That(t, !compiled[i].MatchString(line),
					"%s:%d: %s: %s", name, n+1, use.what, strings.TrimSpace(line))
			}
			expect.That(t, !strings.Contains(line, "sha256sum") || strings.Contains(line, checksums),
				"%s:%d: sha256sum: %s", name, n+1, strings.TrimSpace(line))
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

type workflow struct {
	On          map[string]any `json:"true"` // the key "on" is a boolean in YAML 1.1
	Permissions map[string]string
	Jobs        map[string]job
}

type job struct {
	TimeoutMinutes int               `json:"timeout-minutes"`
	Permissions    map[string]string `json:"permissions"`
	Steps          []struct {
		Uses, Run string
		With      map[string]any
	} `json:"steps"`
}

// template returns the workflows of examples/github, by file name.
func template(t *testing.T) map[string]workflow {
	t.Helper()
	files, err := filepath.Glob("../../examples/github/.github/workflows/*.yaml")
	must.That(t, err == nil && len(files) == 3, "there are other workflows than three: %q, %v", files, err)
	found := map[string]workflow{}
	for _, file := range files {
		found[filepath.Base(file)] = parsed[workflow](t, file)
	}
	return found
}

// rights lists the permissions of each job of the template. A job gets another permission only after a change here.
var rights = map[string]map[string]map[string]string{
	"pull-request.yaml": {
		"validate":       {"contents": "read"},
		"verify":         {"contents": "read"},
		"notify-refused": {"pull-requests": "write"},
	},
	"merge.yaml": {
		"settings":       {"contents": "read"},
		"sign":           {"contents": "read", "pull-requests": "read", "id-token": "write"},
		"commit":         {"contents": "write"},
		"notify":         {"contents": "read", "pull-requests": "write"},
		"notify-refused": {"pull-requests": "write"},
	},
	"schedule.yaml": {
		"expire": {"contents": "write"},
		"notify": {"contents": "read", "pull-requests": "write"},
	},
}

// TestTemplateRights: each job has only the permissions that it needs, there are no common ones,
// and a job that can sign cannot write.
func TestTemplateRights(t *testing.T) {
	for file, w := range template(t) {
		hasRights(t, file, w, rights[file])
		for name, j := range w.Jobs {
			expect.That(t, j.TimeoutMinutes != 0, "%s/%s may run for hours", file, name)
			writes := slices.DeleteFunc(slices.Collect(maps.Keys(j.Permissions)), func(right string) bool { return j.Permissions[right] != "write" })
			expect.That(t, len(writes) == 1 || !slices.Contains(writes, "id-token"), "%s/%s can sign and write", file, name)
		}
	}
}

// hasRights compares the permissions of a workflow's jobs. The jobs have none in common.
func hasRights(t *testing.T, file string, w workflow, rights map[string]map[string]string) {
	t.Helper()
	expect.That(t, w.Permissions != nil && len(w.Permissions) == 0, "%s gives every job %v", file, w.Permissions)
	got := map[string]map[string]string{}
	for name, j := range w.Jobs {
		got[name] = j.Permissions
	}
	expect.Equal(t, "the rights of the jobs of "+file, rights, got)
}

// TestTemplateSteps: a job runs only GitHub's and polex's actions, pinned by commit, with inputs
// that exist. Only jobs that push keep the credentials on disk.
func TestTemplateSteps(t *testing.T) {
	inputs := actions(t)
	for file, w := range template(t) {
		for name, j := range w.Jobs {
			for i, step := range j.Steps {
				at := file + "/" + name
				expect.That(t, step.Run == "" && pinned.MatchString(step.Uses),
					"%s, step %d: %q is no pinned action", at, i, step.Uses+step.Run)
				action, commit, _ := strings.Cut(step.Uses, "@")
				switch {
				case action == "actions/checkout":
					if keeps, said := step.With["persist-credentials"].(bool); !said || keeps != (j.Permissions["contents"] == "write") {
						t.Errorf("%s keeps credentials: %v", at, step.With["persist-credentials"])
					}
				case strings.HasPrefix(action, "polex-dev/polex/actions/"):
					for input := range step.With {
						_, there := inputs["../../"+strings.TrimPrefix(action, "polex-dev/polex/")].Inputs[input]
						expect.That(t, there, "%s, step %d: %s has no input %s", at, i, action, input)
					}
					// The user of the template chooses the commit.
					expect.That(t, strings.Trim(commit, "0") == "", "%s, step %d names the commit %s", at, i, commit)
				case action != "actions/upload-artifact" && action != "actions/download-artifact":
					t.Errorf("%s, step %d runs %s", at, i, action)
				}
			}
		}
	}
}

// TestTemplateTriggers: the checks of a pull request run only for main, and run again when the target branch changes.
// Otherwise a check could pass with the trust policy of another branch and stay valid.
func TestTemplateTriggers(t *testing.T) {
	for _, file := range []string{"../../examples/github/.github/workflows/pull-request.yaml", "../../actions/verify/README.md", "../../actions/validate/README.md"} {
		raw := must.Get(os.ReadFile(file))(t)
		if _, shown, found := strings.Cut(string(raw), "```yaml\n"); found {
			text, _, _ := strings.Cut(shown, "```\n")
			raw = []byte(text)
		}
		var w workflow
		must.Do(t, yaml.Unmarshal(raw, &w))
		want := map[string]any{"branches": []any{"main"}, "types": []any{"opened", "synchronize", "reopened", "edited"}}
		expect.Equal(t, "requests that start "+file, any(want), w.On["pull_request"])
	}
}

// TestTemplateMerge: every push to main starts the workflow, with any change, and so can a person:
// GitHub compares `paths` with 300 files only, and a run can leave exceptions to a later run.
func TestTemplateMerge(t *testing.T) {
	want := map[string]any{"push": map[string]any{"branches": []any{"main"}}, "workflow_dispatch": nil}
	expect.Equal(t, "triggers", want, template(t)["merge.yaml"].On)
	raw := must.Get(os.ReadFile("../../examples/gitlab/.gitlab-ci.yml"))(t)
	expect.That(t, !strings.Contains(string(raw), "changes:"), "GitLab's pipeline depends on the changed files")
}

// TestTemplateOwners: the policy team owns the requested exceptions. The platform team owns all
// files that decide about trust, in every folder.
func TestTemplateOwners(t *testing.T) {
	for file, decides := range map[string][]string{
		"github/.github/CODEOWNERS": {".github/workflows/merge.yaml", ".github/CODEOWNERS", ".github/actions/x/action.yml"},
		"gitlab/CODEOWNERS":         {".gitlab-ci.yml", ".gitlab/CODEOWNERS", ".gitlab/ci/jobs.yml"},
	} {
		raw := must.Get(os.ReadFile("../../examples/" + file))(t)
		owners, err := codeowners.ParseFile(strings.NewReader(strings.NewReplacer("<owner>", "acme", "<group>", "acme", "<policy team>", "policy", "<platform team>", "platform").Replace(string(raw))))
		must.That(t, err == nil, "%s: %v", file, err)
		trust := slices.Concat(decides, []string{".polex.yaml", "trust.yaml", "trusted_root.json", "trust/root.json", "cosign.pub", "unsigned/cosign.pub",
			"keys/cosign.pem", "policies/pods.yaml", "CODEOWNERS", "docs/CODEOWNERS", "unsigned/CODEOWNERS", ".gitattributes",
			"unsigned/.gitattributes", ".gitmodules", "signed/a.yaml", "signed/team/a.yaml"})
		for team, paths := range map[string][]string{"@acme/platform": trust, "@acme/policy": {"unsigned/a.yaml", "unsigned/team/a.yaml"}} {
			for _, path := range paths {
				got, err := owners.Match(path)
				expect.That(t, err == nil && got != nil && fmt.Sprint(got.Owners) == "["+team+"]", "%s: %s is owned by %v, %v", file, path, got, err)
			}
		}
	}
}
