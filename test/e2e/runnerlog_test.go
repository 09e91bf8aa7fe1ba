//go:build e2e

package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"testing"
)

// played is what is left of a run.
type played struct {
	result      string // of the job
	annotations []annotation
	summaries   []string
	text        string
}

// readLog reads act's log, an object on each line. It says there what it took
// for a command to the runner.
func readLog(t *testing.T, out []byte) played {
	t.Helper()
	var log played
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var entry struct {
			Command, Content, JobResult, Msg string
			KvPairs                          map[string]string
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
			log.result = entry.JobResult
		}
		log.text += entry.Msg + "\n"
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return log
}
