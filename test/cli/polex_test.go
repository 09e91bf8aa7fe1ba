package cli_test

import (
	"errors"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"
)

// parts lists the commands of polex with their names as programs of their own.
var parts = map[string][]string{
	"request":  {"polex-request"},
	"validate": {"polex-validate"},
	"sign":     {"polex-sign"},
	"promote":  {"polex-sign", "promote"},
	"verify":   {"polex-verify"},
	"prune":    {"polex-prune"},
	"audit":    {"polex-audit"},
	"notify":   {"polex-audit", "notify"},
	"guard":    {"polex-guard"},
	"sandbox":  {"polex-sandbox"},
}

// madeAt is the time of a report: the two runs may be in different seconds.
var madeAt = regexp.MustCompile(`("madeAt": ")[^"]*`)

// same STATUS PART ARG... runs polex PART and the program of its own. Both must end with the status
// and print the same, except for their names. stdout and stderr then hold the output of polex.
func same(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 || parts[args[1]] == nil {
		ts.Fatalf("usage: same status part [arg...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	type said struct {
		Status         int
		Stdout, Stderr string
	}
	run := func(argv ...string) said {
		err := ts.Exec(argv[0], argv[1:]...)
		var ended *exec.ExitError
		if err != nil && !errors.As(err, &ended) {
			ts.Fatalf("%v", err)
		}
		s := said{Stdout: madeAt.ReplaceAllString(ts.ReadFile("stdout"), "$1"), Stderr: alone(ts.ReadFile("stderr"))}
		if ended != nil {
			s.Status = ended.ExitCode()
		}
		return s
	}
	one := run(slices.Concat(parts[args[1]], args[2:])...)
	all := run(append([]string{"polex", args[1]}, args[2:]...)...)
	if diff := cmp.Diff(one, all); diff != "" {
		ts.Fatalf("polex %s is not %s (-alone +in polex):\n%s", args[1], strings.Join(parts[args[1]], " "), diff)
	}
	if all.Status != want {
		ts.Fatalf("exit status %d, want %d", all.Status, want)
	}
}

// alone replaces the command names in a text by those of the programs. An error begins with the
// program's name only.
func alone(text string) string {
	for part, words := range parts {
		text = strings.ReplaceAll(text, "polex "+part+": ", words[0]+": ")
		text = strings.ReplaceAll(text, "polex "+part, strings.Join(words, " "))
	}
	return text
}
