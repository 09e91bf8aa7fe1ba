package pending_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/polex-dev/polex/internal/promotion/pending"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/test/expect"
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
		expect.Is(t, tc.path+" waits", tc.waits, pending.Waits(tc.path))
		if !tc.waits {
			continue
		}
		got := ""
		if r := pending.CheckFile(pending.File{Path: tc.path, Mode: tc.mode}); r != nil {
			got = r.Reason
		}
		expect.Is(t, fmt.Sprintf("%s of mode %o", tc.path, tc.mode), tc.want, got)
	}
}

func TestFolders(t *testing.T) {
	got, err := pending.Folders{}.Complete()
	expect.That(t, err == nil && got == (pending.Folders{Unsigned: "unsigned", Signed: "signed"}), "%+v, %v", got, err)
	expect.Is(t, "target", "signed/team/a.yaml", got.Target("unsigned/team/a.yaml"))
	for _, bad := range []pending.Folders{{Unsigned: ".."}, {Unsigned: "."}, {Signed: ".git/x"}, {Signed: ".GIT"}, {Unsigned: "/a"}, {Unsigned: "a", Signed: "a/b"}, {Unsigned: "a/b", Signed: "a"}, {Unsigned: "a", Signed: "a/"}} {
		got, err := bad.Complete()
		expect.That(t, err != nil, "%+v is %+v", bad, got)
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
		expect.That(t, got == tc.want && cmp.Equal(replaces, tc.replaces), "%s: %q, replaces %q", tc.name, got, replaces)
	}
}

// TestBlocked: a change gets the refusals of its own files, and of other files only those that it causes.
func TestBlocked(t *testing.T) {
	entry := func(path string, change bool, names ...string) pending.Entry {
		e := pending.Entry{File: pending.File{Path: path, Mode: pending.Regular}, Changed: change}
		if rest, ok := strings.CutPrefix(path, "unsigned/"); ok {
			e.To = "signed/" + rest
		} else {
			e.Signed = true
		}
		for _, name := range names {
			// A reader gives positions by the path for this process, here from a folder below the repository.
			e.Documents = append(e.Documents, pending.Document{Identity: exception.Identity{Name: name},
				Position: exception.Position{File: "../" + path, Line: 7}})
		}
		return e
	}
	type entries = []pending.Entry
	signedA, signedB, pendingA := entry("signed/b.yaml", false, "a"), entry("signed/b.yaml", false, "b"), entry("unsigned/a.yaml", false, "a")
	newA, newC := entry("unsigned/a.yaml", true, "a"), entry("unsigned/c.yaml", true, "c")
	for name, tc := range map[string]struct {
		entries entries
		replace bool
		want    string
	}{
		"nothing in the way":                   {entries{newA, signedB}, false, ""},
		"a bad name":                           {entries{entry("unsigned/a b.yaml", true, "a")}, false, "unsigned/a b.yaml bad-file-name"},
		"an older bad name":                    {entries{entry("unsigned/a b.yaml", false, "a"), newC}, false, ""},
		"pending twice":                        {entries{newA, entry("unsigned/b.yaml", false, "a")}, false, "unsigned/a.yaml duplicate-identity"},
		"signed already":                       {entries{newA, signedA}, false, "unsigned/a.yaml already-signed"},
		"replaced":                             {entries{newA, signedA}, true, ""},
		"older files that are blocked already": {entries{pendingA, signedA, newC}, false, ""},
		"an older file that the change blocks": {entries{pendingA, entry("signed/b.yaml", true, "a")}, false, "unsigned/a.yaml already-signed"},
		"one refusal for a file and reason": {entries{entry("unsigned/a.yaml", true, "a", "b"), entry("signed/b.yaml", false, "a", "b")}, false,
			"unsigned/a.yaml already-signed"},
		"names that differ in case": {entries{pendingA, entry("unsigned/A.yaml", true, "b")}, false, "unsigned/A.yaml target-exists"},
	} {
		var got []string
		for _, r := range pending.Blocked(tc.entries, tc.replace) {
			got = append(got, r.Position.File+" "+r.Reason)
		}
		expect.Is(t, name, tc.want, strings.Join(got, ", "))
	}
}

