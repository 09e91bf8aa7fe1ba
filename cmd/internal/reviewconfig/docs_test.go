package reviewconfig_test

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/storage/memory"

	"github.com/polex-dev/polex/cmd/internal/cli"
	"github.com/polex-dev/polex/cmd/internal/reviewconfig"
)

// The page on approvals names every setting and every reason, and no other.
func TestDocs(t *testing.T) {
	raw, err := os.ReadFile("../../../docs/approvals.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(raw)
	documented := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-zA-Z-]+)` \\| ([^|]+) \\|").FindAllStringSubmatch(page, -1) {
		documented[row[1]] = row[2]
	}
	for reason, meaning := range reviewconfig.Docs() {
		if documented[reason] != meaning {
			t.Errorf("%s is documented as %q, and means %q", reason, documented[reason], meaning)
		}
		delete(documented, reason)
	}
	for field := range reflect.TypeFor[cli.Review]().Fields() {
		name := field.Tag.Get("json")
		if documented[name] == "" {
			t.Errorf("the setting %s is not documented", name)
		}
		delete(documented, name)
	}
	if len(documented) > 0 {
		t.Errorf("there is no %v", documented)
	}
}

// Each configuration on the page can be meant in a workflow.
func TestDocsConfigurations(t *testing.T) {
	raw, err := os.ReadFile("../../../docs/approvals.md")
	if err != nil {
		t.Fatal(err)
	}
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
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		o := options(t, "", workflow(t), memory.NewStorage())
		if o.Config, err = cli.LoadConfig(path); err != nil {
			t.Fatal(err)
		}
		if recorder, err := reviewconfig.New(o); err != nil || recorder == nil {
			t.Errorf("%s\n%v", block[1], err)
		}
	}
	if met != 2 {
		t.Errorf("the page shows %d configurations", met)
	}
}
