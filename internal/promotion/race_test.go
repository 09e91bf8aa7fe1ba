package promotion_test

import (
	"bufio"
	"context"
	"fmt"
	"os/exec"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/polex-dev/polex/internal/promotion"
	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/internal/sandbox/sandboxtest"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/shape"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// pendingFiles returns so many requests.
func pendingFiles(n int) map[string]string {
	files := map[string]string{}
	for i := range n {
		name := fmt.Sprintf("e%02d", i)
		files["unsigned/"+name+".yaml"] = asking(podText(name, name))
	}
	return files
}

// TestRunMeanwhile: others act during the first batch of a run that pushes. The run asks the remote between batches. It
// signs no file that another run has promoted, somebody has withdrawn, or the moved branch refuses, and names the latter.
func TestRunMeanwhile(t *testing.T) {
	files := pendingFiles(40)
	withdrawn := func(pattern string) func(_, other *repository) {
		return func(_, other *repository) {
			other.Git("rm", "--quiet", pattern)
			other.pushed("Withdraw")
		}
	}
	signed := func(text string) func(_, other *repository) {
		return func(_, other *repository) {
			other.Write("signed/other.yaml", text)
			other.pushed("Sign it elsewhere")
		}
	}
	keepsGoing := func(_ *repository, j *promotion.Job) { j.KeepGoing = true }
	for name, tc := range map[string]struct {
		change            func(*repository, *promotion.Job)
		meanwhile         func(r, other *repository)
		batches           []int
		promoted, skipped int
		findings          []string
		fails             bool
	}{
		"nothing":               {batches: []int{8, 16, 16}, promoted: 40},
		"all":                   {meanwhile: withdrawn("unsigned/e*"), batches: []int{8}, skipped: 40},
		"some signed, some not": {meanwhile: withdrawn("unsigned/e[0-2]*"), batches: []int{8, 10}, promoted: 10, skipped: 30},
		"only what is signed":   {meanwhile: withdrawn("unsigned/e00.yaml"), batches: []int{8, 16, 16}, promoted: 39, skipped: 1},
		"signed elsewhere, after it was signed": {change: keepsGoing, meanwhile: signed(files["unsigned/e00.yaml"]),
			batches: []int{8, 16, 16}, promoted: 39, findings: []string{"unsigned/e00.yaml already-signed"}},
		"signed elsewhere, before it was signed": {change: keepsGoing, meanwhile: signed(files["unsigned/e30.yaml"]),
			batches: []int{8, 16, 15}, promoted: 39, findings: []string{"unsigned/e30.yaml already-signed"}},
		"an overlap": {change: (*repository).noOverlaps, meanwhile: signed(podText("old", "e00")),
			batches: []int{8}, findings: []string{"unsigned/e00.yaml " + shape.ReasonOverlaps}},
		"the remote is gone": {meanwhile: func(r, _ *repository) { r.Git("remote", "set-url", "origin", t.TempDir()) },
			batches: []int{8}, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRepository(t, files)
			other, head := r.remote(), r.Head()
			job, _ := r.pushing()
			if tc.change != nil {
				tc.change(r, &job)
			}
			var batches []int
			job.Signer = signing(func(_ context.Context, docs []*exception.Document) ([]*exception.Document, error) {
				if batches = append(batches, len(docs)); len(batches) == 1 && tc.meanwhile != nil {
					tc.meanwhile(r, other)
				}
				return stamp(t, docs), nil
			})
			result, err := promotion.Run(t.Context(), job)
			expect.That(t, (err != nil) == tc.fails, "Run: %v", err)
			expect.Equal(t, "batches", tc.batches, batches)
			expect.Equal(t, "promoted and skipped", []int{tc.promoted, tc.skipped}, []int{len(result.Moves), len(result.Skipped)})
			var findings []string
			for _, f := range result.Findings {
				findings = append(findings, f.Position.File+" "+f.Reason)
			}
			expect.Equal(t, "findings", tc.findings, findings)
			leftOut := map[bool]int{true: 1}[len(tc.findings) > 0 && tc.promoted > 0]
			expect.Is(t, "left out", leftOut, result.LeftOut)
			if tc.promoted == 0 && tc.skipped == 0 {
				r.unchanged(head)
			}
		})
	}
}

