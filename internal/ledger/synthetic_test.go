package ledger_test

import (
	"bytes"
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/polex-dev/polex/internal/ledger"
	"github.com/polex-dev/polex/pkg/exception"
)

// synthetic makes a repository with 20 commits for every 10 exceptions: 10 request one each, 8 sign
// one or two, and 2 remove two older ones. A fifth of the requests is in a merge.
func synthetic(tb testing.TB, w *world, exceptions int) *repository {
	tb.Helper()
	docs := make([]*exception.Document, exceptions)
	for i := range docs {
		text := draft(fmt.Sprintf("e%05d", i), fmt.Sprintf("%dd", 10+i%80), fmt.Sprintf("reason %d", i))
		doc, err := exception.Parse([]byte(text), "draft")
		if err != nil {
			tb.Fatal(err)
		}
		docs[i] = doc
	}
	sealed, err := w.signer.Seal(tb.Context(), docs, w.now)
	if err != nil {
		tb.Fatal(err)
	}
	r := newRepository(tb, w.now)
	h := &history{when: w.now.Add(-time.Duration(3*exceptions) * time.Minute)}
	pruned := 0
	for group := 0; group < exceptions; group += 10 {
		for i := group; i < group+10; i++ {
			h.commit("Ann", fmt.Sprintf("Ask for %d", i), i%5 == 0 && i > 0, write(fmt.Sprintf("unsigned/e%05d.yaml", i), docs[i].Source()))
		}
		for i := group; i < group+10; {
			var change []string
			take := 1 + (i%5)/4 // 4 and 9 together with the next one
			if i == group+4 || i == group+8 {
				take = 2
			}
			for range min(take, group+10-i) {
				change = append(change, write(fmt.Sprintf("signed/e%05d.yaml", i), sealed[i].Source()), fmt.Sprintf("D unsigned/e%05d.yaml\n", i))
				i++
			}
			h.commit("Workflow", "Sign", false, change...)
		}
		for range 2 {
			if group < 100 {
				h.commit("Somebody", "Something else", false, write("README.md", []byte(fmt.Sprint(h.mark))))
				continue
			}
			message, change := "Prune\n\n", []string{}
			for range 2 {
				message += fmt.Sprintf("Polex-Pruned: signed/e%05d.yaml 1\n", pruned)
				change = append(change, fmt.Sprintf("D signed/e%05d.yaml\n", pruned))
				pruned++
			}
			h.commit("Pruner", message, false, change...)
		}
	}
	cmd := exec.CommandContext(tb.Context(), "git", "fast-import", "--quiet")
	cmd.Dir, cmd.Stdin = r.dir, &h.stream
	if out, err := cmd.CombinedOutput(); err != nil {
		tb.Fatalf("%v\n%s", err, out)
	}
	r.git("x", "gc", "--quiet")
	return r
}

// history is a stream for git fast-import.
type history struct {
	stream bytes.Buffer
	mark   int
	when   time.Time
}

func write(path string, content []byte) string {
	return fmt.Sprintf("M 100644 inline %s\ndata %d\n%s\n", path, len(content), content)
}

// commit adds a commit to main or, if merged, a commit on a branch and its merge.
func (h *history) commit(who, message string, merged bool, changes ...string) {
	h.when = h.when.Add(time.Minute)
	by := fmt.Sprintf("%s <%s@example.com> %d +0000", who, who, h.when.Unix())
	tip := h.mark
	put := func(branch, message string, parents ...int) {
		h.mark++
		fmt.Fprintf(&h.stream, "commit refs/heads/%s\nmark :%d\nauthor %s\ncommitter %s\ndata %d\n%s\n", branch, h.mark, by, by, len(message), message)
		for i, parent := range parents {
			fmt.Fprintf(&h.stream, "%s :%d\n", []string{"from", "merge"}[min(i, 1)], parent)
		}
		for _, change := range changes {
			h.stream.WriteString(change)
		}
		h.stream.WriteString("\n")
	}
	switch {
	case merged:
		put("side", message, tip)
		put("main", "Merge", tip, h.mark)
	case tip == 0:
		put("main", message)
	default:
		put("main", message, tip)
	}
}

// TestSynthetic: the report of a long history is correct. It is the same from a clone.
func TestSynthetic(t *testing.T) {
	w := inWorld(t)
	const exceptions = 120
	r := synthetic(t, w, exceptions)
	first := r.mustRead(w, nil)
	states := first.States()
	if want := map[ledger.State]int{ledger.Open: exceptions - 8, ledger.Removed: 8}; !cmp.Equal(want, states) {
		t.Errorf("%v, and not %v", states, want)
	}
	for _, e := range first.Entries {
		if e.Request == nil || e.Request.By != "Ann <Ann@example.com>" || !e.Verified || e.Left != nil && e.Left.How != ledger.Pruned {
			t.Fatalf("%s: %+v", e.Identity, e)
		}
	}
	if len(first.Findings) != 0 {
		t.Errorf("%v", first.Findings)
	}
	clone := *r
	clone.dir = filepath.Join(t.TempDir(), "clone")
	r.git("x", "clone", "--quiet", "--bare", "file://"+r.dir, clone.dir)
	for name, again := range map[string]*ledger.Ledger{
		"cloned":     clone.mustRead(w, nil),
		"one worker": clone.mustRead(w, oneWorker(t)),
	} {
		if diff := cmp.Diff(lines(first), lines(again)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// BenchmarkLedger reads 10,000 commits with 5,000 exceptions, many of them expired. It measures
// these folders, and folders without files.
func BenchmarkLedger(b *testing.B) {
	w := inWorld(b)
	r := synthetic(b, w, 5000)
	later := func(o *ledger.Options) { o.Now = w.now.AddDate(0, 0, 45) }
	for name, bend := range map[string]func(*ledger.Options){
		"all":     func(*ledger.Options) {},
		"nothing": func(o *ledger.Options) { o.Signed, o.Unsigned = "a", "b" },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				l := r.mustRead(w, func(o *ledger.Options) { later(o); bend(o) })
				b.ReportMetric(float64(l.Commits+l.Merged), "commits")
				var memory runtime.MemStats
				runtime.ReadMemStats(&memory)
				b.ReportMetric(float64(memory.Sys)/1e6, "MB")
			}
		})
	}
}
