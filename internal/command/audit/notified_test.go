package audit

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/notify"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// TestSlowAddressee: an addressee that never answers takes its own time alone, and the report names the missing answer.
func TestSlowAddressee(t *testing.T) {
	refused := filepath.Join(t.TempDir(), "report.json")
	const report = `{"apiVersion": "polex.dev/v1alpha1", "kind": "Report", "results": [
		{"outcome": "refused", "file": "unsigned/a.yaml", "reason": "malformed"},
		{"outcome": "refused", "file": "unsigned/b.yaml", "reason": "malformed"}]}`
	must.Do(t, os.WriteFile(refused, []byte(report), 0o600))
	var out bytes.Buffer
	sent := 0
	n := &notification{
		notifyOptions: &notifyOptions{refused: refused}, streams: cli.Streams{Out: &out},
		format: cli.AddFormatFlag(&cobra.Command{}), timeout: time.Millisecond,
		report: &cli.Report{Reasons: notifyReasons()},
		recipients: []recipient{
			{name: "slack", send: func(ctx context.Context, _ notify.Event) (string, error) {
				<-ctx.Done()
				return "", ctx.Err()
			}},
			{name: "json", send: func(context.Context, notify.Event) (string, error) {
				sent++
				return "told json", nil
			}},
		},
	}
	err := n.notify(t.Context())
	expect.That(t, errors.Is(err, cli.StatusError(cli.Undecided)), "the error is %v", err)
	const late = "refused: slack not notified: all its notifications together took longer than 1ms [not-told]\n"
	if got := out.String(); strings.Count(got, late) != 2 || strings.Count(got, "refused: told json [told]\n") != 2 {
		t.Errorf("the report:\n%s", got)
	}
	expect.That(t, sent == 2, "json was told %d events", sent)
}

func TestAt(t *testing.T) {
	for text, want := range map[string]string{
		"2026-09-30":                "2026-09-30T23:59:59Z",
		"2026-09-30T10:00:00Z":      "2026-09-30T10:00:00Z",
		"2026-09-30T01:00:00+02:00": "2026-09-29T23:00:00Z",
		"2026-9-30":                 "",
		"2026-09-30T10:00:00":       "", // no time zone
		"2026-02-30":                "",
		"":                          "",
	} {
		at, err := parseAt(text)
		if (err != nil) != (want == "") || err == nil && at.Format(time.RFC3339) != want {
			t.Errorf("%q is %s, %v", text, at.Format(time.RFC3339), err)
		}
	}
}
