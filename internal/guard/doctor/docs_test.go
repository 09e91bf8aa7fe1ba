package doctor_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/polex-dev/polex/internal/guard/doctor"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// TestProtectedGroups: policies/guard/protect lets only administrators lead the API of the same groups
// elsewhere as those that check looks at.
func TestProtectedGroups(t *testing.T) {
	raw := must.Get(os.ReadFile(protectFolder + "/definitions.yaml"))(t)
	_, list, _ := strings.Cut(string(raw), "object.spec.?group.orValue('') in [")
	list, _, _ = strings.Cut(list, "]")
	var groups []string
	for _, m := range regexp.MustCompile(`'([^']*)'`).FindAllStringSubmatch(list, -1) {
		groups = append(groups, m[1])
	}
	expect.Equal(t, "-check +protect", doctor.ProtectedGroups(), groups)
}
