package pending_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/polex-dev/polex/internal/promotion/pending"
	"github.com/polex-dev/polex/pkg/exception"
)

func TestCheckFile(t *testing.T) {
	for _, tc := range []struct {
		path  string
		mode  uint32
		waits bool
		want  string
	}{
		{"unsigned/a.yaml", pending.Regular, true, ""},
		{"unsigned/team-a/b_1.2.json", pending.Regular, true, ""},
		{"unsigned/README.md", pending.Regular, false, ""},
		{"unsigned/NOTES.MD", pending.Symlink, false, ""},
		{"unsigned/.gitkeep", pending.Regular, false, ""},
		{"unsigned/.gitX.yaml", pending.Regular, true, pending.ReasonBadName},
		{"unsigned/.gitkeep.yaml", pending.Regular, true, pending.ReasonBadName},
		{"unsigned/.yamllint", pending.Regular, true, pending.ReasonBadName},
		{"unsigned/notes.txt", pending.Regular, true, pending.ReasonBadName},
		{"unsigned/a.YAML", pending.Regular, true, pending.ReasonBadName},
		{"unsigned/two words.yaml", pending.Regular, true, pending.ReasonBadName},
		{"unsigned/two words/a.yaml", pending.Regular, true, pending.ReasonBadName},
		{"unsigned/--push.yaml", pending.Regular, true, pending.ReasonBadName},
		{"unsigned/a.yaml", pending.Executable, true, pending.ReasonNotRegular},
		{"unsigned/a.yaml", pending.Symlink, true, pending.ReasonNotRegular},
		{"unsigned/module", pending.Submodule, true, pending.ReasonNotRegular},
		{"unsigned/a.yaml", 0o100664, true, pending.ReasonNotRegular},
	} {
		if got := pending.Waits(tc.path); got != tc.waits {
			t.Errorf("%s waits: %t", tc.path, got)
		}
		if !tc.waits {
			continue
		}
		got := ""
		if r := pending.CheckFile(pending.File{Path: tc.path, Mode: tc.mode}); r != nil {
			got = r.Reason
		}
		if got != tc.want {
			t.Errorf("%s of mode %o: %q, want %q", tc.path, tc.mode, got, tc.want)
		}
	}
}

func TestFolders(t *testing.T) {
	got, err := pending.Folders{}.Complete()
	if err != nil || got != (pending.Folders{Unsigned: "unsigned", Signed: "signed"}) {
		t.Errorf("%+v, %v", got, err)
	}
	if to := got.Target("unsigned/team/a.yaml"); to != "signed/team/a.yaml" {
		t.Errorf("it would lie at %s", to)
	}
	for _, bad := range []pending.Folders{{Unsigned: ".."}, {Unsigned: "."}, {Signed: ".git/x"}, {Signed: ".GIT"}, {Unsigned: "/a"}, {Unsigned: "a", Signed: "a/b"}, {Unsigned: "a/b", Signed: "a"}, {Unsigned: "a", Signed: "a/"}} {
		if got, err := bad.Complete(); err == nil {
			t.Errorf("%+v is %+v", bad, got)
		}
	}
}

func TestSigned(t *testing.T) {
	id := func(name string) exception.Identity {
		return exception.Identity{GroupKind: exception.GroupKind{Group: exception.KyvernoGroup, Kind: exception.Kind}, Namespace: "team-a", Name: name}
	}
	var signed pending.Signed
	signed.Add("signed/both.yaml")
	signed.Holds("signed/both.yaml", []exception.Identity{id("a"), id("b")})
	signed.Add("signed/Team/c.yaml")
	for _, tc := range []struct {
		name, to string
		asks     []string
		others   []string
		replace  bool
		replaces []string
		want     string
	}{
		{name: "new", to: "signed/new.yaml", asks: []string{"new"}},
		{name: "signed already", to: "signed/new.yaml", asks: []string{"a"}, want: pending.ReasonAlreadySigned},
		{name: "replaced in part", to: "signed/new.yaml", asks: []string{"a"}, replace: true, want: pending.ReasonPartlyReplaced},
		{name: "replaced with another file", to: "signed/new.yaml", asks: []string{"a"}, others: []string{"b"}, replace: true, replaces: []string{"signed/both.yaml"}},
		{name: "its own name", to: "signed/both.yaml", asks: []string{"new"}, replace: true, want: pending.ReasonTargetExists},
		{name: "a folder in another case", to: "signed/team/d.yaml", asks: []string{"new"}, want: pending.ReasonTargetExists},
		{name: "a file in place of a folder", to: "signed/both.yaml/d.yaml", asks: []string{"new"}, want: pending.ReasonTargetExists},
		{name: "a folder in place of a file", to: "signed/Team", asks: []string{"new"}, want: pending.ReasonTargetExists},
	} {
		r, asked := pending.Request{From: "unsigned/x.yaml", To: tc.to}, map[exception.Identity]bool{}
		for _, name := range tc.asks {
			r.Documents = append(r.Documents, pending.Document{Identity: id(name)})
			asked[id(name)] = true
		}
		for _, name := range tc.others {
			asked[id(name)] = true
		}
		replaces, refusals := signed.Check(r, asked, tc.replace)
		got := ""
		if len(refusals) > 0 {
			got = refusals[0].Reason
		}
		if got != tc.want || !cmp.Equal(replaces, tc.replaces) {
			t.Errorf("%s: %q, replaces %q", tc.name, got, replaces)
		}
	}
}
