package ledger_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/polex-dev/polex/internal/git"
	"github.com/polex-dev/polex/internal/ledger"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// lines returns the important fields of each entry, without values that differ in each run.
func lines(l *ledger.Ledger) []string {
	var all []string
	for _, e := range l.Entries {
		line := fmt.Sprintf("%s/%s %d %s", e.Identity.Namespace, e.Identity.Name, e.Version, e.State)
		if e.Seal != nil {
			line += fmt.Sprintf(" verified=%v", e.Verified)
		}
		if e.Request != nil {
			who, _, _ := strings.Cut(e.Request.By, " ")
			line += " asked:" + who
			if e.Request.Merged != nil {
				who, _, _ := strings.Cut(e.Request.Merged.By, " ")
				line += " merged:" + who
			}
		}
		if e.Left != nil {
			who, _, _ := strings.Cut(e.Left.By, " ")
			line += fmt.Sprintf(" left:%s by %s", e.Left.How, who)
		}
		if e.Returned {
			line += " returned"
		}
		all = append(all, line+" reason:"+e.Said.Reason)
	}
	return all
}

func found(l *ledger.Ledger) []string {
	var all []string
	for _, f := range l.Findings {
		all = append(all, strings.TrimSpace(string(f.Kind)+" "+f.Object+" "+f.File))
	}
	return all
}

// story is a repository with every kind of event.
func story(t *testing.T, w *world) *repository {
	t.Helper()
	sealed := w.seal(t, draft("a", "30d", "first"), draft("a", "60d", "second"), draft("b", "30d", "b"), draft("c", "1h", "c"), draft("d", "30d", "d"))
	r := newRepository(t, w.now.Add(-time.Hour))
	r.commit("Root", "Begin", files{"README.md": "Exceptions"})
	r.merge("Ann", "Bob", "Ask for a", files{"unsigned/a.yaml": draft("a", "30d", "first"), "unsigned/note.txt": "x"})
	r.commit("Ann", "Better words", files{"unsigned/a.yaml": draft("a", "30d", "first, in better words")})
	r.commit("Workflow", "Sign", files{"unsigned/a.yaml": "", "signed/a.yaml": sealed[0]})
	r.commit("Cyd", "Ask for b and c, and for e", files{"unsigned/b.yaml": draft("b", "30d", "b"), "unsigned/c.yaml": draft("c", "1h", "c"), "unsigned/e.yaml": draft("e", "1h", "e")})
	r.commit("Workflow", "Sign two", files{"unsigned/b.yaml": "", "unsigned/c.yaml": "", "signed/many.yaml": sealed[2] + "---\n" + sealed[3]})
	r.commit("Dan", "Ask for a again", files{"unsigned/again.yaml": draft("a", "60d", "second")})
	r.commit("Workflow", "Sign a again\n\nPolex-Replaces: signed/a.yaml 1", files{"unsigned/again.yaml": "", "signed/a.yaml": "", "signed/again.yaml": sealed[1]})
	r.commit("Pruner", "Prune\n\nPolex-Pruned: signed/many.yaml 3", files{"signed/many.yaml": sealed[2]})
	r.commit("Eve", "Move it", files{"signed/many.yaml": "", "signed/team/b.yaml": sealed[2]})
	r.commit("Eve", "Drop it", files{"signed/team/b.yaml": "", "unsigned/e.yaml": ""})
	r.commit("Eve", "Put it back", files{"signed/b.yaml": sealed[2]})
	r.commit("Eve", "Without a request", files{"signed/d.yaml": sealed[4]})
	r.commit("Eve", "Without a seal", files{"signed/evil.yaml": draft("evil", "1h", "trust me"), "signed/bad.yaml": "kind: [\n"})
	r.commit("Eve", "Twice", files{"signed/zd.yaml": sealed[4]})
	r.commit("Fay", "Ask for f", files{"unsigned/f.yaml": draft("f", "1h", "f")})
	return r
}

