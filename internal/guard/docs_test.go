package guard_test

import (
	"os"
	"regexp"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/polex-dev/polex/internal/guard"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/trust"
)

func page(t *testing.T) string {
	t.Helper()
	raw, err := os.ReadFile("../../docs/reference/guard.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// TestDocumentedMetrics: the page documents every metric and no other.
func TestDocumentedMetrics(t *testing.T) {
	registry := prometheus.NewRegistry()
	guard.NewMetrics(registry, nil)
	descriptions := make(chan *prometheus.Desc)
	go func() { registry.Describe(descriptions); close(descriptions) }()
	names := map[string]bool{}
	for d := range descriptions {
		names[regexp.MustCompile(`fqName: "([^"]+)"`).FindStringSubmatch(d.String())[1]] = true
	}
	said := map[string]bool{}
	for _, m := range regexp.MustCompile("`(polex_guard_[a-z_]+)").FindAllStringSubmatch(page(t), -1) {
		if said[m[1]] = true; !names[m[1]] {
			t.Errorf("there is no metric %s", m[1])
		}
	}
	for name := range names {
		if !said[name] {
			t.Errorf("docs/reference/guard.md does not name %s", name)
		}
	}
}

// TestDocumentedConfigurations: the configurations on the page are valid.
func TestDocumentedConfigurations(t *testing.T) {
	read := 0
	for _, block := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(page(t), -1) {
		doc, err := exception.Parse([]byte(block[1]), "guard.md")
		if err != nil {
			t.Fatal(err)
		}
		if doc.Text("kind") != "Config" || doc.GroupKind().Group != "polex.dev" { // a kubeconfig has the kind Config too
			continue
		}
		read++
		config, err := trust.Read(doc, "")
		if err != nil {
			t.Fatal(err)
		}
		var settings guard.Settings
		if err := doc.Decode(&settings, "guard"); err != nil {
			t.Fatal(err)
		}
		if _, err := guard.NewRules(config, settings, "x"); err != nil {
			t.Error(err)
		}
	}
	if read != 2 {
		t.Errorf("%d configurations were read", read)
	}
}