const (
	service   = "apiVersion: v1\nkind: Service\nmetadata: {name: a}\n"
	exempting = "apiVersion: kyverno.io/v2\nkind: PolicyException\nmetadata: {name: a, namespace: b}\n"
)

// TestOtherKinds: only a file that certainly has no exception is skipped.
func TestOtherKinds(t *testing.T) {
	kind := func(apiVersion, kind string) string {
		return "apiVersion: " + apiVersion + "\nkind: " + kind + "\nmetadata: {name: a}\n"
	}
	for _, tc := range []struct {
		name, file, content string
		kinds               []string
		want                bool
	}{
		{name: "a service", content: service, want: true},
		{name: "a service and a policy", content: service + "---\n" + kind("kyverno.io/v1", "ClusterPolicy"), want: true},
		{name: "policies", content: kind("kyverno.io/v2beta1", "CleanupPolicy") + "---\n" + kind("policies.kyverno.io/v1", "NamespacedValidatingPolicy"), want: true},
		{name: "a Kustomization", content: kind("kustomize.config.k8s.io/v1beta1", "Kustomization"), want: true},
		{name: "a kustomization without a kind", file: "unsigned/kustomization.yaml", content: "resources: [a.yaml]\n", want: true},
		{name: "no kind elsewhere", content: "resources: [a.yaml]\n"},
		{name: "half a kind in a kustomization", file: "kustomization.yml", content: "apiVersion: kyverno.io/v2\nmetadata: {name: a}\n"},
		{name: "an exception in a kustomization", file: "kustomization.yaml", content: exempting},
		{name: "a list in a kustomization", file: "kustomization.yaml", content: "items: []\n"},
		{name: "JSON", content: `{"apiVersion": "v1", "kind": "Service"}`, want: true},
		{name: "two documents in JSON, which kustomize reads otherwise", content: `{"apiVersion": "v1", "kind": "Service"} {"apiVersion": "v1", "kind": "Secret"}`},
		{name: "CRLF", content: strings.ReplaceAll(service, "\n", "\r\n"), want: true},
		{name: "empty documents", content: "# note\n---\n---\n" + service + "---\n# note\n", want: true},

		{name: "an exception", content: exempting},
		{name: "an exception behind", content: service + "---\n" + exempting},
		{name: "an exception behind many", content: strings.Repeat(service+"---\n", 100) + exempting},
		{name: "an exception in JSON behind", content: `{"apiVersion": "v1", "kind": "Service"}{"apiVersion": "kyverno.io/v2", "kind": "PolicyException"}`},
		{name: "CRLF and an exception", content: strings.ReplaceAll(service+"---\n"+exempting, "\n", "\r\n")},
		{name: "a marker with a comment", content: service + "--- # next\n" + exempting},
		{name: "a marker with content", content: service + "--- {apiVersion: kyverno.io/v2, kind: PolicyException}\n"},
		{name: "a marker of YAML alone", content: service + "...\n" + exempting},
		{name: "a carriage return between", content: service + "\r---\r" + exempting},
		{name: "a byte order mark", content: "\ufeff" + service + "---\n\ufeff" + exempting},
		{name: "nothing", content: ""},
		{name: "a comment", content: "# nothing\n---\n"},
		{name: "text", content: "just text\n"},
		{name: "not YAML", content: service + "---\nkind: [\n"},
		{name: "a template", content: "{{ if .Values.on }}\n" + service + "{{ end }}\n"},
		{name: "a key twice", content: service + "kind: PolicyException\n"},
		{name: "an anchor", content: "apiVersion: v1\nkind: &k Service\nmetadata: {name: *k}\n"},
		{name: "a tag", content: "apiVersion: v1\nkind: !!str Service\n"},
		{name: "UTF-16", content: "\xff\xfek\x00i\x00n\x00d\x00"},
		{name: "too large", content: strings.Repeat(service+"---\n", pending.MaxOther/len(service))},

		{name: "the kind in lower case", content: kind("kyverno.io/v2", "policyException")},
		{name: "the kind in lower case of another group", content: kind("example.com/v1", "policyexception")},
		{name: "the kind of another group", content: kind("example.com/v1", "PolicyException")},
		{name: "a longer kind", content: kind("example.com/v1", "ClusterPolicyException")},
		{name: "the group in upper case", content: kind("KYVERNO.IO/v2", "PolicyException")},
		{name: "the group in upper case, of a policy", content: kind("Policies.Kyverno.io/v1", "ValidatingPolicy")},
		{name: "an unknown kind of the group", content: kind("kyverno.io/v2", "Exception")},
		{name: "an unknown kind of the other group", content: kind("policies.kyverno.io/v1", "Exemption")},
		{name: "a space behind the kind", content: kind("example.com/v1", `"Service "`)},
		{name: "a space behind the group", content: kind(`"kyverno.io /v2"`, "Policy")},
		{name: "a kind of other letters", content: kind("example.com/v1", "PolicyExceptiоn")},
		{name: "a kind that is a number", content: kind("v1", "1")},
		{name: "no kind", content: "apiVersion: v1\nmetadata: {name: a}\n"},
		{name: "no API version", content: "kind: Service\n"},
		{name: "a second kind in another case", content: service + "Kind: PolicyException\n"},
		{name: "a second kind in other letters", content: service + "\u212aind: PolicyException\n"},
		{name: "a second group in another case", content: service + "apiversion: kyverno.io/v2\n"},
		{name: "a list", content: "apiVersion: v1\nkind: List\nitems:\n- " + strings.ReplaceAll(strings.TrimSpace(exempting), "\n", "\n  ") + "\n"},
		{name: "a list in lower case", content: kind("v1", "Secretlist")},
		{name: "a list of exceptions", content: kind("kyverno.io/v2", "PolicyExceptionList")},
		{name: "kinds of the trust policy", content: service + "---\n" + kind("apps/v1", "Deployment"), kinds: []string{"PolicyException.kyverno.io", "Secret", "Deployment"}, want: true},
		{name: "one of them is allowed", content: service + "---\n" + kind("apps/v1", "Deployment"), kinds: []string{"Deployment.apps"}},
		{name: "one without a group is allowed", content: service, kinds: []string{"Service"}},
		{name: "one with an empty group is allowed", content: service, kinds: []string{"Service."}},
		{name: "all are allowed", content: service, kinds: []string{"*"}},
		{name: "items", content: service + "items: []\n"},
		{name: "items in another case", content: service + "Items: []\n"},
	} {
		if tc.file == "" {
			tc.file = "unsigned/a.yaml"
		}
		expect.Is(t, tc.name, tc.want, pending.OtherKinds([]byte(tc.content), tc.file, tc.kinds))
	}
}