func TestStory(t *testing.T) {
	w := inWorld(t)
	r := story(t, w)
	l := r.mustRead(w, nil)
	want := []string{
		"platform/a 1 removed verified=true asked:Ann merged:Bob left:replaced by Workflow reason:first",
		"platform/a 2 open verified=true asked:Dan reason:second",
		"platform/b 1 removed verified=true asked:Cyd left:withdrawn by Eve reason:b",
		"platform/b 2 open verified=true returned reason:b",
		"platform/c 1 removed verified=true asked:Cyd left:pruned by Pruner reason:c",
		"platform/d 1 open verified=true reason:d",
		"platform/d 2 open verified=true reason:d",
		"platform/e 0 dropped asked:Cyd left:withdrawn by Eve reason:e",
		"platform/evil 1 unsigned verified=false reason:trust me",
		"platform/f 0 waiting asked:Fay reason:f",
	}
	expect.Equal(t, "entries", want, lines(l))
	const object = "PolicyException.kyverno.io platform/"
	expect.Equal(t, "findings", []string{
		"unsigned " + object + "evil signed/evil.yaml",
		"returned " + object + "b signed/b.yaml",
		"duplicate-identity " + object + "d signed/d.yaml",
		"unreadable  signed/bad.yaml",
	}, found(l))
	expect.That(t, l.Tip == r.git("x", "rev-parse", "HEAD") && l.Commits == 16 && l.Merged == 1 && !l.Shallow,
		"%d commits, %d merged, to %s", l.Commits, l.Merged, l.Tip)

	count := func(name string) []ledger.Count { return []ledger.Count{{Name: name, Open: 4, Ever: 7}} }
	expect.Equal(t, "sums", ledger.Sums{Policies: count("require-run-as-nonroot"), Exempted: count("data"), Owners: count("team-a"),
		Renewals: []ledger.Count{}, NotCounted: 1}, l.Sums())

	// The certificate's data is on the signature, and the signing time is proven.
	s := l.Entries[1].Seal.Signatures[0]
	if s.Authority != "merge" || s.Subject != subject || !strings.Contains(s.Run, "/actions/runs/") || s.Source != "https://github.com/acme/exceptions" ||
		len(s.Commit) != 40 || s.LogIndex < 0 || l.Entries[1].Seal.SignedAt.Before(w.now) {
		t.Errorf("the signature says %+v", s)
	}

	// An expired exception is expired, and not invalid.
	later := r.mustRead(w, func(o *ledger.Options) { o.Now = w.now.Add(45 * 24 * time.Hour) })
	states := later.States()
	expect.That(t, states[ledger.Open] == 1 && states[ledger.Expired] == 3 && states[ledger.Unsigned] == 1,
		"45 days later there are %v", states)
	for _, e := range later.Entries {
		if e.State == ledger.Expired && (!e.Verified || !e.Seal.AtSigning.Holds || e.Said.Reason == "") {
			t.Errorf("what %s says held when it was signed: %+v", e.Identity, e.Seal)
		}
	}
}

// TestAt: the report for an earlier time shows the state at that time.
func TestAt(t *testing.T) {
	w := inWorld(t)
	r := story(t, w)
	// Commits are a minute apart, from an hour before the signing on; a merge takes two.
	at := func(minute int) *ledger.Ledger {
		return r.mustRead(w, func(o *ledger.Options) { o.At = w.now.Add(-time.Hour + time.Duration(minute)*time.Minute) })
	}
	expect.Empty(t, "before the merge", lines(at(2)))
	expect.Equal(t, "result", []string{"platform/a 0 waiting asked:Ann merged:Bob reason:first"}, lines(at(3)))
	got := at(-5)
	expect.That(t, got.Commits == 0 && len(got.Entries) == 0, "before the beginning: %d commits", got.Commits)
	// The documents are signed after the commits, so at that time they are signed in the future.
	l := at(5)
	if e := l.Entries[0]; len(l.Entries) != 1 || e.State != ledger.Unverified || e.Seal.Now.Reason != "signed-in-the-future" || !e.Verified {
		t.Errorf("%q: %+v", lines(l), l.Entries[0].Seal)
	}
}

// TestSealedRequest: a signed document under unsigned/ is only a request there.
func TestSealedRequest(t *testing.T) {
	w := inWorld(t)
	sealed := w.seal(t, draft("a", "30d", "first"))[0]
	r := newRepository(t, w.now)
	r.commit("Workflow", "Sign", files{"signed/a.yaml": sealed})
	r.commit("Eve", "Ask for it again", files{"unsigned/a.yaml": sealed})
	l := r.mustRead(w, nil)
	expect.Equal(t, "entries",
		[]string{"platform/a 1 open verified=true reason:first", "platform/a 0 waiting asked:Eve reason:first"}, lines(l))
	e := l.Entries[1]
	expect.That(t, !e.Verified && e.Seal == nil, "a request is verified: %+v", e)
}

