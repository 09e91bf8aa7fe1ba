package promotion_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/polex-dev/polex/internal/git"
	"github.com/polex-dev/polex/internal/promotion"
	"github.com/polex-dev/polex/internal/promotion/pending"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/lifetime"
	"github.com/polex-dev/polex/pkg/shape"
	"github.com/polex-dev/polex/pkg/sign"
)

// TestGrandfathered: a grandfathered exception is signed with the expiry of its entry, also with a
// review record. After it was signed once, it is never signed again.
func TestGrandfathered(t *testing.T) {
	text := podText("a", "a")
	signed := strings.Replace(text, "  namespace:", "  annotations: {cosign.sigstore.dev/message: x}\n  namespace:", 1)
	again := []string{"unsigned/a.yaml " + pending.ReasonAlreadySigned}
	removed := func(r *repository, name string) {
		r.git("rm", "--quiet", name)
		r.commit("Remove it")
	}
	ask := func(r *repository, text string) {
		r.write("unsigned/a.yaml", text)
		r.commit("Ask for it")
	}
	for _, tc := range []struct {
		name    string
		history func(r *repository)
		want    []string
		err     error
	}{
		{name: "for the first time", history: func(r *repository) { ask(r, text) }, want: []string{"signed/a.yaml"}},
		{name: "withdrawn before it was signed", history: func(r *repository) {
			ask(r, text)
			removed(r, "unsigned/a.yaml")
			ask(r, text)
		}, want: []string{"signed/a.yaml"}},
		{name: "it lay in the folder before anything was signed", history: func(r *repository) {
			r.write("signed/a.yaml", text)
			r.commit("Excuse it")
			removed(r, "signed/a.yaml")
			ask(r, text)
		}, want: []string{"signed/a.yaml"}},
		{name: "signed and removed", history: func(r *repository) {
			r.write("signed/a.yaml", signed)
			r.commit("Sign it")
			removed(r, "signed/a.yaml")
			ask(r, text)
		}, want: again},
		{name: "signed in another file, with other rules", history: func(r *repository) {
			r.write("signed/team/b.yaml", strings.Replace(signed, "[r]", "[s]", 1))
			r.commit("Sign it")
			removed(r, "signed/team/b.yaml")
			ask(r, text)
		}, want: again},
		{name: "signed and removed on a branch that was merged the wrong way round", history: func(r *repository) {
			r.git("branch", "side")
			r.write("signed/a.yaml", signed)
			r.commit("Sign it")
			removed(r, "signed/a.yaml")
			r.git("checkout", "--quiet", "side")
			r.git("merge", "--quiet", "--no-ff", "--message=Merge main", "main")
			r.git("branch", "--force", "main")
			r.git("checkout", "--quiet", "main")
			ask(r, text)
		}, want: again},
		{name: "another one was signed and removed", history: func(r *repository) {
			r.write("signed/b.yaml", strings.ReplaceAll(signed, "name: a", "name: b"))
			r.commit("Sign it")
			removed(r, "signed/b.yaml")
			ask(r, text)
		}, want: []string{"signed/a.yaml"}},
		{name: "with an end of its own, signed and removed", history: func(r *repository) {
			r.write("signed/a.yaml", signed)
			r.commit("Sign it")
			removed(r, "signed/a.yaml")
			ask(r, strings.Replace(text, "  namespace:", "  annotations: {polex.dev/expires-in: 7d}\n  namespace:", 1))
		}, want: []string{"signed/a.yaml"}},
		{name: "in a shallow clone", history: func(r *repository) {
			ask(r, text)
			r.write(".git/shallow", r.head()+"\n")
		}, err: git.ErrShallow},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRepository(t, nil)
			tc.history(r)
			job, _ := r.job()
			until := committedAt.Add(90 * 24 * time.Hour)
			job.Checks.Rules = sign.Rules{Terms: lifetime.Terms{Grandfathered: map[string]time.Time{lifetime.ContentDigest(parse(t, text)): until}}}
			config := shape.Config{}
			config.Rules.Terms = job.Checks.Rules.Terms
			var err error
			job.Checks.Shape, err = shape.New(config)
			r.must(err)
			job.Recorder = recording(func(plan *promotion.Plan) ([]*exception.Document, error) {
				var docs []*exception.Document
				for _, doc := range plan.Prepared() {
					recorded, err := doc.Add(exception.Addition{Path: exception.Path{"metadata", "annotations", exception.AnnotationApprovedBy}, Value: "bob"})
					r.must(err)
					docs = append(docs, recorded)
				}
				return docs, nil
			})
			job.Signer = signing(func(_ context.Context, docs []*exception.Document) ([]*exception.Document, error) {
				return docs, nil
			})
			result, err := promotion.Run(t.Context(), job)
			if tc.err != nil {
				if !errors.Is(err, tc.err) {
					t.Errorf("Run: %v, want %v", err, tc.err)
				}
				return
			}
			r.must(err)
			if diff := cmp.Diff(tc.want, outcome(result)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if tc.name == "for the first time" && !strings.Contains(r.read("signed/a.yaml"), `polex.dev/expires-at: "`+until.Format(time.RFC3339)) {
				t.Errorf("it has no end:\n%s", r.read("signed/a.yaml"))
			}
		})
	}
}
