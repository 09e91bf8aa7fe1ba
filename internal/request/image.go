package request

import (
	"regexp"
	"slices"
	"strings"
)

// imageForm matches an image reference without wildcards.
var imageForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:/@-]{0,511}$`)

const (
	defaultRegistry = "docker.io/"
	defaultTag      = ":latest"
)

// asWritten replaces reported images, which include registry and tag, with the references in the
// Pod, because Kyverno compares an exception with those. Without a manifest, it returns all
// references of the same image.
func asWritten(reported []string, known []container) []string {
	var images []string
	for _, image := range reported {
		if !imageForm.MatchString(image) {
			continue
		}
		ways := waysToWrite(image)
		var used []string
		for _, c := range known {
			if slices.Contains(ways, c.image) {
				used = append(used, c.image)
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
