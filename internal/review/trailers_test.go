package review_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/polex-dev/polex/internal/review"
)

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
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Errorf("it is %v, and should say %q", err, tc.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
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
			h.commits[mergeCommit] = review.Commit{Message: tc.message, AuthorEmail: "alice@example.com"}
			c := review.Config{Source: review.SourceTrailers, Branch: "main", History: h}
			if tc.change != nil {
				tc.change(&c)
			}
			r, err := review.New(c)
			if err != nil {
				t.Fatal(err)
			}
			record, err := r.Record(t.Context(), mongo())
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Errorf("it is %v, and should say %q", err, tc.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(record.Approvers, ", "); got != tc.want {
				t.Errorf("%q approved it, and should be %q", got, tc.want)
			}
		})
	}
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
		back, err := review.ParseTrailers(again)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(got, back); diff != "" {
			t.Errorf("%q\n%s", message, diff)
		}
	})
}
