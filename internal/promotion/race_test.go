package promotion_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/google/go-cmp/cmp"

	"github.com/polex-dev/polex/internal/promotion"
	"github.com/polex-dev/polex/internal/promotion/deliver"
	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/internal/sandbox/sandboxtest"
	"github.com/polex-dev/polex/pkg/exception"
)

// pendingFiles returns so many requests.
func pendingFiles(n int) map[string]string {
	files := map[string]string{}
	for i := range n {
		name := fmt.Sprintf("e%02d", i)
		files["unsigned/"+name+".yaml"] = strings.Replace(podText(name, name),
			"  namespace: team-a", "  namespace: team-a\n  annotations: {polex.dev/expires-in: 7d}", 1)
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
			job, _ := r.job()
			job.To.Way, job.To.Push = deliver.Push, toMain
			var batches []int
			job.Signer = signing(func(_ context.Context, docs []*exception.Document) ([]*exception.Document, error) {
				if len(batches) == 0 && tc.meanwhile != "" {
					other.git("rm", "--quiet", tc.meanwhile)
					other.pushed("Withdraw")
				}
				batches = append(batches, len(docs))
				return stamp(t, docs), nil
			})
			result, err := promotion.Run(t.Context(), job)
			r.must(err)
			if diff := cmp.Diff(tc.batches, batches); diff != "" {
				t.Errorf("batches (-want +got):\n%s", diff)
			}
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
			job, _ := r.job()
			job.To.Way, job.To.Push, job.KeepGoing = deliver.Push, toMain, true
			batches := 0
			job.Signer = signing(func(_ context.Context, docs []*exception.Document) ([]*exception.Document, error) {
				if batches++; batches == 1 {
					other.write("signed/other.yaml", files["unsigned/"+refused+".yaml"])
					other.pushed("Sign it elsewhere")
				}
				return stamp(t, docs), nil
			})
			result, err := promotion.Run(t.Context(), job)
			r.must(err)
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
	box, err := sandbox.Start(b.Context(), sandbox.Options{Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	defer box.Close() //nolint:errcheck // a benchmark
	var signatures atomic.Int64
	for b.Loop() {
		b.StopTimer()
		origin := newRepository(b, pendingFiles(requests))
		other := origin.remote()
		remote := other.git("remote", "get-url", "origin")
		var jobs []promotion.Job
		for range runs {
			r := &repository{tb: b, home: origin.home, Dir: b.TempDir()}
			r.git("clone", "--quiet", remote[:len(remote)-1], ".")
			job, _ := r.job()
			job.To.Way, job.To.Push, job.Now = deliver.Push, toMain, time.Now()
			signer, err := sandboxtest.Signer(b.Context(), box, sandbox.Identity{})
			r.must(err)
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
		if err := group.Wait(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(signatures.Load())/float64(b.N*requests), "signatures/exception")
}

// TestRunRemoteAway: a run signs nothing more once its remote cannot be asked.
func TestRunRemoteAway(t *testing.T) {
	r := newRepository(t, pendingFiles(40))
	r.remote()
	head := r.head()
	job, _ := r.job()
	job.To.Way, job.To.Push = deliver.Push, toMain
	signed := 0
	job.Signer = signing(func(_ context.Context, docs []*exception.Document) ([]*exception.Document, error) {
		r.git("remote", "set-url", "origin", t.TempDir())
		signed += len(docs)
		return stamp(t, docs), nil
	})
	if result, err := promotion.Run(t.Context(), job); err == nil || signed != 8 || result.Moves != nil {
		t.Errorf("%d signed: %v", signed, err)
	}
	r.unchanged(head)
}
