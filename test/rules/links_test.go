package rules_test

import (
	"fmt"
	"path"
	"regexp"
	"strings"
	"testing"
)

var (
	fencedBlock = regexp.MustCompile("(?ms)^ *```.*?^ *```")
	codeSpan    = regexp.MustCompile("`[^`\n]*`")
	linkTarget  = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	headingLine = regexp.MustCompile(`(?m)^#+ +(.*?)$`)
	ownAnchor   = regexp.MustCompile(`<a id="([a-z-]+)"></a>`)
	slugless    = regexp.MustCompile(`[^\p{L}\p{N}_\- ]`)
	published   = regexp.MustCompile(`^https://github\.com/polex-dev/polex/(blob|tree)/main/`)
	pageName    = regexp.MustCompile(`\bdocs/([a-z/-]+\.(?:md|schema\.json)(?:#[\w-]+)?)`)
)

// anchors returns the fragments that GitHub gives the headings of a page, and those of its own.
func anchors(text string) map[string]bool {
	found := map[string]bool{}
	for _, m := range headingLine.FindAllStringSubmatch(fencedBlock.ReplaceAllString(text, ""), -1) {
		title := linkTarget.ReplaceAllString(m[1], "]")
		slug := strings.ReplaceAll(slugless.ReplaceAllString(strings.ToLower(title), ""), " ", "-")
		unique := slug
		for n := 1; found[unique]; n++ {
			unique = fmt.Sprintf("%s-%d", slug, n)
		}
		found[unique] = true
	}
	for _, m := range ownAnchor.FindAllStringSubmatch(text, -1) {
		found[m[1]] = true
	}
	return found
}

// TestLinks: every relative link of a page, and every page that another file names, leads to an
// existing file and heading.
func TestLinks(t *testing.T) {
	exists, links := map[string]bool{}, 0
	all := files(t)
	for _, name := range all {
		for ; name != "."; name = path.Dir(name) {
			exists[name] = true
		}
	}
	check := func(from, target string) {
		links++
		name, fragment, _ := strings.Cut(target, "#")
		switch {
		case !exists[name]:
			t.Errorf("%s: the link to %s leads to no file", from, target)
		case fragment != "" && (path.Ext(name) != ".md" || !anchors(string(read(t, name)))[fragment]):
			t.Errorf("%s: %s has no heading #%s", from, name, fragment)
		}
	}
	for _, name := range all {
		switch path.Ext(name) {
		case ".md":
			text := codeSpan.ReplaceAllString(fencedBlock.ReplaceAllString(string(read(t, name)), ""), "code")
			for _, m := range linkTarget.FindAllStringSubmatch(text, -1) {
				target := published.ReplaceAllString(m[1], "/")
				if strings.HasPrefix(name, "examples/github/") && strings.HasPrefix(target, "..") {
					t.Errorf("%s: the link to %s leads nowhere in a copy of the folder", name, target)
				}
				switch {
				case strings.HasPrefix(target, "/"):
					check(name, target[1:])
				case strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:"):
				case strings.HasPrefix(target, "#"):
					check(name, name+target)
				default:
					check(name, path.Join(path.Dir(name), target))
				}
			}
		case ".go", ".yaml", ".yml", ".json", ".sh", "":
			for _, m := range pageName.FindAllStringSubmatch(string(read(t, name)), -1) {
				if m[0] != "docs/oid-info.md" { // of Fulcio
					check(name, m[0])
				}
			}
		}
	}
	if links < 200 {
		t.Errorf("found only %d links", links)
	}
}
