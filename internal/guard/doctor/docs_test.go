package doctor_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/polex-dev/polex/internal/guard/doctor"
)

// TestProtectedGroups: policies/guard/protect lets only administrators lead the API of the same groups
// elsewhere as those that check looks at.
func TestProtectedGroups(t *testing.T) {
	raw, err := os.ReadFile(protectFolder + "/definitions.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(raw), "object.spec.?group.orValue('') in [")
	list, _, _ = strings.Cut(list, "]")
	var groups []string
	for _, m := range regexp.MustCompile(`'([^']*)'`).FindAllStringSubmatch(list, -1) {
		groups = append(groups, m[1])
	}
	if diff := cmp.Diff(doctor.ProtectedGroups(), groups); diff != "" {
		t.Errorf("-check +protect:\n%s", diff)
	}
}
