package github

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"
)

// Log is the result of a run.
type Log struct {
	Results     map[string]string // of the jobs that ran
	Annotations []Annotation
	Summaries   []string
	Text        string
}

// Annotation is GitHub's message at a line of the change.
type Annotation struct{ Level, File, Line, Title string }

// Succeeded reports whether no job failed.
func (l *Log) Succeeded() bool {
	return !slices.Contains(slices.Collect(maps.Values(l.Results)), "failure")
}

// All gives jobs the result of a success.
func All(jobs ...string) map[string]string {
	results := map[string]string{}
	for _, job := range jobs {
		results[job] = "success"
	}
	return results
}

// Ended ends a test unless exactly these jobs ran, with these results.
func (l *Log) Ended(t testing.TB, want map[string]string) {
	t.Helper()
	if !maps.Equal(want, l.Results) {
		t.Fatalf("the jobs are %v, want %v\n%s", l.Results, want, l.Text)
	}
}

// readLog reads act's log, a JSON object on each line. It also has the commands to the runner.
func readLog(out []byte) (*Log, error) {
	log := &Log{Results: map[string]string{}}
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var entry struct {
			Command, Content, JobID, JobResult, Msg string
			KvPairs                                 map[string]string
		}
		if err := json.Unmarshal(lines.Bytes(), &entry); err != nil {
			return nil, fmt.Errorf("read the log of act: %w: %s", err, lines.Bytes())
		}
		switch entry.Command {
		case "error", "warning", "notice":
			log.Annotations = append(log.Annotations, Annotation{entry.Command, entry.KvPairs["file"], entry.KvPairs["line"], entry.KvPairs["title"]})
		case "summary":
			log.Summaries = append(log.Summaries, entry.Content)
		}
		if entry.JobResult != "" {
			log.Results[entry.JobID] = entry.JobResult
		}
		log.Text += entry.Msg + "\n"
	}
	return log, lines.Err()
}
