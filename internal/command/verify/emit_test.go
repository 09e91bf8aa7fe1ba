package verify

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/trust"
	"github.com/polex-dev/polex/pkg/verify"
)

// TestTooMuchToEmit: verified documents above the size limit are undecided, and none is printed.
// The scripts in test/cli do not reach 64 MiB.
func TestTooMuchToEmit(t *testing.T) {
	testdata := filepath.Join("..", "..", "..", "pkg", "verify", "testdata")
	source, err := os.ReadFile(filepath.Join(testdata, "sealed.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	doc, err := exception.Parse(source, "sealed.yaml")
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := cli.LoadConfig(filepath.Join(testdata, "sealed.policy.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	config, err := trust.Read(cfg.Document(), cfg.Dir)
	if err != nil {
		t.Fatal(err)
	}
	policy, err := trust.Load(config)
	if err != nil {
		t.Fatal(err)
	}
	verifier, err := verify.New(policy)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		form  string
		limit int
		want  int
	}{
		{"message", 1000, cli.Passed}, {"message", 100, cli.Undecided},
		{"signed", 20000, cli.Passed}, {"signed", 1000, cli.Undecided},
	} {
		r := run{verifier: verifier, report: &cli.Report{Documents: 1}, now: time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC),
			emit: &emission{form: tc.form, stream: exception.Stream{Limit: tc.limit}}}
		r.settle(doc, r.verify(doc))
		var out strings.Builder
		if err := r.emit.write(&out, r.report); err != nil {
			t.Fatal(err)
		}
		if r.report.Status() != tc.want || (out.Len() > 0) != (tc.want == cli.Passed) {
			t.Errorf("%s of %d bytes: status %d, %q, %+v", tc.form, tc.limit, r.report.Status(), out.String(), r.report.Results())
		}
		if tc.want == cli.Undecided && r.report.Results()[0].Reason != reasonNotEmitted {
			t.Errorf("%s of %d bytes: %+v", tc.form, tc.limit, r.report.Results())
		}
	}
}
