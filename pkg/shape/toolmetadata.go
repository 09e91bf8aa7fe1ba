package shape

import (
	"cmp"
	_ "embed" // for tools.txt
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/polex-dev/polex/internal/kyverno/manifest"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/seal"
	"github.com/polex-dev/polex/pkg/trust/policyfile"
)

// Reasons of findings.
const (
	ReasonToolMetadata      = "tool-metadata"
	reasonDeployerDirective = "deployer-directive"
)

// toolsTable lists what delivery tools write and read, with the sources.
//
//go:embed tools.txt
var toolsTable string

// toolRows returns the rows of toolsTable with a number of columns.
func toolRows(columns int) (rows [][]string) {
	for line := range strings.Lines(toolsTable) {
		if row := strings.Split(strings.TrimSpace(line), " | "); len(row) == columns && line[0] != '#' {
			rows = append(rows, row)
		}
	}
	return rows
}

var toolKeys, directives = toolRows(2), toolRows(5)

var toolMetadataCheck = check{
	About: "Finds a label or annotation that delivery tools write, as in an exported exception, or that " +
		"`trust.allowedMetadata` lists. The tool writes its own value, and the live exception is " +
		"[altered](#altered). `app.kubernetes.io/instance` counts: Argo CD can track by it. " +
		"`polex-validate --fix` removes them.",
	Reasons: []Reason{{Name: ReasonToolMetadata, Doc: "a delivery tool writes this label or annotation"}},
	Run: func(s *subject) {
		s.metadata(func(field, key string, value any, path exception.Path) {
			tool := metadataWriter(field, key, value, s.config.Allowed)
			if _, effect := directive(field, key, value); tool == "" || effect != "" {
				return
			}
			s.find(ReasonToolMetadata, path, "remove it; polex-validate --fix removes all metadata of tools",
				"%s writes the %s %q itself, so the live object would differ from the signed one",
				tool, strings.TrimSuffix(field, "s"), key)
		})
	},
}

// trackers are the tools of [seal.Tracks], by the domain of the key.
var trackers = map[string]string{
	"argocd.argoproj.io": "Argo CD", "app.kubernetes.io": "Argo CD", "kustomize.toolkit.fluxcd.io": "Flux",
	"kubectl.kubernetes.io": "kubectl", "applyset.kubernetes.io": "kubectl", "kapp.k14s.io": "kapp",
	"alpha.config.kubernetes.io": "kustomize", "configmanagement.gke.io": "Config Sync",
}

// byPeople are keys under a prefix of toolKeys that people write.
var byPeople = []string{"config.kubernetes.io/depends-on", "config.kubernetes.io/local-config"}

// metadataWriter returns the tool that writes a label or annotation on delivered objects, or the setting that says
// so; "" if a person wrote it. field is "labels" or "annotations".
func metadataWriter(field, key string, value any, allowed policyfile.AllowedMetadata) string {
	setting := map[string]map[string]string{"labels": allowed.Labels, "annotations": allowed.Annotations}[field]
	if _, listed := setting[key]; listed {
		return "a tool of trust.allowedMetadata"
	}
	text, _ := value.(string)
	for _, of := range toolKeys {
		name, fixed, hasValue := strings.Cut(of[1], "=")
		if fits(name, key) && (!hasValue || fits(fixed, text)) && !slices.Contains(byPeople, key) {
			return of[0]
		}
	}
	if seal.Tracks(field, key, value) {
		domain, _, _ := strings.Cut(key, "/")
		return cmp.Or(policyfile.WriterOf(key, text), trackers[domain], "a delivery tool")
	}
	return ""
}

// DropMetadata removes the labels and annotations of an object that delivery tools write or obey. It returns a note
// for each that they obey.
func DropMetadata(object map[string]any, allowed policyfile.AllowedMetadata) (notes []string) {
	metadata, _ := object["metadata"].(map[string]any)
	for _, field := range []string{"labels", "annotations"} {
		of, _ := metadata[field].(map[string]any)
		for _, key := range slices.Sorted(maps.Keys(of)) {
			tool, effect := directive(field, key, of[key])
			if effect != "" {
				notes = append(notes, fmt.Sprintf("%s: %q is removed: it tells %s to %s", key,
					exception.Shortened(fmt.Sprint(of[key])), tool, effect))
			}
			if effect != "" || metadataWriter(field, key, of[key], allowed) != "" {
				delete(of, key)
			}
		}
		if len(of) == 0 {
			delete(metadata, field)
		}
	}
	return notes
}

// fits reports whether a text is a pattern, or begins with the part before its "*".
func fits(pattern, text string) bool {
	prefix, open := strings.CutSuffix(pattern, "*")
	return text == pattern || open && strings.HasPrefix(text, prefix)
}

// metadata calls a function for each label and annotation of a request, in the order of the keys. A signed object may
// have any.
func (s *subject) metadata(each func(field, key string, value any, path exception.Path)) {
	if len(manifest.SignatureKeys(s.Doc)) > 0 {
		return
	}
	for _, field := range []string{"annotations", "labels"} {
		value, _ := s.Doc.Lookup("metadata", field)
		keys, _ := value.(map[string]any)
		for _, key := range slices.Sorted(maps.Keys(keys)) {
			each(field, key, keys[key], exception.Path{"metadata", field, key})
		}
	}
}

var directiveCheck = check{
	About: "Finds a label or annotation that tells a delivery tool to keep the exception after its file is removed, " +
		"to apply it only once, or not at all, such as `Prune=false`. Ordering such as `sync-wave` is allowed.",
	Reasons: []Reason{{Name: reasonDeployerDirective,
		Doc: "a delivery tool would keep the exception, or not apply it"}},
	Run: func(s *subject) {
		s.metadata(func(field, key string, value any, path exception.Path) {
			if tool, effect := directive(field, key, value); effect != "" {
				s.find(reasonDeployerDirective, path, "remove it", "the %s %s: %q tells %s to %s",
					strings.TrimSuffix(field, "s"), key, exception.Shortened(fmt.Sprint(value)), tool, effect)
			}
		})
	},
}

// directive returns the tool that a label or annotation tells what to do, and what; "" if it is not a directive.
// field is "labels" or "annotations". A value is read as Argo CD reads it, a list with commas; letter case does not
// count, as in Flux and Helm.
func directive(field, key string, value any) (tool, effect string) {
	text, _ := value.(string)
	for _, row := range directives {
		tool, in, values, effect := row[0], row[1], row[3], row[4]
		if row[2] != key || in != "both" && in != field || values == "!"+text {
			continue
		}
		for item := range strings.SplitSeq(text, ",") {
			has := func(v string) bool { return strings.EqualFold(v, strings.TrimSpace(item)) }
			if values == "any" || values[0] == '!' || slices.ContainsFunc(strings.Split(values, ","), has) {
				return tool, effect
			}
		}
	}
	return "", ""
}
