package review_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/polex-dev/polex/internal/git"
	"github.com/polex-dev/polex/internal/review"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
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
			out := must.Get(record.Write(doc))(t)
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
	out := must.Get(little.Write(parse(t, kyverno)))(t)
	if out.Annotation(exception.AnnotationMergeCommit) != mergeCommit || out.Annotation(exception.AnnotationRecordedFrom) != "event" || len(little.Additions(out.GroupKind())) != 2 {
		t.Errorf("it is\n%s", out.Source())
	}
}

// A request must not have its own approval, even an empty one. A record that cannot be written is a
// refusal, and not left out.
func TestNotWritten(t *testing.T) {
	const claims, unrecordable = "[claims-review]", "[unrecordable]"
	annotated := func(text string) string { return strings.Replace(policies, "{name", "{annotations: "+text+", name", 1) }
	refused := map[string][2]string{
		"approved-by, as an annotation beside the native field": {annotated("{polex.dev/approved-by: bob}"), claims},
		"annotations that are nothing":                          {annotated("null"), unrecordable},
		"properties that are nothing":                           {policies + "  properties:\n", unrecordable},
	}
	for _, key := range []string{"approved-by", "requested-by", "pull-request", "merge-commit", "recorded-from"} {
		text := strings.Replace(kyverno, "    polex.dev/reason", "    polex.dev/"+key+": \"\"\n    polex.dev/reason", 1)
		refused[key] = [2]string{text, claims}
		if key != "recorded-from" {
			refused[key+", natively"] = [2]string{policies + "  properties: {" + key + ": bob}\n", claims}
		}
	}
	for name, tc := range refused {
		t.Run(name, func(t *testing.T) { expect.Failure(record.Write(parse(t, tc[0])))(t, tc[1]) })
	}
	for _, source := range []string{kyverno, policies} {
		expect.Empty(t, "claims", review.RecordIn(parse(t, source)))
	}
}

func parse(t *testing.T, source string) *exception.Document {
	t.Helper()
	return must.Get(exception.Parse([]byte(source), "unsigned/mongo.yaml"))(t)
}

// The list of reasons is complete, and each has a description.
func TestReasons(t *testing.T) {
	var names []string
	for _, r := range review.Reasons() {
		names = append(names, r.Name)
		expect.That(t, r.Doc != "", "%s is not explained", r.Name)
	}
	want := []string{"no-pull-request", "not-approved", "claims-review", "unrecordable", "no-new-approver", "approvers-unknown"}
	expect.Equal(t, "result", want, names)
}

