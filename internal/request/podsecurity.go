package request

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Control is a control of the Pod Security Standards that did not pass.
type Control struct {
	Name string // "Privileged Containers", as an exception names it
	// Images are those of the containers that did not pass, as the Pod has them or
	// with what Kyverno adds to them: registry and tag.
	Images []string
	// Pod says that a field of the Pod as a whole did not pass either, and Known
	// that the source says so or the contrary.
	Pod, Known bool
}

// controlsByReason are the controls by the beginning of what a check says when it
// forbids something, as pod-security-admission words it.
var controlsByReason = map[string]string{
	"allowPrivilegeEscalation != false": "Privilege Escalation",
	"forbidden AppArmor profile":        "AppArmor",
	"forbidden sysctls":                 "Sysctls",
	"host namespaces":                   "Host Namespaces",
	"hostPath volumes":                  "HostPath Volumes",
	"hostPort":                          "Host Ports",
	"hostProcess":                       "HostProcess",
	"non-default capabilities":          "Capabilities",
	"privileged":                        "Privileged Containers",
	"procMount":                         "/proc Mount Type",
	"restricted volume types":           "Volume Types",
	"runAsNonRoot != true":              "Running as Non-root",
	"runAsUser=0":                       "Running as Non-root user",
	"seLinuxOptions":                    "SELinux",
	"seccompProfile":                    "Seccomp",
	"unrestricted capabilities":         "Capabilities",
}

// Controls that look at containers alone, and at the Pod as a whole alone. Kyverno
// takes images for the former and none for the latter.
var (
	ofContainers = []string{"Capabilities", "Privileged Containers", "Host Ports", "/proc Mount Type", "Privilege Escalation"}
	ofPods       = []string{"Host Namespaces", "HostPath Volumes", "Sysctls", "Volume Types"}
)

// isControl reports whether an exception can name a control.
func isControl(name string) bool {
	return slices.Contains(slices.Collect(maps.Values(controlsByReason)), name)
}

var (
	groupInMessage = regexp.MustCompile(`\(Forbidden reason: ([^,()]{1,60}), field error list: \[([^()]*)\]\)`)
	placeInMessage = regexp.MustCompile(`\b(containers|initContainers|ephemeralContainers)\[(\d{1,4})\]`)
	fieldInMessage = regexp.MustCompile(`\b(?:spec|metadata)(?:\.[A-Za-z]+|\[[^\]]*\])+`)
)

// place is where a container stands in its list.
type place struct {
	list  string
	index int
}

// inMessage is what a message says of one control.
type inMessage struct {
	control string
	places  []place
	pod     bool
}

// readMessage reads the message of a podSecurity rule.
func readMessage(message string) []inMessage {
	var found []inMessage
	for _, group := range groupInMessage.FindAllStringSubmatch(message, 30) {
		for reason, control := range controlsByReason {
			if !strings.HasPrefix(group[1], reason) {
				continue
			}
			one := inMessage{control: control}
			for _, field := range fieldInMessage.FindAllString(group[2], 1000) {
				at := placeInMessage.FindStringSubmatch(field)
				if at == nil {
					one.pod = true
					continue
				}
				index, _ := strconv.Atoi(at[2])
				if p := (place{at[1], index}); !slices.Contains(one.places, p) {
					one.places = append(one.places, p)
				}
			}
			found = append(found, one)
			break
		}
	}
	return found
}

// controls returns what is known of the controls that a violation is of: from the
// source, from its message, and from the manifest.
func (all objects) controls(v Violation) []Control {
	controls := slices.Clone(v.Controls)
	known := all.containers(v.Resource)
	for _, said := range readMessage(v.Message) {
		at := slices.IndexFunc(controls, func(c Control) bool { return c.Name == said.control })
		if at < 0 {
			controls = append(controls, Control{Name: said.control})
			at = len(controls) - 1
		}
		c := &controls[at]
		c.Pod, c.Known = c.Pod || said.pod, true
		if images, whole := imagesAt(known, said.places); whole && len(images) > 0 {
			c.Images = images // as the Pod has them, which is what Kyverno compares
		}
	}
	for i, c := range controls {
		controls[i].Images = asWritten(c.Images, known)
	}
	slices.SortFunc(controls, func(a, b Control) int { return strings.Compare(a.Name, b.Name) })
	return controls
}

// imagesAt returns the images of containers, and whether all of them are known.
func imagesAt(known []container, places []place) (images []string, whole bool) {
	for _, p := range places {
		index, found := 0, false
		for _, c := range known {
			if c.list != p.list {
				continue
			}
			if index == p.index && c.image != "" {
				images, found = append(images, c.image), true
			}
			index++
		}
		if !found {
			return nil, false
		}
	}
	return images, true
}
