package request_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/polex-dev/polex/internal/request"
	"github.com/polex-dev/polex/pkg/shape"
)

// TestDenials: testdata/denials.txtar has denials in the forms in which tools and logs repeat them.
// Each begins with its flags and the expected drafts and refusals, and none gives anything else.
func TestDenials(t *testing.T) {
	archive, err := txtar.ParseFile("testdata/denials.txtar")
	if err != nil {
		t.Fatal(err)
	}
	if len(archive.Files) < 40 {
		t.Fatalf("there are %d texts", len(archive.Files))
	}
	for _, file := range archive.Files {
		t.Run(file.Name, func(t *testing.T) {
			flags, want, text := "", []string(nil), string(file.Data)
			for strings.HasPrefix(text, "# ") {
				var line string
				line, text, _ = strings.Cut(text, "\n")
				if of, isFlags := strings.CutPrefix(line, "# flags: "); isFlags {
					flags = of
					continue
				}
				want = append(want, strings.TrimPrefix(line, "# "))
			}
			text = strings.NewReplacer("<ESC>", "\x1b", "<CR>", "\r").Replace(text)
			var got []string
			for _, line := range outcomes(t, text, flags) {
				if !slices.Contains(got, line) {
					got = append(got, line)
				}
			}
			if got == nil {
				got = []string{"nothing"}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// outcomes drafts exceptions for a denial, and describes the drafts and the refusals.
func outcomes(t *testing.T, text, flags string) []string {
	t.Helper()
	o := request.Options{Statements: said, Namespace: "exceptions"}
	if strings.Contains(flags, "--policies") {
		o.Policies = shape.ReadPolicies(parse(t, policies))
	}
	var about request.Resource
	if _, resource, given := strings.Cut(flags, "--resources "); given {
		part := strings.Split(resource, "/")
		o.Objects = parse(t, fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata: {name: %s, namespace: %s}\n", strings.ReplaceAll(part[0], "_", "/"), part[1], part[3], part[2]))
		about = request.Resource{APIVersion: strings.ReplaceAll(part[0], "_", "/"), Kind: part[1], Namespace: part[2], Name: part[3]}
	}
	refused := func(p request.Problem) string {
		var named []string
		for _, flag := range []string{"--from", "--policies", "--resources", "--policy", "--rule", "--about"} {
			if slices.ContainsFunc(strings.FieldsFunc(p.Hint, func(r rune) bool { return r == ' ' || r == ',' }), func(word string) bool { return word == flag }) {
				named = append(named, flag)
			}
		}
		return strings.TrimSpace("refused " + p.Reason + " " + strings.Join(named, " "))
	}
	violations, problem := request.FromDenial(text, "denial.txt", about)
	if problem != nil {
		return []string{refused(*problem)}
	}
	drafts, problems, err := request.New(violations, o)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, d := range drafts {
		strict(t, d, o.Policies)
		exempt := strings.Join(drafted(t, d), "; ")
		for _, v := range d.Answers {
			if !strings.Contains(exempt, v.Policy[strings.LastIndex(v.Policy, "/")+1:]) || !strings.Contains(exempt, v.Rule) {
				t.Errorf("%s does not exempt from %s of %s", exempt, v.Rule, v.Policy)
			}
			got = append(got, strings.Join(strings.Fields(fmt.Sprintf("draft %s %s %s", v.Policy, v.Rule, v.Resource)), " "))
		}
	}
	for _, p := range problems {
		got = append(got, refused(p))
	}
	return got
}
