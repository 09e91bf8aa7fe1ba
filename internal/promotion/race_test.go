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

// TestRunAsksBetweenBatches: a run signs no file that another run has promoted, or somebody has
// withdrawn, since its last batch.
func TestRunAsksBetweenBatches(t *testing.T) {
	for name, tc := range map[string]struct {
		meanwhile string // a pattern of files that leave during the first batch
		batches   []int
		promoted  int
	}{
		"nothing":               {"", []int{8, 16, 16}, 40},
		"all":                   {"unsigned/e*", []int{8}, 0},
		"some signed, some not": {"unsigned/e[0-2]*", []int{8, 10}, 10},
		"only what is signed":   {"unsigned/e00.yaml", []int{8, 16, 16}, 39},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRepository(t, pendingFiles(40))
			other := r.remote()
			job, _ := r.pushing()
			var batches []int
			job.Signer = signing(func(_ context.Context, docs []*exception.Document) ([]*exception.Document, error) {
				if len(batches) == 0 && tc.meanwhile != "" {
					other.Git("rm", "--quiet", tc.meanwhile)
					other.pushed("Withdraw")
				}
				batches = append(batches, len(docs))
				return stamp(t, docs), nil
			})
			result, err := promotion.Run(t.Context(), job)
			must.Do(r.TB, err)
			expect.Equal(t, "batches", tc.batches, batches)
			if got := len(result.Moves); got != tc.promoted || len(result.Skipped) != 40-got {
				t.Errorf("%d promoted, want %d; %d skipped", got, tc.promoted, len(result.Skipped))
			}
		})
	}
}

// TestRunNamesRefusedBetweenBatches: a file that the moved target branch refuses before its batch is a
// finding, as one that is refused after it was signed.
func TestRunNamesRefusedBetweenBatches(t *testing.T) {
	for name, refused := range map[string]string{"signed": "e00", "not signed yet": "e30"} {
		t.Run(name, func(t *testing.T) {
			files := pendingFiles(40)
			r := newRepository(t, files)
			other := r.remote()
			job, _ := r.pushing()
			job.KeepGoing = true
			batches := 0
			job.Signer = signing(func(_ context.Context, docs []*exception.Document) ([]*exception.Document, error) {
				if batches++; batches == 1 {
					other.Write("signed/other.yaml", files["unsigned/"+refused+".yaml"])
					other.pushed("Sign it elsewhere")
				}
				return stamp(t, docs), nil
			})
			result, err := promotion.Run(t.Context(), job)
			must.Do(r.TB, err)
			if len(result.Moves) != 39 || result.LeftOut != 1 || len(result.Findings) != 1 ||
				result.Findings[0].Position.File != "unsigned/"+refused+".yaml" {
				t.Errorf("%d promoted, %d left out, findings %v", len(result.Moves), result.LeftOut, result.Findings)
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

// TestRunRemoteAway: a run signs nothing more once its remote cannot be asked.
func TestRunRemoteAway(t *testing.T) {
	r := newRepository(t, pendingFiles(40))
	r.remote()
	head := r.Head()
	job, _ := r.pushing()
	signed := 0
	job.Signer = signing(func(_ context.Context, docs []*exception.Document) ([]*exception.Document, error) {
		r.Git("remote", "set-url", "origin", t.TempDir())
		signed += len(docs)
		return stamp(t, docs), nil
	})
	result, err := promotion.Run(t.Context(), job)
	expect.That(t, err != nil && signed == 8 && result.Moves == nil, "%d signed: %v", signed, err)
	r.unchanged(head)
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
