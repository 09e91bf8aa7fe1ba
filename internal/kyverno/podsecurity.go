package kyverno

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// VerifiesImages reports whether policies of a kind verify images.
func VerifiesImages(kind string) bool { return strings.HasSuffix(kind, "ImageValidatingPolicy") }

// restrictedControls are the controls that only the profile restricted has.
var restrictedControls = []string{"Volume Types", "Privilege Escalation", "Running as Non-root",
	"Running as Non-root user"}

// controlFields are the fields that the controls of the Pod Security Standards check. Kyverno 1.19
// compares them with restrictedField as texts (PSS_controls in pkg/pss/utils/mapping.go).
var controlFields = map[string]*regexp.Regexp{
	"Capabilities":             inContainers(`securityContext\.capabilities\.(?:add|drop)`),
	"Seccomp":                  inBoth(`seccompProfile\.type`),
	"Privileged Containers":    inContainers(`securityContext\.privileged`),
	"Host Ports":               inContainers(`ports\[\*\]\.hostPort`),
	"/proc Mount Type":         inContainers(`securityContext\.procMount`),
	"HostProcess":              inBoth(`windowsOptions\.hostProcess`),
	"SELinux":                  inBoth(`seLinuxOptions\.(?:type|user|role)`),
	"Host Namespaces":          exactly(`spec\.host(?:Network|PID|IPC)`),
	"HostPath Volumes":         exactly(`spec\.volumes\[\*\]\.hostPath`),
	"Sysctls":                  exactly(`spec\.securityContext\.sysctls\[\*\]\.name`),
	"Privilege Escalation":     inContainers(`securityContext\.allowPrivilegeEscalation`),
	"Running as Non-root":      inBoth(`runAsNonRoot`),
	"Running as Non-root user": inBoth(`runAsUser`),
	"Volume Types":             exactly(`spec\.volumes\[\*\](?:\.\w+)?`),
}

const containers = `spec\.(?:containers|initContainers|ephemeralContainers)\[\*\]\.`

func exactly(pattern string) *regexp.Regexp { return regexp.MustCompile("^(?:" + pattern + ")$") }

func inContainers(field string) *regexp.Regexp { return exactly(containers + field) }

func inBoth(field string) *regexp.Regexp {
	return exactly(`spec\.securityContext\.` + field + "|" + containers + `securityContext\.` + field)
}

// Unchecked returns the reason why no rule checks what an entry of podSecurity allows, or "".
// baseline means that the rules check the profile baseline alone.
func (c Control) Unchecked(baseline bool) string {
	fields := controlFields[c.Name]
	switch {
	case baseline && slices.Contains(restrictedControls, c.Name):
		return fmt.Sprintf("the rule checks the profile baseline, which has no control %q", c.Name)
	case baseline && strings.HasSuffix(c.Field, "capabilities.drop"):
		return "the profile baseline does not check capabilities.drop"
	case fields == nil || fields.MatchString(c.Field):
		return ""
	}
	for _, other := range slices.Sorted(maps.Keys(controlFields)) {
		if controlFields[other].MatchString(c.Field) {
			return fmt.Sprintf("the control %q does not check %s, which the control %q checks", c.Name, c.Field, other)
		}
	}
	return ""
}
