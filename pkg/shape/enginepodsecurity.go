package shape

import (
	"fmt"
	"slices"
)

// The controls of the Pod Security Standards that look at containers alone, and
// at Pods alone. The others look at both, and images narrow them if they are
// given.
var (
	containerControls = []string{"Capabilities", "Privileged Containers", "Host Ports", "/proc Mount Type",
		"Privilege Escalation"}
	podControls = []string{"Host Namespaces", "HostPath Volumes", "Sysctls", "Volume Types"}
)

// ReasonBadPodSecurity is a reason of findings.
const ReasonBadPodSecurity = "bad-pod-security"

var badPodSecurityCheck = check{
	About: "Finds a podSecurity entry that Kyverno's webhook rejects: a control over containers without images, a " +
		"control over Pods with images, a field without values, or values without a field.",
	Reasons: []Reason{{Name: ReasonBadPodSecurity, Doc: "Kyverno rejects a podSecurity entry", Fixed: true}},
	Run:     (*subject).badPodSecurity,
}

func (s *subject) badPodSecurity() {
	for _, entry := range s.PodSecurity {
		switch name, images := entry.Name, len(entry.Images); {
		case slices.Contains(containerControls, name) && images == 0:
			s.find(ReasonBadPodSecurity, entry.Path,
				fmt.Sprintf("the control %q checks containers, and requires images", name),
				"add images, e.g. registry.example.com/web:*")
		case slices.Contains(podControls, name) && images > 0:
			s.find(ReasonBadPodSecurity, entry.Path.With("images"),
				fmt.Sprintf("the control %q checks the whole Pod, and accepts no images", name), "remove images")
		}
		switch field, values := entry.Field, len(entry.Values); {
		case field != "" && values == 0:
			s.find(ReasonBadPodSecurity, entry.Path.With("restrictedField"),
				fmt.Sprintf("the restrictedField %q has no values", field), "add values")
		case field == "" && values > 0:
			s.find(ReasonBadPodSecurity, entry.Path.With("values"), "values requires restrictedField",
				"add restrictedField, e.g. spec.containers[*].securityContext.capabilities.add")
		}
	}
}
