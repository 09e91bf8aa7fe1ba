//go:build e2e

package workflow

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/polex-dev/polex/test/e2e/github"
)

// TestProposal runs the template's workflow for pull requests.
func TestProposal(t *testing.T) {
	runner, s := newRunner(t), sigstore(t, github.MergeFile)
	good := sealed(t, s, narrow, 0)
	changed := strings.Replace(good, "names: [web]", "names: [api]", 1)
	theirs := template(t, s)[".polex.yaml"]
	theirs = strings.Replace(theirs, "require: [reason, ticket]", "require: []", 1)
	theirs = strings.ReplaceAll(theirs, "merge.yaml@refs/heads/main", "other.yaml@refs/heads/main")
	for _, c := range []struct {
		name       string
		base, head map[string]string
		jobs       map[string]string
		want       []annotation // errors
	}{
		{"nothing yet", nil, map[string]string{"README.md": "Exceptions.\n"},
			github.All("validate", "verify"), nil},
		{"a narrow one", map[string]string{"signed/web.yaml": good}, map[string]string{"unsigned/api.yaml": another},
			github.All("validate", "verify"), nil},
		{"a sloppy one", map[string]string{"signed/web.yaml": good}, map[string]string{"unsigned/sloppy.yaml": sloppy},
			map[string]string{"validate": "failure", "verify": "success"}, sloppyAnnotations},
		{"a signed one, changed", map[string]string{"signed/web.yaml": good}, map[string]string{"signed/web.yaml": changed},
			map[string]string{"validate": "success", "verify": "failure"}, []annotation{{"error", "signed/web.yaml", "1", "altered"}}},
		{"one that nobody has signed", nil, map[string]string{"signed/web.yaml": narrow},
			map[string]string{"validate": "success", "verify": "failure"}, []annotation{{"error", "signed/web.yaml", "1", "unsigned"}}},
		{"instructions for who applies it", map[string]string{"signed/web.yaml": good}, map[string]string{"signed/Kustomization": "patches: []\n", "signed/web.jsonnet": "{}\n"},
			map[string]string{"validate": "success", "verify": "failure"},
			[]annotation{{"error", "signed/Kustomization", "1", "unexpected-file"}, {"error", "signed/web.jsonnet", "1", "unexpected-file"}}},
		{"rules and trust of its own", map[string]string{"signed/web.yaml": good},
			map[string]string{".polex.yaml": theirs, "unsigned/sloppy.yaml": sloppy, "signed/api.yaml": another},
			map[string]string{"validate": "failure", "verify": "failure"},
			append([]annotation{{"error", "signed/api.yaml", "1", "unsigned"}}, sloppyAnnotations...)},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := template(t, s)
			maps.Copy(files, c.base)
			repository := runner.repository(t, files)
			base := repository.commit(t)
			repository.offer(t, c.head)
			log := repository.run(t, github.Proposed(base))
			log.Ended(t, c.jobs)
			var errs []annotation
			for _, a := range log.annotations {
				if a.Level == "error" {
					errs = append(errs, a)
				}
			}
			slices.SortFunc(errs, func(a, b annotation) int { return strings.Compare(a.File+a.Title, b.File+b.Title) })
			if !slices.Equal(errs, c.want) {
				t.Errorf("annotations %+v, not %+v", errs, c.want)
			}
		})
	}
}

// TestProposalRefused: the requester gets a comment in the pull request. There is none for a fork,
// since its token may not write.
func TestProposalRefused(t *testing.T) {
	runner := newRunner(t)
	repository := runner.remoted(t, template(t, sigstore(t, github.MergeFile)))
	api := repository.gitHub(t, true)
	base := repository.tip(t)
	repository.offer(t, map[string]string{"unsigned/sloppy.yaml": sloppy})
	for _, c := range []struct {
		from string
		jobs map[string]string
		said []string
	}{
		{"mallory/" + github.Name, map[string]string{"validate": "failure", "verify": "success"}, nil},
		{github.Owner + "/" + github.Name, map[string]string{"validate": "failure", "verify": "success", "notify-refused": "success"}, []string{"- Refused: `missing-ticket, wildcard-rule`"}},
	} {
		proposed := github.Proposed(base)
		proposed.API = api.URL
		proposed.Payload = strings.Replace(proposed.Payload, `"head": {`, `"number": 1, "head": {"repo": {"full_name": "`+c.from+`"}, `, 1)
		repository.run(t, proposed).Ended(t, c.jobs)
		said(t, api, 1, c.said...)
	}
}

// TestTemplateAsItStands: until all placeholders of the template are replaced, it trusts no signer,
// and nothing is signed.
func TestTemplateAsItStands(t *testing.T) {
	runner, s := newRunner(t), sigstore(t, github.MergeFile)
	files := template(t, s)
	for _, open := range []struct{ filled, left string }{
		{"repository: " + github.Owner + "/" + github.Name, "repository: <owner>/<repository>"},
		{"repositoryID: 1001", "repositoryID: <repository id>"},
		{`"2001"`, `"<owner id>"`},
	} {
		t.Run(open.left, func(t *testing.T) {
			left := maps.Clone(files)
			if left[".polex.yaml"] = strings.Replace(left[".polex.yaml"], open.filled, open.left, 1); left[".polex.yaml"] == files[".polex.yaml"] {
				t.Fatalf("the template does not say %s", open.left)
			}
			repository := runner.remoted(t, left)
			merged := repository.merge(t, map[string]string{"unsigned/web.yaml": narrow})
			log := repository.run(t, pushed(s, repository.gitHub(t, true), merged))
			// polex rejects it before the signing job starts, or that job fails.
			if log.Results["settings"] != "failure" && log.Results["sign"] != "failure" || repository.tip(t) != merged {
				t.Errorf("it ended with %q, and main is at %s, the merge at %s", log.Results, repository.tip(t), merged)
			}
		})
	}
}