// TestUnbelieved: no field of an invalid signature is trusted.
func TestUnbelieved(t *testing.T) {
	w := inWorld(t)
	both := w.seal(t, draft("a", "30d", "honest"), draft("first", "30d", "first"))
	sealed := both[0]
	for name, tc := range map[string]struct{ text, reason string }{
		"altered":  {strings.Replace(sealed, "namespaces: [data]", "namespaces: [kube-system]", 1), "altered"},
		"reworded": {strings.Replace(sealed, "polex.dev/reason: \"honest\"", "polex.dev/reason: \"forged\"", 1), "altered"},
		"unsigned": {draft("a", "30d", "forged"), "unsigned"},
	} {
		t.Run(name, func(t *testing.T) {
			must.That(t, tc.text != sealed, "nothing is changed")
			r := newRepository(t, w.now)
			if tc.reason == "unsigned" { // without a first signature it is another kind of finding
				r.commit("Workflow", "Sign another", files{"signed/first.yaml": both[1]})
				r.commit("Pruner", "Prune\n\nPolex-Pruned: signed/first.yaml 1", files{"signed/first.yaml": "", "x": "y"})
			}
			r.commit("Eve", "Put it there", files{"signed/a.yaml": tc.text})
			l := r.mustRead(w, nil)
			if e := l.Entries[0]; e.Verified || e.State != ledger.State(tc.reason) || e.Seal.Now.Reason != tc.reason || e.Seal.AtSigning.Holds {
				t.Errorf("%+v", e.Seal)
			}
			if sums := l.Sums(); sums.NotCounted != 1 || len(sums.Policies) > 0 && sums.Policies[0].Open > 0 {
				t.Errorf("it is counted: %+v", sums)
			}
			r.commit("Eve", "Take it away", files{"signed/a.yaml": "", "x": "x"})
			got := found(r.mustRead(w, nil))
			expect.That(t, len(got) == 1 && strings.HasPrefix(got[0], "once-unverified "), "%q", got)
		})
	}
}

// TestMergedHistory: a history behind the second parent of a merge is found.
func TestMergedHistory(t *testing.T) {
	w := inWorld(t)
	sealed := w.seal(t, draft("hidden", "30d", "h"), draft("b", "30d", "b"))
	r := newRepository(t, w.now)
	r.commit("Root", "Begin", files{"README.md": "x"})
	r.git("Eve", "branch", "other")
	r.commit("Eve", "Put it there", files{"signed/hidden.yaml": sealed[0]})
	r.commit("Eve", "Take it away", files{"signed/hidden.yaml": ""})
	tip := git.NewHash(r.git("Eve", "rev-parse", "HEAD"))
	r.git("Eve", "checkout", "--quiet", "other")
	r.commit("Eve", "Something else", files{"signed/b.yaml": sealed[1]})
	r.git("Eve", "merge", "--quiet", "--no-ff", "--message", "Turn it round", "main")
	r.git("Eve", "branch", "--force", "main", "other")
	l := r.mustRead(w, func(o *ledger.Options) { o.Seen = tip })
	expect.Equal(t, "result",
		[]string{"off-the-line PolicyException.kyverno.io platform/hidden signed/hidden.yaml"}, found(l))
}

func TestShallow(t *testing.T) {
	w := inWorld(t)
	r := story(t, w)
	seen := git.NewHash(r.git("x", "rev-parse", "HEAD~1"))
	l := r.cloned("--depth=1").mustRead(w, func(o *ledger.Options) { o.Seen = seen })
	must.That(t, l.Shallow && l.Commits == 1, "%d commits", l.Commits)
	expect.Contains(t, strings.Join(found(l), ","), "shallow", "rewritten")
	for _, e := range l.Entries {
		expect.That(t, e.Request == nil || e.Request.Before, "%s was asked for before: %+v", e.Identity, e.Request)
		expect.That(t, e.Appeared == nil || e.Appeared.Before, "%s was there before: %+v", e.Identity, e.Appeared)
	}
}

