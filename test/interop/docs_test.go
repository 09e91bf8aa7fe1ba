package interop_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/polex-dev/polex/internal/modcache"
)

var update = flag.Bool("update", false, "write the table of docs/interop.md anew")

const (
	page       = "../../docs/interop.md"
	tableBegin = "<!-- published: written by go test ./test/interop -run TestDocs -update -->\n"
	tableEnd   = "<!-- /published -->\n"
)

// TestDocs holds the table of docs/interop.md against the verdicts.
func TestDocs(t *testing.T) {
	raw, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(raw), tableBegin)
	got, after, ended := strings.Cut(rest, tableEnd)
	if !found || !ended {
		t.Fatalf("%s has no place for the table", page)
	}
	want := publishedTable(t)
	if *update {
		if err := os.WriteFile(page, []byte(before+tableBegin+want+tableEnd+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s is out of date; go test ./test/interop -run TestDocs -update (-want +got):\n%s", page, diff)
	}
}

// publishedTable counts the verdicts of each project, and lists where polex is
// stricter, by why it is.
func publishedTable(t *testing.T) string {
	t.Helper()
	var out strings.Builder
	out.WriteString("\n| published by | accepted by both | refused by both | refused by polex alone |\n| --- | --- | --- | --- |\n")
	documents := map[publishedVerdict][]string{}
	var order []publishedVerdict
	for _, project := range projects {
		both, neither, alone := 0, 0, 0
		for _, p := range project.read(t, modcache.Dir(t, project.module)) {
			v := publishedVerdicts[p.id()]
			switch {
			case v.ours == "":
				both++
			case !p.theirs:
				neither++
			default:
				alone++
				if documents[v] == nil {
					order = append(order, v)
				}
				documents[v] = append(documents[v], shortName(p))
			}
		}
		_, version, _ := strings.Cut(project.module, "@v")
		fmt.Fprintf(&out, "| %s %s | %d | %d | %d |\n", project.name, version, both, neither, alone)
	}
	out.WriteString("\n| reason | why polex refuses it | documents |\n| --- | --- | --- |\n")
	for _, v := range order {
		fmt.Fprintf(&out, "| %s | %s | %s |\n", v.ours, v.why, strings.Join(slices.Compact(documents[v]), "<br>"))
	}
	return out.String() + "\n"
}

// shortName is a file by its folder's last name, and the test in it.
func shortName(p published) string {
	short := filepath.Base(filepath.Dir(p.file)) + "/" + filepath.Base(p.file)
	if p.name == "" {
		return "`" + short + "`"
	}
	return "`" + short + "`, " + p.name
}
