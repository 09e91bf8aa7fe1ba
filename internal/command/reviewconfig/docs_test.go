package reviewconfig_test

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/command/reviewconfig"
	"github.com/polex-dev/polex/internal/review"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/test/must"
)

// The page on approvals names every reason, and no other.
func TestDocs(t *testing.T) {
	raw := must.Get(os.ReadFile("../../../docs/explanation/approvals.md"))(t)
	page := string(raw)
	documented := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-zA-Z.-]+)` \\| ([^|]+) \\|").FindAllStringSubmatch(page, -1) {
		documented[row[1]] = row[2]
	}
	for _, r := range review.Reasons() {
		if documented[r.Name] != r.Doc {
			t.Errorf("%s is documented as %q, and means %q", r.Name, documented[r.Name], r.Doc)
		}
		delete(documented, r.Name)
	}
	if len(documented) > 0 {
		t.Errorf("there is no %v", documented)
	}
}

// Each configuration on the page is valid in a workflow.
func TestDocsConfigurations(t *testing.T) {
	raw := must.Get(os.ReadFile("../../../docs/explanation/approvals.md"))(t)
	met := 0
	for _, block := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(string(raw), -1) {
		if !strings.Contains(block[1], "promote:") {
			continue
		}
		met++
		text := block[1]
		if !strings.Contains(text, "kind: Config") {
			text = "apiVersion: polex.dev/v1alpha1\nkind: Config\n" + text
		}
		path := filepath.Join(t.TempDir(), ".polex.yaml")
		must.Do(t, os.WriteFile(path, []byte(text), 0o600))
		o := must.Get(options(t, "", "", workflow(t)))(t)
		o.Verify = func(*exception.Document) (*exception.Document, error) {
			return nil, errors.New("nothing is verified here")
		}
		o.Config = must.Get(cli.LoadConfig(path))(t)
		if recorder, err := reviewconfig.New(o); err != nil || recorder == nil {
			t.Errorf("%s\n%v", block[1], err)
		}
	}
	if met != 3 {
		t.Errorf("the page shows %d configurations", met)
	}
}
