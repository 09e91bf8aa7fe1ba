//go:build unix

package cli_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// shown reads paths and returns the results with their lines, each after a change of the files.
func shown(t *testing.T, source func(path string) []cli.Result, change func(), paths ...string) string {
	t.Helper()
	report := &cli.Report{Tool: "polex-validate"}
	cli.Inputs{Paths: paths, Report: report}.Each(func(doc *exception.Document) { report.Add(source(doc.Position().File)...) })
	t.Setenv("NO_COLOR", "")
	t.Setenv("TERM", "xterm")
	change()
	out := &bytes.Buffer{}
	must.Do(t, cli.WriteToTerminal(out, report))
	expect.That(t, strings.Contains(out.String(), "\x1b[1;31m[r]\x1b[0m"), "no color: %q", out.String())
	return strings.NewReplacer("\x1b[0m", "", "\x1b[1m", "", "\x1b[36m", "", "\x1b[1;31m", "").Replace(out.String())
}

func nothing() {}

func write(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.yaml")
	must.Do(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

func at(line, column int) func(string) []cli.Result {
	return func(path string) []cli.Result {
		return []cli.Result{{Outcome: cli.Refuse, File: path, Line: line, Column: column, Reason: "r", Message: "m"}}
	}
}

const secret = "a: secret\n"

// TestExcerptOfAnotherFile: a result shows a line only of the regular file that was read. A pipe, a
// link and a replaced file show none, and do not block.
func TestExcerptOfAnotherFile(t *testing.T) {
	path := write(t, "a: 1\n")
	got := shown(t, at(1, 4), nothing, path)
	expect.That(t, strings.Contains(got, "    1 | a: 1\n      |    ^\n"), "a file: %q", got)
	other := write(t, secret)
	for name, change := range map[string]func(path string) error{
		"removed":  os.Remove,
		"replaced": func(path string) error { return os.Rename(write(t, secret), path) },
		"a link": func(path string) error {
			_ = os.Remove(path)
			return os.Symlink(other, path)
		},
		"a pipe": func(path string) error {
			_ = os.Remove(path)
			return syscall.Mkfifo(path, 0o600)
		},
		"rewritten": func(path string) error { return os.WriteFile(path, []byte(secret), 0o600) },
	} {
		path := write(t, "a: 1\n")
		got := shown(t, at(1, 4), func() { must.Do(t, change(path)) }, path)
		expect.That(t, !strings.Contains(got, "    1 |"), "%s: %q", name, got)
	}
	link := filepath.Join(t.TempDir(), "link.yaml")
	must.Do(t, os.Symlink(other, link))
	got = shown(t, at(1, 4), nothing, link)
	expect.That(t, !strings.Contains(got, "secret"), "a link: %q", got)
}

// TestExcerptOfPipe: a named pipe is read once. A second reader would wait for a writer.
func TestExcerptOfPipe(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	must.Do(t, syscall.Mkfifo(pipe, 0o600))
	ctx, written := context.WithCancel(t.Context())
	go func() {
		_ = os.WriteFile(pipe, []byte("a: 1\n"), 0) // opening waits for the reader
		written()
	}()
	got := shown(t, at(1, 4), func() { <-ctx.Done() }, pipe)
	expect.That(t, !strings.Contains(got, "    1 |"), "%q", got)
}

// TestExcerpt: columns are characters. A long line is cut between characters, also where it is not
// UTF-8, and no character of it reaches the terminal as an escape.
func TestExcerpt(t *testing.T) {
	long, invalid := strings.Repeat("é", 200), strings.Repeat("\xff", 200)
	for _, tc := range []struct {
		content      string
		line, column int
		want         string
	}{
		{"é: é\n", 1, 4, "    1 | é: é\n      |    ^\n"},
		{"a: 1\r\nb: 2\r\n", 2, 1, "    2 | b: 2\n      | ^\n"},
		{"a: \x1b]0;x\a\u202e\u009b: 1\n", 1, 9, "    1 | a: \\u001b]0;x\\u0007\\u202e\\u009b: 1\n      |" + strings.Repeat(" ", 14) + "^\n"},
		{"a: " + long + "\n", 1, 100, "    1 | a: " + long[:2*157] + "…\n      |" + strings.Repeat(" ", 100) + "^\n"},
		{"a: " + invalid + "\n", 1, 100, "    1 | a: " + strings.Repeat(`\xff`, 157) + "…\n      |" + strings.Repeat(" ", 4+4*96) + "^\n"},
		{"a: " + long + "\n", 1, 161, ""}, {"a: 1\n", 1, 6, ""}, {"a: 1\n", 3, 1, ""}, {"a: 1\n", 1, 5, "    1 | a: 1\n      |     ^\n"},
	} {
		path := write(t, "a: 1\n")
		read := func(string) []cli.Result { return at(tc.line, tc.column)(path) }
		must.Do(t, os.WriteFile(path, []byte(tc.content), 0o600))
		_, excerpt, _ := strings.Cut(shown(t, read, nothing, path, write(t, "a: 1\n")), " [r]\n")
		if lines := strings.SplitAfter(excerpt, "\n"); tc.want != "" && !strings.HasPrefix(excerpt, tc.want) || tc.want == "" && strings.Contains(lines[0], " | ") {
			t.Errorf("%.20q:%d:%d: %q, want %q", tc.content, tc.line, tc.column, excerpt, tc.want)
		}
	}
}

// TestExcerptsOfOneFile: a file is read once for all its results. A file of 500 KiB can have 100,000 results.
func TestExcerptsOfOneFile(t *testing.T) {
	const count = 100_000
	path := write(t, strings.Repeat("a: 1\n", count))
	got := shown(t, func(string) (all []cli.Result) {
		for n := range count {
			all = append(all, at(n+1, 4)(path)...)
		}
		return all
	}, nothing, path, write(t, "a: 1\n"))
	n := strings.Count(got, " | a: 1\n")
	expect.That(t, n >= count, "%d lines are shown", n)
}
