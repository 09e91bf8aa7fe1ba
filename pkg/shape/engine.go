package shape

import (
	"fmt"
	"regexp"
	"strconv"

	"github.com/polex-dev/polex/pkg/exception"
)

// firstEngine is the oldest Kyverno that the tables of this file speak of.
const firstEngine = 11

// The releases in which Kyverno's attention to kyverno.io changes, as its
// documentation and its custom resource definitions say.
const (
	legacyDeprecated = 19 // says so at every request
	legacyIgnored    = 20 // executes none of it any more
)

// served says which releases of Kyverno serve a version of PolicyException, by
// their minor number. The numbers are those of the custom resource definitions
// of the releases 1.11.4, 1.12.5, 1.13.6, 1.14.4, 1.15.2, 1.17.2, 1.18.2 and
// 1.19.1; where 1.16 changed something, 1.17 is the first that is sure to have it.
var served = []struct {
	group, version string
	from, to       int // to is 0 where it is still served
	deprecated     int // 0: not yet
}{
	{exception.KyvernoGroup, "v2alpha1", 0, 11, 11},
	{exception.KyvernoGroup, "v2beta1", 0, 0, 13},
	{exception.KyvernoGroup, "v2", 12, 0, legacyDeprecated},
	{exception.PoliciesGroup, "v1alpha1", 14, 0, 17},
	{exception.PoliciesGroup, "v1beta1", 17, 0, 0},
	{exception.PoliciesGroup, "v1", 17, 0, 0},
}

// since says which release of Kyverno brought a field of spec. Before it, the
// API server drops the field without a word.
var since = map[string][]struct {
	field string
	from  int
}{
	exception.KyvernoGroup:  {{"conditions", 12}, {"podSecurity", 12}},
	exception.PoliciesGroup: {{"images", 17}, {"allowedValues", 17}, {"reportResult", 17}, {"expiresAt", 19}, {"properties", 19}, {"evaluationMode", 19}},
}

var engineForm = regexp.MustCompile(`^v?1\.([0-9]{1,3})(\.[0-9]+(-[0-9A-Za-z.-]+)?)?$`)

// parseEngine returns the minor number of a release of Kyverno, or 0 for "".
func parseEngine(version string) (int, error) {
	if version == "" {
		return 0, nil
	}
	parts := engineForm.FindStringSubmatch(version)
	if parts == nil {
		return 0, fmt.Errorf("%q is no version of Kyverno, such as 1.19 or v1.19.1", version)
	}
	minor, err := strconv.Atoi(parts[1])
	if err != nil {
		return 0, fmt.Errorf("read the version of Kyverno %q: %w", version, err)
	}
	if minor < firstEngine {
		return 0, fmt.Errorf("%q is older than Kyverno 1.%d, the first that polex knows", version, firstEngine)
	}
	return minor, nil
}
