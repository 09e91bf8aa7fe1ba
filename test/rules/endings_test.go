package rules_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/polex-dev/polex/test/must"
)

// endings are the policies that read the expiry of an exception.
var endings = []string{"cleanup/deletingpolicy.yaml", "cleanup/clustercleanuppolicy.yaml", "generate/clusterpolicy.yaml", "generate/generatingpolicy.yaml"}

// TestEndings: a policy reads a text as a time if and only if it is one. Any other text would stop
// the policy, or be an expression in another one.
func TestEndings(t *testing.T) {
	written := regexp.MustCompile(`'(\^[^']+\$)'`)
	one := ""
	for _, name := range endings {
		text := must.Get(os.ReadFile(filepath.Join("..", "..", "policies", name)))(t)
		found := written.FindAllStringSubmatch(string(text), -1)
		if len(found) == 0 {
			t.Fatalf("%s asks for no time", name)
		}
		for _, match := range found {
			if one == "" {
				one = match[1]
			}
			if match[1] != one {
				t.Errorf("%s asks for another time: %s", name, match[1])
			}
		}
		for document := range strings.SplitSeq(string(text), "\n---\n") {
			var policy struct{ Metadata struct{ Name string } }
			must.Do(t, yaml.Unmarshal([]byte(document), &policy))
			// No exception may reach policies with this prefix.
			if !strings.HasPrefix(policy.Metadata.Name, "polex-") {
				t.Errorf("%s: an exception may reach %q", name, policy.Metadata.Name)
			}
		}
	}
	asked := must.Get(regexp.Compile(one))(t)
	for _, text := range texts() {
		_, err := time.Parse(time.RFC3339, text)
		if got, want := asked.MatchString(text), err == nil; got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

// texts returns valid and invalid days of the century, valid and invalid minutes of a day, zones,
// and texts that look like a time.
func texts() []string {
	all := []string{"", "soon", "2026-01-01", "2026-01-01T00:00:00", "2026-01-01 00:00:00Z", "2026-01-01T00:00:00Z\n", "\n2026-01-01T00:00:00Z", "2026-01-01T00:00:00z",
		"2026-01-01t00:00:00Z", "2026-01-01T00:00:00Z' || true || '", "{{ end }}", "2026-01-01T00:00:00.Z", "2026-01-01T00:00:00.123456789Z", "2026-01-01T00:00Z", "26-01-01T00:00:00Z"}
	for year := range 100 {
		for month := range 14 {
			for day := range 33 {
				all = append(all, fmt.Sprintf("20%02d-%02d-%02dT23:59:59Z", year, month, day))
			}
		}
	}
	for hour := range 26 {
		for minute := range 62 {
			all = append(all, fmt.Sprintf("2026-02-28T%02d:%02d:00Z", hour, minute), fmt.Sprintf("2026-02-28T23:%02d:%02dZ", minute, hour*3))
		}
	}
	for hour := range 24 {
		all = append(all, fmt.Sprintf("2026-02-28T00:00:00+%02d:59", hour), fmt.Sprintf("2026-02-28T00:00:00-%02d:00", hour))
	}
	return all
}
