package kyverno

import (
	"fmt"
	"regexp"
	"strconv"

	"github.com/polex-dev/polex/pkg/exception"
)

// Release is the minor number of a release of Kyverno; 0: unknown.
type Release int

// firstRelease is the oldest release in these tables.
const firstRelease = 11

// The releases that change the support of kyverno.io, from the documentation and the custom
// resource definitions of Kyverno.
const (
	MatchDeprecated Release = 19 // warns at every request
	MatchIgnored    Release = 20 // no longer executes kyverno.io
)

// Version lists the releases that serve a version of PolicyException.
type Version struct {
	Kind       exception.GroupKind
	Name       string
	From, To   Release // To 0: still served
	Deprecated Release // 0: not deprecated
}

// served comes from the custom resource definitions of the releases 1.11.4, 1.12.5, 1.13.6, 1.14.4,
// 1.15.2, 1.17.2, 1.18.2 and 1.19.1. A change in 1.16 has the number 17, the first release that
// certainly has it.
var served = []Version{
	{MatchKind, "v2alpha1", 0, 11, 11},
	{MatchKind, "v2beta1", 0, 0, 13},
	{MatchKind, "v2", 12, 0, 0}, // like all of kyverno.io, deprecated in 1.19
	{ConditionKind, "v1alpha1", 14, 0, 17},
	{ConditionKind, "v1beta1", 17, 0, 0},
	{ConditionKind, "v1", 17, 0, 0},
}

// WatchedVersion returns the version in which Kyverno 1.19.1 reads the exceptions of a kind; "": it
// reads none. If the API server stops serving this version, Kyverno keeps the exceptions that it has
// read, also after their end. Source: the informers in cmd/kyverno/main.go and pkg/cel/policies.
func WatchedVersion(kind exception.GroupKind) string {
	return map[exception.GroupKind]string{MatchKind: "v2", ConditionKind: "v1beta1"}[kind]
}

// VersionOf returns the entry of a version; false: unknown.
func VersionOf(kind exception.GroupKind, name string) (Version, bool) {
	for _, v := range served {
		if v.Kind == kind && v.Name == name {
			return v, true
		}
	}
	return Version{}, false
}

// Newest returns the newest apiVersion of a kind of exceptions that a release serves. If the
// release serves none, it returns that of kyverno.io.
func (r Release) Newest(kind exception.GroupKind) string {
	for i := len(served) - 1; i >= 0; i-- {
		if v := served[i]; v.Kind == kind && r >= v.From && (v.To == 0 || r <= v.To) {
			return kind.Group + "/" + v.Name
		}
	}
	return r.Newest(MatchKind)
}

// SpecField is a field of spec that some releases do not have. Before From, the API server drops it
// silently.
type SpecField struct {
	Name string
	From Release
}

// Fields returns the fields of spec that some releases do not have.
func Fields(kind exception.GroupKind) []SpecField {
	if kind == MatchKind {
		return []SpecField{{"conditions", 12}, {"podSecurity", 12}}
	}
	return []SpecField{{"images", 17}, {"allowedValues", 17}, {"reportResult", 17}, {"expiresAt", 19},
		{"properties", 19}, {"evaluationMode", 19}}
}

var releaseForm = regexp.MustCompile(`^v?1\.([0-9]{1,3})(\.[0-9]+(-[0-9A-Za-z.-]+)?)?$`)

// ParseRelease returns the release of a Kyverno version; 0 for "".
func ParseRelease(version string) (Release, error) {
	if version == "" {
		return 0, nil
	}
	parts := releaseForm.FindStringSubmatch(version)
	if parts == nil {
		return 0, fmt.Errorf("%q is not a release of Kyverno, such as 1.19 or v1.19.1", version)
	}
	minor, err := strconv.Atoi(parts[1])
	if err != nil {
		return 0, fmt.Errorf("read the version of Kyverno %q: %w", version, err)
	}
	if minor < firstRelease {
		return 0, fmt.Errorf("%q is older than Kyverno 1.%d, the first that polex knows", version, firstRelease)
	}
	return Release(minor), nil
}
