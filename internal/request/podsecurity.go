package request

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Control is a violated control of the Pod Security Standards.
type Control struct {
	Name string // "Privileged Containers", as in an exception
	// Images are the images of the violating containers, with or without the registry and tag that
	// Kyverno adds.
	Images []string
	// Pod means that a field of the whole Pod also violates the control. Known means that the
	// source contains this fact.
	Pod, Known bool
}

// controlsByReason are the controls by the beginning of their message in pod-security-admission.
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

// Controls of containers only, and of the Pod only. Kyverno accepts images for the first group and
// none for the second.
var (
	ofContainers = []string{"Capabilities", "Privileged Containers", "Host Ports", "/proc Mount Type",
		"Privilege Escalation"}
	ofPods = []string{"Host Namespaces", "HostPath Volumes", "Sysctls", "Volume Types"}
)

var (
	groupInMessage = regexp.MustCompile(`\(Forbidden reason: ([^,()]{1,60}), field error list: \[([^()]*)\]\)`)
	placeInMessage = regexp.MustCompile(`\b(containers|initContainers|ephemeralContainers)\[(\d{1,4})\]`)
	fieldInMessage = regexp.MustCompile(`\b(?:spec|metadata)(?:\.[A-Za-z]+|\[[^\]]*\])+`)
)

// inMessage is the part of a message about one control.
type inMessage struct {
	control string
	places  []place
	pod     bool
}

// readMessage parses the message of a podSecurity rule.
func readMessage(message string) []inMessage {
	var all []inMessage
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
			all = append(all, one)
			break
		}
	}
	return all
}

// controls returns the violated controls according to the source, its message and the manifest.
func (all objects) controls(v Violation) []Control {
	controls := slices.Clone(v.Controls)
	known := all.images(v.Resource)
	for _, statement := range readMessage(v.Message) {
		at := slices.IndexFunc(controls, func(c Control) bool { return c.Name == statement.control })
		if at < 0 {
			controls = append(controls, Control{Name: statement.control})
			at = len(controls) - 1
		}
		c := &controls[at]
		c.Pod, c.Known = c.Pod || statement.pod, true
		if images := imagesAt(known, statement.places); len(images) > 0 {
			c.Images = images // as in the Pod, since Kyverno compares these
		}
	}
	for i, c := range controls {
		controls[i].Images = asWritten(c.Images, known)
	}
	slices.SortFunc(controls, func(a, b Control) int { return strings.Compare(a.Name, b.Name) })
	return controls
}

// imagesAt returns the images of containers, or none if one of them is not known.
func imagesAt(known map[place]string, places []place) (images []string) {
	for _, p := range places {
		if known[p] == "" {
			return nil
		}
		images = append(images, known[p])
	}
	return images
}

// imageForm matches an image reference without wildcards.
var imageForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:/@-]{0,511}$`)

const (
	defaultRegistry = "docker.io/"
	defaultTag      = ":latest"
)

// asWritten replaces reported images, which include registry and tag, with the references in the
// Pod, because Kyverno compares an exception with those. Without a manifest, it returns all
// references of the same image.
func asWritten(reported []string, known map[place]string) []string {
	var images []string
	for _, image := range reported {
		if !imageForm.MatchString(image) {
			continue
		}
		ways := waysToWrite(image)
		var used []string
		for _, written := range known {
			if slices.Contains(ways, written) {
				used = append(used, written)
			}
		}
		if len(used) > 0 {
			ways = used
		}
		images = append(images, ways...)
	}
	slices.Sort(images)
	return slices.Compact(images)
}

// waysToWrite returns the references that Kyverno reports as one image.
func waysToWrite(image string) []string {
	ways := []string{image}
	if rest, ok := strings.CutPrefix(image, defaultRegistry); ok {
		ways = append(ways, rest, defaultRegistry+"library/"+rest)
		if short, library := strings.CutPrefix(rest, "library/"); library {
			ways = []string{image, rest, short, defaultRegistry + short}
		}
	}
	for _, way := range ways {
		if short, tagged := strings.CutSuffix(way, defaultTag); tagged {
			ways = append(ways, short)
		}
	}
	return ways
}