func TestParseTrailers(t *testing.T) {
	bob := review.Signer{Name: "Bob", Email: "bob@example.com"}
	for name, tc := range map[string]struct {
		message string
		want    review.Trailers
		err     string
	}{
		"none":            {message: "Ask for mongo\n\nIt needs root.\n"},
		"the subject":     {message: "Approved-by: Bob <bob@example.com>"},
		"nothing":         {message: ""},
		"one":             {message: "Ask for mongo\n\nApproved-by: Bob <bob@example.com>\n", want: review.Trailers{Approvers: []review.Signer{bob}}},
		"in other cases":  {message: "Ask for mongo\n\napproved-by: Bob <bob@example.com>\n", want: review.Trailers{Approvers: []review.Signer{bob}}},
		"by Windows":      {message: "Ask for mongo\r\n\r\nApproved-by: Bob <bob@example.com>\r\n", want: review.Trailers{Approvers: []review.Signer{bob}}},
		"signed off":      {message: "Ask for mongo\n\nApproved-by: Bob <bob@example.com>\nSigned-off-by: Al <al@example.com>\n", want: review.Trailers{Approvers: []review.Signer{bob}}},
		"only looked at":  {message: "Ask for mongo\n\nReviewed-by: Bob <bob@example.com>\n"},
		"twice":           {message: "Ask for mongo\n\nApproved-by: Bob <bob@example.com>\nApproved-by: B. <BOB@example.com>\n", want: review.Trailers{Approvers: []review.Signer{bob}}},
		"others":          {message: "Ask for mongo\n\nAcked-by: Bob <bob@example.com>\nSigned-off-by: Al <al@example.com>\n"},
		"not at the end":  {message: "Ask for mongo\n\nApproved-by: Bob <bob@example.com>\n\nIt needs root.\n"},
		"in prose":        {message: "Ask for mongo\n\nIt is urgent, so\nApproved-by: Bob <bob@example.com>\n"},
		"before prose":    {message: "Ask for mongo\n\nApproved-by: Bob <bob@example.com>\nsaid somebody\n"},
		"a merge request": {message: "Merge branch 'mongo' into 'main'\n\nAsk for mongo\n\nSee merge request acme/infra/exceptions!7", want: review.Trailers{MergeRequest: "acme/infra/exceptions!7"}},
		"both": {message: "Merge branch 'mongo' into 'main'\n\nAsk for mongo\n\nSee merge request acme/exceptions!7\nApproved-by: Bob <bob@example.com>\n",
			want: review.Trailers{Approvers: []review.Signer{bob}, MergeRequest: "acme/exceptions!7"}},
		"two merge requests":           {message: "x\n\nSee merge request acme/a!7\nSee merge request acme/b!8", err: "two merge requests"},
		"a merge request of no number": {message: "x\n\nSee merge request acme/a!0"},
		"a merge request elsewhere":    {message: "x\n\nSee merge request acme/../../a!1"},
		"nobody":                       {message: "x\n\nApproved-by: everybody", err: "not written as Name <address>"},
		"two in one":                   {message: "x\n\nApproved-by: Eve, Bob <bob@example.com>", err: "not written as"},
		"a name that is turned round":  {message: "x\n\nApproved-by: B\u202eob <bob@example.com>", err: "not written as"},
		"an address of two":            {message: "x\n\nApproved-by: Bob <bob@example.com> <eve@example.com>", err: "not written as"},
		"more lines than are read":     {message: "x\n\n" + strings.Repeat("Approved-by: Bob <bob@example.com>\n", 101)},
		"a longer line than is read":   {message: "x\n\nApproved-by: Bob <bob@example.com>\nNote: " + strings.Repeat("x", 500)},
		"a longer text than is read":   {message: strings.Repeat("x", 1<<20) + "\n\nApproved-by: Bob <bob@example.com>", err: "longer than"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := review.ParseTrailers(tc.message)
			if tc.err != "" {
				expect.Error(t, err, tc.err)
				return
			}
			must.Do(t, err)
			expect.Equal(t, "result", tc.want, got)
		})
	}
}

func TestFromTrailers(t *testing.T) {
	for name, tc := range map[string]struct {
		message string
		change  func(c *review.Config)
		want    string // the approvers
		err     string
	}{
		"recorded":                   {message: "x\n\nApproved-by: Bob <bob@example.com>", want: "Bob <bob@example.com>"},
		"recorded in order":          {message: "x\n\nApproved-by: Dora <d@example.com>\nApproved-by: Bob <bob@example.com>", want: "Bob <bob@example.com>, Dora <d@example.com>"},
		"counted when configured":    {message: "x\n\nApproved-by: Bob <bob@example.com>", change: count(1), want: "Bob <bob@example.com>"},
		"too few":                    {message: "x\n\nApproved-by: Bob <bob@example.com>", change: count(2), err: "[not-approved]"},
		"who wrote the commit":       {message: "x\n\nApproved-by: Alice <ALICE@example.com>", change: count(1), err: "[not-approved]"},
		"nonsense":                   {message: "x\n\nApproved-by: me", err: "not written as"},
		"a commit that is not there": {change: func(c *review.Config) { delete(c.History.(*history).commits, mergeCommit) }, err: "object not found"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHistory()
			h.commits[mergeCommit] = git.Commit{Message: tc.message, Author: git.Stamp{Email: "alice@example.com"}}
			record, err := fromTrailers(t, h, tc.change)
			if tc.err != "" {
				expect.Error(t, err, tc.err)
				return
			}
			must.Do(t, err)
			expect.Is(t, "approved it", tc.want, strings.Join(record.Approvers, ", "))
		})
	}
}

