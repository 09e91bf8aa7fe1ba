package pending

import (
	"bytes"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/polex-dev/polex/pkg/exception"
)

// MaxOther is the maximum size in bytes of a file of other kinds.
const MaxOther = 16 << 20

// OtherKinds reports whether a file holds only documents of other kinds. Such a file may be in the pending folder
// and stays there. An unreadable or empty file does not count. polex-validate and polex-sign both use this
// function, so neither skips a file that the other one checks. kinds are the kinds of the trust policy, which are
// signed; "*" matches any kind.
func OtherKinds(content []byte, name string, kinds []string) bool {
	found := false
	if len(content) > MaxOther {
		return false
	}
	for doc, err := range exception.NewReader(bytes.NewReader(content), name).All() {
		if err != nil || !isOfOtherKind(doc) || slices.ContainsFunc(kinds, func(kind string) bool {
			return kind == "*" || strings.TrimSuffix(kind, ".") == doc.GroupKind().String()
		}) {
			return false
		}
		found = true
	}
	return found
}

var (
	plainKind       = regexp.MustCompile(`^[A-Z][A-Za-z0-9]*$`)
	plainAPIVersion = regexp.MustCompile(`^([a-z0-9]([a-z0-9.-]*[a-z0-9])?/)?v[0-9]+((alpha|beta)[0-9]+)?$`)
)

// isOfOtherKind reports whether no tool can read the document as an exception or as a list of objects.
// If it is unsure, it returns false. Some readers of JSON ignore letter case, so letter case alone
// does not make another kind, group or key. In the API groups of exceptions, only kinds of policies
// are other kinds. A document without apiVersion and kind must have the file name of a Kustomize
// file.
func isOfOtherKind(d *exception.Document) bool {
	typed := false
	for key := range d.Object() {
		for _, name := range []string{"apiVersion", "kind", "items"} {
			if strings.EqualFold(key, name) {
				if typed = true; key != name || name == "items" {
					return false
				}
			}
		}
	}
	if name := path.Base(d.File()); !typed {
		return name == "kustomization.yaml" || name == "kustomization.yml"
	}
	gk := d.GroupKind()
	if !plainKind.MatchString(gk.Kind) || !plainAPIVersion.MatchString(d.APIVersion()) || gk.LooksLikeException() ||
		gk.LooksLikeList() {
		return false
	}
	return gk.Group != exception.KyvernoGroup && gk.Group != exception.PoliciesGroup ||
		strings.HasSuffix(gk.Kind, "Policy")
}

var (
	lineBreak = regexp.MustCompile(`\\(?:\r\n|[\r\n\x{85}\x{2028}\x{2029}])[ \t]*`)
	// disguise matches a letter as an escape, a tag for base64, and a kind that a template writes.
	disguise = regexp.MustCompile(`(?i)\\(?:x|u00|U000000)(?:3\d|[4-7])|!\S*(?:binary|%)|%TAG|` +
		`kind["']?\s*:\s*["']?[^\s,"'}]*(?:\{\{|[$<%])`)
)

// NeverHolds reports whether no reader can find an exception, or an object of the kinds of the trust
// policy, in a file of any syntax. It does not parse the file. Readers compare a kind letter by
// letter, so its name stands in the file, unless the file is not UTF-8, disguises text or computes a kind.
func NeverHolds(content []byte, kinds []string) bool {
	if len(content) > MaxOther || !utf8.Valid(content) || bytes.IndexByte(content, 0) >= 0 ||
		slices.Contains(kinds, "*") {
		return false
	}
	names := regexp.QuoteMeta(exception.Kind)
	for _, kind := range kinds {
		name, _, _ := strings.Cut(kind, ".")
		names += "|" + regexp.QuoteMeta(name)
	}
	named := regexp.MustCompile(`(?i)(?:^|[^a-z0-9])(?:` + names + `)(?:list)?(?:[^a-z0-9]|$)`)
	text := lineBreak.ReplaceAll(content, nil)
	return !named.Match(text) && !disguise.Match(text)
}
