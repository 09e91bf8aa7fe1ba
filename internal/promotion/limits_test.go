package promotion_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/polex-dev/polex/internal/git"
	"github.com/polex-dev/polex/internal/git/commit"
	"github.com/polex-dev/polex/internal/promotion"
	"github.com/polex-dev/polex/internal/promotion/pending"
	"github.com/polex-dev/polex/pkg/exception"
)

// longPath is a path below unsigned/ with this many bytes.
func longPath(bytes int) string {
	name := "unsigned/" + strings.Repeat(strings.Repeat("d", 99)+"/", 12)
	return name[:bytes-len("/a.yaml")] + "/a.yaml"
}

func deepPath(folders int) string {
	return "unsigned/" + strings.Repeat("a/", folders-1) + "a.yaml"
}

// TestLimitsKeepGoing: one file beyond a limit does not stop the others, and stops a run without
// [promotion.Options.KeepGoing] with its name.
func TestLimitsKeepGoing(t *testing.T) {
	for name, tc := range map[string]struct {
		file, content, reason string
	}{
		"a long path":                 {file: longPath(1025), reason: pending.ReasonBadName},
		"a path that gets longer":     {file: "unsigned/" + longPath(1022)[len("unsigned/"):]},
		"a deep path":                 {file: deepPath(64), reason: pending.ReasonBadName},
		"a path deeper than Git read": {file: deepPath(65), reason: pending.ReasonBadName},
		"a much deeper path":          {file: deepPath(400), reason: pending.ReasonBadName},
		"a large file":                {file: "unsigned/large.yaml", content: "# " + strings.Repeat("x", 33<<20) + "\n", reason: pending.ReasonTooLarge},
		"a large signed file":         {file: "unsigned/large.yaml", content: strings.Repeat(exceptionText("x")+"---\n", 2400), reason: pending.ReasonTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.content == "" {
				tc.content = exceptionText("other")
			}
			files := map[string]string{"unsigned/honest.yaml": exceptionText("honest"), tc.file: tc.content}
			r := newRepository(t, files)
			q, err := r.try(r.Dir, promotion.Options{KeepGoing: true})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, refusal := range q.Refused {
				got = append(got, refusal.Position.File+" "+refusal.Reason)
			}
			var want []string
			if tc.reason != "" {
				want = []string{tc.file + " " + tc.reason}
				if strings.Count(tc.file, "/") > git.MaxDepth+1 { // it is cut off at a folder
					want[0] = deepPath(git.MaxDepth + 1)[:len(deepPath(git.MaxDepth+1))-len(".yaml")] + " " + tc.reason
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatal(diff)
			}
			if !q.Has("unsigned/honest.yaml") {
				t.Error("the other file is not promoted")
			}
			if _, err := r.try(r.Dir, promotion.Options{}); (err == nil) != (tc.reason == "") {
				t.Errorf("without KeepGoing: %v", err)
			} else if refusals := exception.RefusalsIn(err); len(refusals) == 0 && err != nil {
				t.Errorf("without KeepGoing: %v", err)
			}
		})
	}
}

// TestCheckFilePaths: each path that [pending.CheckFile] accepts can be written and read.
func TestCheckFilePaths(t *testing.T) {
	for _, name := range []string{longPath(1022), longPath(1024), longPath(1025), deepPath(63), deepPath(64), "unsigned/a.yaml"} {
		for _, signed := range []string{"signed", "s", "deploy/production/signed"} {
			f := pending.File{Path: name, To: pending.Folders{Unsigned: "unsigned", Signed: signed}.Target(name), Mode: pending.Regular}
			accepted := pending.CheckFile(f) == nil
			possible := true
			for _, path := range []string{f.Path, f.To} {
				possible = possible && commit.CheckPath(path) == nil && strings.Count(path, "/") < git.MaxDepth
			}
			if accepted != possible {
				t.Errorf("%d bytes and %d folders at %s: accepted %t, possible %t", len(name), strings.Count(name, "/"), signed, accepted, possible)
			}
		}
	}
}