// TestWritersDoNotApprove: no writer of a part of a request approves it, under any address.
func TestWritersDoNotApprove(t *testing.T) {
	const side, other = "5555555555555555555555555555555555555555", "6666666666666666666666666666666666666666"
	dev := git.Stamp{Name: "Dev", Email: "dev@example.com"}
	maria := git.Stamp{Name: "Maria", Email: "maria@example.com"}
	for name, tc := range map[string]struct {
		by      string
		parents []string
		side    git.Commit
		mailmap string
		counts  bool
	}{
		"another person":                   {by: "Bob <bob@example.com>", counts: true},
		"a fast-forward":                   {by: "Bob <bob@example.com>", parents: []string{baseCommit}},
		"the author":                       {by: "Dev <dev@example.com>"},
		"the author in another case":       {by: "D. <DEV@Example.com>"},
		"the author at another address":    {by: "dev <dev@home.example>"},
		"the author of an earlier commit":  {by: "Eve <eve@example.com>"},
		"the committer":                    {by: "Carl <carl@example.com>", side: git.Commit{Committer: git.Stamp{Name: "Carl", Email: "carl@example.com"}}},
		"a co-author":                      {by: "Carol <carol@example.com>", side: git.Commit{Message: "x\n\nco-authored-by: Carol <Carol@example.com>"}},
		"a co-author in the merge commit":  {by: "Finn <finn@example.com>"},
		"the person who merges":            {by: "Maria <maria@example.com>"},
		"an address of .mailmap":           {by: "D. <d@home.example>", mailmap: "Dev <dev@example.com> <d@home.example>\n"},
		"an address of .mailmap by a name": {by: "D. <d@home.example>", mailmap: "<x@example.com> <d@home.example>\n# more\nDev <X@example.com> old <dev@example.com>\n"},
		"another line of .mailmap":         {by: "Bob <bob@example.com>", mailmap: "Bob <bob@example.com> <b@example.com>\n", counts: true},
		"a merge of several branches":      {by: "Dev <dev@example.com>", parents: []string{baseCommit, other, side}},
		"a name that ends alike":           {by: "Ann Dev <ann-dev@example.com>", counts: true},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHistory()
			if tc.parents == nil {
				tc.parents = []string{baseCommit, side}
			}
			h.commits[mergeCommit] = git.Commit{Parents: hashes(tc.parents...), Author: maria, Committer: maria,
				Message: "Merge branch 'x'\n\nCo-authored-by: Finn <finn@example.com>\n\nSee merge request acme/exceptions!12\nApproved-by: " + tc.by}
			tc.side.Parents, tc.side.Author = hashes(other), dev
			h.commits[side] = tc.side
			h.commits[other] = git.Commit{Parents: hashes(baseCommit), Author: git.Stamp{Email: "eve@example.com"}}
			if tc.mailmap != "" {
				h.files[baseCommit+":.mailmap"] = tc.mailmap
			}
			record, err := fromTrailers(t, h, count(1))
			expect.That(t, !tc.counts || (err == nil && strings.Join(record.Approvers, "") == tc.by), "%v, %v", record, err)
			if !tc.counts {
				expect.Failure(record, err)(t, "[not-approved]")
			}
		})
	}
}

// TestTrailersRefuse: a message that cannot be read is a refusal of its own files.
func TestTrailersRefuse(t *testing.T) {
	for name, merge := range map[string]git.Commit{
		"nonsense":      {Message: "x\n\nApproved-by: me"},
		"a long text":   {Message: strings.Repeat("x", 1<<20) + "\n\nApproved-by: Bob <bob@example.com>"},
		"a large merge": {Message: "x\n\nApproved-by: Bob <bob@example.com>", Parents: hashes(baseCommit, fmt.Sprintf("%040d", 0))},
	} {
		h := newHistory()
		h.commits[mergeCommit] = merge
		for i := range 1001 {
			h.commits[fmt.Sprintf("%040d", i)] = git.Commit{Parents: hashes(fmt.Sprintf("%040d", i+1))}
		}
		_, err := fromTrailers(t, h, count(1))
		expect.Is(t, name, 1, len(exception.RefusalsIn(err)))
	}
}

// fromTrailers is the record of a history.
func fromTrailers(t *testing.T, h *history, change func(*review.Config)) (*review.Record, error) {
	t.Helper()
	c := review.Config{Source: review.SourceTrailers, Branch: "main", History: h}
	if change != nil {
		change(&c)
	}
	return must.Get(review.New(c))(t).Record(t.Context(), mongo())
}

func count(approvals int) func(*review.Config) {
	return func(c *review.Config) { c.InsecureCountTrailers, c.RequireApprovals = true, approvals }
}

// Every parsed approver can be written as a trailer, and parsing it gives the same result.
func FuzzParseTrailers(f *testing.F) {
	f.Add("x\n\nApproved-by: Bob <bob@example.com>\nSee merge request acme/exceptions!7")
	f.Add("x\n\nApproved-by: B\u202e <b@x>\r\n")
	f.Fuzz(func(t *testing.T, message string) {
		got, err := review.ParseTrailers(message)
		if err != nil {
			return
		}
		again := "x\n\n"
		for _, who := range got.Approvers {
			again += "Approved-by: " + who.String() + "\n"
		}
		if got.MergeRequest != "" {
			again += "See merge request " + got.MergeRequest + "\n"
		}
		back := must.Get(review.ParseTrailers(again))(t)
		expect.Equal(t, message, got, back)
	})
}
