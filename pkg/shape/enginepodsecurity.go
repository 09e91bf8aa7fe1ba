package shape

import (
	"fmt"
	"slices"
	"time"

	"github.com/polex-dev/polex/pkg/exception"
)

// The controls of the Pod Security Standards that look at containers alone, and
// at Pods alone. The others look at both, and images narrow them if they are
// given.
var (
	containerControls = []string{"Capabilities", "Privileged Containers", "Host Ports", "/proc Mount Type", "Privilege Escalation"}
	podControls       = []string{"Host Namespaces", "HostPath Volumes", "Sysctls", "Volume Types"}
)

// ReasonBadPodSecurity is a reason of findings.
const ReasonBadPodSecurity = "bad-pod-security"

var badPodSecurityCheck = check{
	Title: "Bad pod security",
	About: `Finds a podSecurity entry that Kyverno's webhook refuses: a control over containers that
does not say which images it is for, one over Pods that does, and a field without the values
that it may take, or the reverse.`,
	Reasons: []Reason{
		{ReasonBadPodSecurity, "Kyverno would refuse a podSecurity entry", true},
	},
	Run: (*subject).badPodSecurity,
}

func (s *subject) badPodSecurity(time.Time) {
	entries, _ := s.Spec()["podSecurity"].([]any)
	for i, item := range entries {
		entry, _ := item.(map[string]any)
		path := exception.Path{"spec", "podSecurity", i}
		control, _ := entry["controlName"].(string)
		images, _ := entry["images"].([]any)
		switch {
		case slices.Contains(containerControls, control) && len(images) == 0:
			s.refuse(ReasonBadPodSecurity, path, fmt.Sprintf("%q is about containers, and no images say which", control), "add images, such as registry.example.com/web:*")
		case slices.Contains(podControls, control) && len(images) > 0:
			s.refuse(ReasonBadPodSecurity, path.With("images"), fmt.Sprintf("%q is about the Pod as a whole, which images cannot narrow", control), "remove images")
		}
		field, _ := entry["restrictedField"].(string)
		values, _ := entry["values"].([]any)
		switch {
		case field != "" && len(values) == 0:
			s.refuse(ReasonBadPodSecurity, path.With("restrictedField"), fmt.Sprintf("no values say what %q may be", field), "add values")
		case field == "" && len(values) > 0:
			s.refuse(ReasonBadPodSecurity, path.With("values"), "the values belong to no field", "add restrictedField, such as spec.containers[*].securityContext.capabilities.add")
		}
	}
}
