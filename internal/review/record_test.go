package review_test

import (
	"strings"
	"testing"

	"github.com/polex-dev/polex/internal/review"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/test/expect"
)

var record = review.Record{Source: review.SourceAPI, Commit: mergeCommit, Branch: "main", Number: 12,
	PullRequest: "https://github.com/acme/exceptions/pull/12", Requester: "alice", Approvers: []string{"bob", "carol"}}

const kyverno = `# why: SEC-1
apiVersion: kyverno.io/v2
kind: PolicyException
metadata:
  name: mongo
  namespace: platform
  annotations:
    polex.dev/reason: "it needs root"   # for now
spec: {}
`

const policies = `apiVersion: policies.kyverno.io/v1
kind: PolicyException
metadata: {name: mongo, namespace: platform}
spec:
  # which
  policyRefs: []
`

// The record is in the fields that the rest of polex reads, and everything else stays unchanged.
func TestWrite(t *testing.T) {
	for name, tc := range map[string]struct{ source, want string }{
		"kyverno.io": {kyverno, strings.Replace(kyverno, "    polex.dev/reason", `    polex.dev/requested-by: alice
    polex.dev/approved-by: "bob, carol"
    polex.dev/pull-request: "https://github.com/acme/exceptions/pull/12"
    polex.dev/merge-commit: cccccccccccccccccccccccccccccccccccccccc
    polex.dev/recorded-from: "api"
    polex.dev/reason`, 1)},
		"policies.kyverno.io": {policies, `apiVersion: policies.kyverno.io/v1
kind: PolicyException
metadata: {"annotations": {"polex.dev/requested-by": "alice", "polex.dev/pull-request": "https://github.com/acme/exceptions/pull/12", "polex.dev/merge-commit": "cccccccccccccccccccccccccccccccccccccccc", "polex.dev/recorded-from": "api"}, name: mongo, namespace: platform}
spec:
  # which
  properties:
    approved-by: "bob, carol"
  policyRefs: []
`},
	} {
		t.Run(name, func(t *testing.T) {
			doc := parse(t, tc.source)
			out := expect.Value(record.Write(doc))(t)
			expect.Equal(t, "result", tc.want, string(out.Source()))
			e, _ := out.Exception()
			if e.RequestedBy.Text != "alice" || e.ApprovedBy.Text != "bob, carol" || e.PullRequest.Text != record.PullRequest || len(e.Conflicts) > 0 {
				t.Errorf("it is read as %+v", e)
			}
		})
	}
}

// Unknown fields are not written.
func TestWriteLittle(t *testing.T) {
	little := review.Record{Source: review.SourceEvent, Commit: mergeCommit}
	out := expect.Value(little.Write(parse(t, kyverno)))(t)
	if out.Annotation(exception.AnnotationMergeCommit) != mergeCommit || out.Annotation(exception.AnnotationRecordedFrom) != "event" || len(little.Additions(out.GroupKind())) != 2 {
		t.Errorf("it is\n%s", out.Source())
	}
}

// A request must not have its own approval, even an empty one.
func TestRecordIn(t *testing.T) {
	annotated := func(key string) string {
		return strings.Replace(kyverno, "    polex.dev/reason", "    polex.dev/"+key+": \"\"\n    polex.dev/reason", 1)
	}
	with := func(key string) string { return policies + "  properties: {" + key + ": bob}\n" }
	for name, source := range map[string]string{
		"approved-by": annotated("approved-by"), "requested-by": annotated("requested-by"), "pull-request": annotated("pull-request"),
		"merge-commit": annotated("merge-commit"), "recorded-from": annotated("recorded-from"),
		"approved-by, natively": with("approved-by"), "requested-by, natively": with("requested-by"),
		"pull-request, natively": with("pull-request"), "merge-commit, natively": with("merge-commit"),
		"approved-by, as an annotation beside the native field": strings.Replace(policies, "{name", "{annotations: {polex.dev/approved-by: bob}, name", 1),
	} {
		t.Run(name, func(t *testing.T) {
			expect.Failure(record.Write(parse(t, source)))(t, "[claims-review]")
		})
	}
	for _, source := range []string{kyverno, policies} {
		expect.Empty(t, "claims", review.RecordIn(parse(t, source)))
	}
}

// A record that cannot be written is a refusal, and not left out.
func TestUnrecordable(t *testing.T) {
	for name, source := range map[string]string{
		"annotations that are nothing": strings.Replace(policies, "{name", "{annotations: null, name", 1),
		"properties that are nothing":  policies + "  properties:\n",
	} {
		t.Run(name, func(t *testing.T) {
			expect.Failure(record.Write(parse(t, source)))(t, "[unrecordable]")
		})
	}
}

func parse(t *testing.T, source string) *exception.Document {
	t.Helper()
	return expect.Value(exception.Parse([]byte(source), "unsigned/mongo.yaml"))(t)
}

// The list of reasons is complete, and each has a description.
func TestReasons(t *testing.T) {
	var names []string
	for _, r := range review.Reasons() {
		names = append(names, r.Name)
		if r.Doc == "" {
			t.Errorf("%s is not explained", r.Name)
		}
	}
	want := []string{"no-pull-request", "not-approved", "claims-review", "unrecordable", "no-new-approver", "approvers-unknown"}
	expect.Equal(t, "result", want, names)
}
