package promotion_test

import (
	"bufio"
	"fmt"
	"os/exec"
	"testing"

	"github.com/polex-dev/polex/internal/promotion"
	"github.com/polex-dev/polex/pkg/exception"
)

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
	in, err := importer.StdinPipe()
	r.must(err)
	r.must(importer.Start())
	w := bufio.NewWriter(in)
	filling := sealedFilling()
	for i := range oldCommits {
		fmt.Fprintf(w, "commit refs/heads/main\ncommitter Ann <ann@example.com> %d +0000\ndata 2\nx\n", 1_700_000_000+i)
		for n := i * oldSigned / oldCommits; n < (i+1)*oldSigned/oldCommits; n++ {
			content := sealedText(fmt.Sprintf("old-%d", n), filling)
			fmt.Fprintf(w, "M 644 inline signed/team-%d/old-%d.yaml\ndata %d\n%s\n", n%20, n, len(content), content)
		}
		if i == oldCommits-1 {
			for n := range newWaiting {
				content := exceptionText(fmt.Sprintf("new-%d", n))
				fmt.Fprintf(w, "M 644 inline unsigned/new-%d.yaml\ndata %d\n%s\n", n, len(content), content)
			}
		}
	}
	r.must(w.Flush())
	r.must(in.Close())
	r.must(importer.Wait())
	r.git("reset", "--quiet", "--hard", "main")
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

func sealedText(name, filling string) string {
	doc, err := exception.Parse([]byte(exceptionText(name)), name)
	if err != nil {
		return err.Error()
	}
	at := int(name[len(name)-1]) * 10
	out, err := doc.Add(exception.Addition{Path: exception.Path{"metadata", "annotations", "cosign.sigstore.dev/message"}, Value: name + filling[at:]})
	if err != nil {
		return err.Error()
	}
	return string(out.Source())
}

// BenchmarkLargeRepository plans and commits the pending exceptions in a repository with a long
// history and many signed exceptions.
func BenchmarkLargeRepository(b *testing.B) {
	r := largeRepository(b)
	b.ReportAllocs()
	for b.Loop() {
		q, err := r.try(r.Dir, promotion.Options{})
		if err != nil {
			b.Fatal(err)
		}
		if _, _, err := q.apply(stamp(b, q.Documents()), author()); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		r.git("reset", "--quiet", "--hard", "HEAD^")
		b.StartTimer()
	}
}
