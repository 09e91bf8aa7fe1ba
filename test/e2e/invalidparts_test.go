//go:build e2e

package e2e

import (
	"fmt"
	"strings"
)

// Parts of wholeLegacy.
const (
	people = `      roles: ["team-a:deployer"]
      clusterRoles: [deployer]
      subjects: [{kind: User, name: alice, apiGroup: rbac.authorization.k8s.io, namespace: x}]
`
	namespaceSelector = `namespaceSelector:
          matchExpressions: [{key: team, operator: In, values: [a]}]
`
)

var (
	wholeMatch      = between("  match:", "  conditions:")
	afterBackground = between("  exceptions:", "  conditions:")
	podSecurity     = between("  podSecurity:", "")
)

// between returns the text from one word to another, or to the end.
func between(from, to string) string {
	_, rest, _ := strings.Cut(wholeLegacy, from)
	if to != "" {
		rest, _, _ = strings.Cut(rest, to)
	}
	return from + rest
}

func manyConditions(n int) string {
	var all strings.Builder
	for i := range n {
		fmt.Fprintf(&all, "  - {name: c%d, expression: 'true'}\n", i)
	}
	return all.String()
}

// everyControl lists each control of the Pod Security Standards, with the fields that Kyverno's
// webhook requires.
func everyControl() string {
	all := "  podSecurity:\n"
	for _, control := range []string{"HostProcess", "Host Namespaces", "HostPath Volumes", "AppArmor", "SELinux", "Seccomp", "Sysctls", "Volume Types", "Running as Non-root", "Running as Non-root user"} {
		all += "  - {controlName: " + control + "}\n"
	}
	for _, control := range []string{"Privileged Containers", "Capabilities", "Host Ports", "/proc Mount Type", "Privilege Escalation", "Seccomp"} {
		all += "  - {controlName: " + control + ", images: ['*']}\n"
	}
	return all
}