// BenchmarkRace counts the signatures of eight runs that begin at the same moment, the worst case.
func BenchmarkRace(b *testing.B) {
	const runs, requests = 8, 40
	box := must.Get(sandbox.Start(b.Context(), sandbox.Options{Dir: b.TempDir()}))(b)
	defer box.Close() //nolint:errcheck // a benchmark
	var signatures atomic.Int64
	for b.Loop() {
		b.StopTimer()
		origin := newRepository(b, pendingFiles(requests))
		other := origin.remote()
		remote := other.Git("remote", "get-url", "origin")
		var jobs []promotion.Job
		for range runs {
			r := repositoryAt(b, origin.Home, b.TempDir())
			r.Git("clone", "--quiet", remote[:len(remote)-1], ".")
			job, _ := r.pushing()
			job.Now = time.Now()
			signer := must.Get(sandboxtest.Signer(b.Context(), box, sandbox.Identity{}))(b)
			job.Signer = signing(func(ctx context.Context, docs []*exception.Document) ([]*exception.Document, error) {
				signatures.Add(int64(len(docs)))
				return signer.Sign(ctx, docs, job.Now)
			})
			jobs = append(jobs, job)
		}
		b.StartTimer()
		var group errgroup.Group
		for _, job := range jobs {
			group.Go(func() error {
				_, err := promotion.Run(b.Context(), job)
				return err
			})
		}
		must.Do(b, group.Wait())
	}
	b.ReportMetric(float64(signatures.Load())/float64(b.N*requests), "signatures/exception")
}

// The size of the measured repository.
const (
	oldCommits = 10_000
	oldSigned  = 10_000
	newWaiting = 10
)

// largeRepository has so many commits, signed exceptions of realistic size, and pending exceptions.
// Git makes it from a stream.
func largeRepository(tb testing.TB) *repository {
	tb.Helper()
	r := newRepository(tb, nil)
	importer := exec.Command("git", "fast-import", "--quiet", "--force")
	importer.Dir = r.Dir
	in := must.Get(importer.StdinPipe())(r.TB)
	must.Do(r.TB, importer.Start())
	w := bufio.NewWriter(in)
	filling := sealedFilling()
	for i := range oldCommits {
		fmt.Fprintf(w, "commit refs/heads/main\ncommitter Ann <ann@example.com> %d +0000\ndata 2\nx\n", 1_700_000_000+i)
		for n := i * oldSigned / oldCommits; n < (i+1)*oldSigned/oldCommits; n++ {
			content := sealedText(tb, fmt.Sprintf("old-%d", n), filling)
			fmt.Fprintf(w, "M 644 inline signed/team-%d/old-%d.yaml\ndata %d\n%s\n", n%20, n, len(content), content)
		}
		if i == oldCommits-1 {
			for n := range newWaiting {
				content := exceptionText(fmt.Sprintf("new-%d", n))
				fmt.Fprintf(w, "M 644 inline unsigned/new-%d.yaml\ndata %d\n%s\n", n, len(content), content)
			}
		}
	}
	must.Do(r.TB, w.Flush())
	must.Do(r.TB, in.Close())
	must.Do(r.TB, importer.Wait())
	r.Git("reset", "--quiet", "--hard", "main")
	return r
}

// sealedFilling is as long as the annotations of a signature.
func sealedFilling() string {
	filling := make([]byte, 7000)
	state := uint32(1)
	for i := range filling {
		state = state*1664525 + 1013904223
		filling[i] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdef"[state>>27]
	}
	return string(filling)
}

func sealedText(tb testing.TB, name, filling string) string {
	at := int(name[len(name)-1]) * 10
	message := exception.Addition{Path: exception.Path{"metadata", "annotations", "cosign.sigstore.dev/message"}, Value: name + filling[at:]}
	return string(must.Get(parse(tb, exceptionText(name)).Add(message))(tb).Source())
}

// BenchmarkLargeRepository plans and commits the pending exceptions in a repository with a long
// history and many signed exceptions.
func BenchmarkLargeRepository(b *testing.B) {
	r := largeRepository(b)
	b.ReportAllocs()
	for b.Loop() {
		q := must.Get(r.try(r.Dir, promotion.Options{}))(b)
		_, _, err := q.apply(stamp(b, q.Documents()), author())
		must.Do(b, err)
		b.StopTimer()
		r.Git("reset", "--quiet", "--hard", "HEAD^")
		b.StartTimer()
	}
}
