//go:build e2e

package workflow

import (
	"bufio"
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// played is what is left of a run.
type played struct {
	results     map[string]string // of the jobs that were run
	annotations []annotation
	summaries   []string
	text        string
}

// readLog reads act's log, an object on each line. It says there what it took
// for a command to the runner.
func readLog(t *testing.T, out []byte) played {
	t.Helper()
	log := played{results: map[string]string{}}
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var entry struct {
			Command, Content, JobID, JobResult, Msg string
			KvPairs                                 map[string]string
		}
		if err := json.Unmarshal(lines.Bytes(), &entry); err != nil {
			t.Fatalf("%v: %s", err, lines.Bytes())
		}
		switch entry.Command {
		case "error", "warning", "notice":
			log.annotations = append(log.annotations, annotation{entry.Command, entry.KvPairs["file"], entry.KvPairs["line"], entry.KvPairs["title"]})
		case "summary":
			log.summaries = append(log.summaries, entry.Content)
		}
		if entry.JobResult != "" {
			log.results[entry.JobID] = entry.JobResult
		}
		log.text += entry.Msg + "\n"
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return log
}

// summarizes checks that the jobs' summaries hold each of the parts.
func (p *played) summarizes(t *testing.T, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !slices.ContainsFunc(p.summaries, func(s string) bool { return strings.Contains(s, part) }) {
			t.Errorf("the summary does not say %q: %q", part, p.summaries)
		}
	}
}

// ended checks how each job ended.
func (p *played) ended(t *testing.T, want map[string]string) {
	t.Helper()
	if diff := cmp.Diff(want, p.results); diff != "" {
		t.Fatalf("jobs (-want +got):\n%s\n%s", diff, p.text)
	}
}