// TestNeverHolds: a file that any reader could take for an exception is never skipped.
func TestNeverHolds(t *testing.T) {
	for _, tc := range []struct {
		name, content string
		kinds         []string
		want          bool
	}{
		{name: "a HelmRelease with an anchor", content: "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: &app web}\nspec: {values: {name: *app}}\n", want: true},
		{name: "values", content: "replicas: 2\nimage: {tag: v1}\n", want: true},
		{name: "values with the name of the resource", content: "crds: {policyexceptions: true}\nenablePolicyExceptions: true\n", want: true},
		{name: "a chart", content: "apiVersion: v2\nname: web\nversion: 1.0.0\n", want: true},
		{name: "a dashboard", content: `{"title": "a \u003c b \u00e9", "text": "a\nb \u2026"}`, want: true},
		{name: "a list in JSON", content: `[1, 2]`, want: true},
		{name: "a template", content: "{{- if .Values.on }}\nkind: Service\nname: {{ .Values.kind }}\n{{- end }}\n", want: true},
		{name: "a list", content: "kind: List\nitems: [{kind: Service}]\n", want: true},
		{name: "a policy", content: "kind: ClusterPolicy\nspec: {rules: [{match: {any: [{resources: {kinds: [Pod, '*']}}]}}]}\n", want: true},
		{name: "a definition", content: "properties:\n  kind:\n    type: string\n", want: true},
		{name: "text", content: "just text\n", want: true},
		{name: "nothing", content: "", want: true},

		{name: "an exception", content: exempting},
		{name: "in JSON", content: `{"apiVersion":"kyverno.io/v2","kind":"PolicyException"}`},
		{name: "in a list", content: "kind: List\nitems: [{kind: PolicyException}]\n"},
		{name: "a list of them without kinds", content: "kind: PolicyExceptionList\nitems: [{}]\n"},
		{name: "in another case", content: "KIND: policyexception\n"},
		{name: "quoted", content: "'kind': 'PolicyException'\n"},
		{name: "with an escape", content: `{"kind": "\u0050olicyException"}`},
		{name: "with a short escape", content: `kind: "Policy\x45xception"`},
		{name: "with a long escape", content: `kind: "Policy\U00000045xception"`},
		{name: "with an escaped backslash before", content: `kind: "PolicyException\\"`},
		{name: "over two lines", content: "kind: \"Policy\\\n   Exception\"\n"},
		{name: "over two lines of Windows", content: "kind: \"Policy\\\r\n\tException\"\n"},
		{name: "over two lines of Unicode", content: "kind: \"Policy\\\u2028  Exception\"\n"},
		{name: "with an anchor", content: "x: &k PolicyException\nkind: *k\n"},
		{name: "with a tag", content: "kind: !!str PolicyException\n"},
		{name: "in base64", content: "kind: !!binary UG9saWN5RXhjZXB0aW9u\n"},
		{name: "in base64 with a tag in escapes", content: "kind: !!%62inary UG9saWN5RXhjZXB0aW9u\n"},
		{name: "in base64 with a tag of another name", content: "%TAG !e! tag:yaml.org,2002:bin\n---\nkind: !e!ary UG9saWN5RXhjZXB0aW9u\n"},
		{name: "in base64 over two lines", content: "kind: !<tag:yaml.org,2002:binary> |\n  UG9saWN5\n  RXhjZXB0aW9u\n"},
		{name: "in UTF-16", content: "\xff\xfek\x00i\x00n\x00d\x00"},
		{name: "in UTF-16 without a mark", content: "k\x00i\x00n\x00d\x00"},
		{name: "in Latin-1", content: "kind: Service # \xe9\n"},
		{name: "in a comment", content: "# kind: PolicyException\n"},
		{name: "in a text", content: "data: |\n  kind: PolicyException\n"},
		{name: "of a template", content: "kind: {{ .Values.kind }}\n"},
		{name: "of a template behind text", content: "kind: Policy{{ .Values.kind }}\n"},
		{name: "of a substitution", content: `{"kind": "${KIND}"}`},
		{name: "of a substitution in the next line", content: "kind:\n  ${KIND}\n"},
		{name: "of a substitution behind an escaped key", content: "\"\\u006bind\": ${KIND}\n"},
		{name: "of a kind of the trust policy", content: service, kinds: []string{"Deployment.apps", "Service"}},
		{name: "of such a kind in base64", content: "kind: !!binary RGVwbG95bWVudA==\n", kinds: []string{"Deployment.apps"}},
		{name: "any kind", content: "a: 1\n", kinds: []string{"*"}},
		{name: "too large", content: strings.Repeat("# comment\n", pending.MaxOther/10+1)},
	} {
		expect.Is(t, tc.name, tc.want, pending.NeverHolds([]byte(tc.content), tc.kinds))
	}
}