func TestClocks(t *testing.T) {
	w := inWorld(t)
	r := newRepository(t, w.now.Add(-time.Hour))
	sealed := w.seal(t, draft("a", "30d", "a"))
	r.commit("Root", "Begin", files{"README.md": "x"})
	r.when = w.now.Add(100 * 24 * time.Hour)
	r.commit("Eve", "Ask in the future", files{"unsigned/a.yaml": draft("a", "30d", "a")})
	r.when = w.now.Add(-1000 * time.Hour)
	r.commit("Workflow", "Sign in the past", files{"unsigned/a.yaml": "", "signed/a.yaml": sealed[0]})
	l := r.mustRead(w, nil)
	expect.Equal(t, "result",
		[]string{"clock-skew", "clock-skew PolicyException.kyverno.io platform/a signed/a.yaml"}, found(l))
	// A commit time in the future does not delay later commits.
	if l := r.mustRead(w, func(o *ledger.Options) { o.At = w.now.Add(-time.Minute) }); len(l.Entries) != 1 || l.Commits != 3 {
		t.Errorf("%q", lines(l))
	}
}

func TestFolders(t *testing.T) {
	w := inWorld(t)
	r := newRepository(t, w.now)
	r.commit("Root", "Begin", files{"README.md": "x"})
	for _, pair := range [][2]string{{"signed", "signed"}, {"signed", "signed/unsigned"}, {".", "unsigned"}, {"../signed", "unsigned"}, {"", "unsigned"}} {
		_, err := r.read(w, func(o *ledger.Options) { o.Signed, o.Unsigned = pair[0], pair[1] })
		expect.That(t, errors.Is(err, ledger.ErrFolders), "%q: %v", pair, err)
	}
}

func TestDamage(t *testing.T) {
	w := inWorld(t)
	r := story(t, w)
	hash := r.git("x", "rev-parse", "HEAD~3:signed")
	must.Do(t, os.Remove(filepath.Join(r.dir, ".git", "objects", hash[:2], hash[2:])))
	_, err := r.read(w, nil)
	expect.Error(t, err, "the repository does not have it")
}

// TestCompare: a cluster that has an older signature, or an expired exception. The other differences are in test/cli.
func TestCompare(t *testing.T) {
	w := inWorld(t)
	sealed := w.seal(t, draft("a", "30d", "a"), draft("a", "60d", "newer"), draft("late", "1h", "l"))
	r := newRepository(t, w.now)
	r.commit("W", "Sign", files{"signed/a.yaml": sealed[1], "signed/late.yaml": sealed[2]})
	const object = "PolicyException.kyverno.io platform/"
	for name, tc := range map[string]struct {
		cluster []string
		at      time.Duration
		want    []string
	}{
		"in step":  {cluster: sealed[1:]},
		"outdated": {cluster: []string{sealed[0], sealed[2]}, want: []string{"cluster-outdated " + object + "a"}},
		"expired": {cluster: sealed[1:], at: 2 * time.Hour,
			want: []string{"expired " + object + "late signed/late.yaml", "cluster-expired " + object + "late"}},
	} {
		t.Run(name, func(t *testing.T) {
			l := r.mustRead(w, func(o *ledger.Options) { o.Now = w.now.Add(tc.at + time.Minute) })
			must.Do(t, l.Compare(func(add func(*exception.Document) error) (unreadable []string, err error) {
				for _, text := range tc.cluster {
					err = errors.Join(err, add(must.Get(exception.Parse([]byte(text), "cluster"))(t)))
				}
				return nil, err
			}, w.verifier))
			expect.Equal(t, "result", tc.want, found(l))
		})
	}
}

// TestDocs: docs/reference/audit.md names every kind of finding and every state, and no other.
func TestDocs(t *testing.T) {
	raw := must.Get(os.ReadFile("../../docs/reference/audit.md"))(t)
	text := string(raw)
	for _, kind := range ledger.Kinds() {
		if line := fmt.Sprintf("| `%s` | %s |\n", kind, kind.Doc()); !strings.Contains(strings.ReplaceAll(text, "`signed/`", "signed/"), line) {
			t.Errorf("there is no line %q", line)
		}
	}
	for _, state := range ledger.States() {
		expect.That(t, strings.Contains(text, fmt.Sprintf("\n| `%s` | ", state)), "there is no line for %s", state)
	}
	_, findings, _ := strings.Cut(text, "## Findings")
	findings, _, _ = strings.Cut(findings, "`--fail-on`")
	for _, name := range regexp.MustCompile("\n\\| `([^`]+)` ").FindAllStringSubmatch(findings, -1) {
		expect.That(t, ledger.Kind(name[1]).Doc() != "", "%s is no kind of finding", name[1])
	}
}
