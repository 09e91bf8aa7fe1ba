package adopt

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/polex-dev/polex/pkg/exception"
)

// kustomizationNames are the file names that kustomize tries, in this order.
var kustomizationNames = []string{"kustomization.yaml", "kustomization.yml", "Kustomization"}

func (r *repository) isKustomization(name string) bool {
	return slices.Contains(kustomizationNames, path.Base(name))
}

// kustomization is one kustomization file.
type kustomization struct {
	file, dir string
	object    map[string]any
}

// kustomization parses a kustomization file and records the files that it uses as patches.
func (r *repository) kustomization(name string) {
	if !r.isKustomization(name) {
		return
	}
	object, err := object(r.files[name])
	if err != nil || object == nil || isFlux(object) || isException(object) {
		return
	}
	k := &kustomization{file: name, dir: path.Dir(name), object: object}
	r.folders[k.dir] = k
	for _, p := range k.patches() {
		if p.file != "" {
			r.patches[k.target(p.file)]++
		}
	}
}

// lists are the keys under which a kustomization lists files and folders.
var lists = []string{"resources", "bases", "components"}

// entries returns the texts that a kustomization lists under a key.
func (k *kustomization) entries(key string) []string {
	list, _ := k.object[key].([]any)
	var all []string
	for _, entry := range list {
		if name, ok := entry.(string); ok {
			all = append(all, name)
		}
	}
	return all
}

// targets returns all paths that a kustomization lists.
func (k *kustomization) targets() (all []string) {
	for _, key := range lists {
		for _, entry := range k.entries(key) {
			all = append(all, k.target(entry))
		}
	}
	return all
}

// target returns the path of a local entry within the repository, or "" for an address.
func (k *kustomization) target(entry string) string {
	if strings.Contains(entry, "://") {
		return ""
	}
	return path.Join(k.dir, entry)
}

// cycle marks a kustomization that includes itself. The build rejects it.
const cycle = -1

// leads returns the exceptions and deployers that a file or a folder with a kustomization leads to,
// in order.
func (r *repository) leads(target string) []int {
	all, known := r.reached[target]
	if k := r.folders[target]; k != nil && !known {
		r.reached[target] = []int{cycle}
		for _, below := range k.targets() {
			all = append(all, r.leads(below)...)
		}
		slices.Sort(all)
		all = slices.Compact(all)
		r.reached[target] = all
	}
	return slices.Concat(all, r.byFile[target])
}

func (r *repository) reaches(target string) bool { return len(r.leads(target)) > 0 }

// below returns the exceptions that a folder leads to, or those in a folder without a
// kustomization.
func (r *repository) below(dir string) (all []int) {
	leads := r.leads(dir)
	for i, s := range r.sources {
		if s.isException() && (r.folders[dir] == nil && within(dir, s.file) || slices.Contains(leads, i)) {
			all = append(all, i)
		}
	}
	return all
}

// patch is a patch of a kustomization. key and index give its position.
type patch struct {
	key    string
	index  int
	file   string // "" for an inline patch
	inline string
	kind   string // of the target, a regular expression; "" if there is none
	target bool
}

// patches returns all patches of a kustomization.
func (k *kustomization) patches() []patch {
	var all []patch
	for _, key := range []string{"patches", "patchesJson6902", "patchesStrategicMerge"} {
		list, _ := k.object[key].([]any)
		for i, entry := range list {
			p := patch{key: key, index: i}
			switch entry := entry.(type) {
			case string:
				p.file = entry
				if strings.Contains(entry, "\n") {
					p.file, p.inline = "", entry
				}
			case map[string]any:
				p.file, p.inline = text(entry, "path"), text(entry, "patch")
				p.kind, p.target = text(entry, "target", "kind"), mapping(entry, "target") != nil
			}
			all = append(all, p)
		}
	}
	return all
}

var kinds = []string{"PolicyException", "Kustomization", "Application"}

// concerns reports whether a patch may change an exception or a deployer, and returns its documents
// and text. The text of a file outside the repository is not known.
func (r *repository) concerns(k *kustomization, p patch) (concerns bool, docs []map[string]any, content string, known bool) {
	content, known = p.inline, true
	if p.file != "" {
		var raw []byte
		raw, known = r.files[k.target(p.file)]
		content = string(raw)
	}
	about := !known
	for _, chunk := range split([]byte(content)) {
		doc, err := object(chunk.text)
		if doc != nil {
			docs = append(docs, doc)
		}
		about = about || err != nil || slices.Contains(kinds, text(doc, "kind"))
	}
	if p.target {
		form, err := regexp.Compile("^(?:" + p.kind + ")$")
		about = p.kind == "" || err != nil || slices.ContainsFunc(kinds, form.MatchString)
	}
	return about, docs, content, known
}

// copies reports whether a JSON patch contains a copy operation. Each can double the content.
func copies(content string) bool {
	var operations []map[string]any
	err := yaml.Unmarshal([]byte(content), &operations)
	return err == nil && slices.ContainsFunc(operations, func(o map[string]any) bool { return o["op"] == "copy" })
}

// kept are the settings of a kustomization that change exceptions or deployers.
var kept = []string{"apiVersion", "kind", "namespace", "namePrefix", "nameSuffix", "labels", "commonAnnotations"}

// opaque are the settings whose effect depends on files that adopt leaves out.
var opaque = []string{"transformers", "replacements", "vars", "configurations", "openapi"}

// reduced returns a kustomization with only the entries that lead to exceptions and deployers.
// unknown names a setting that may change them in an unknown way.
func (r *repository) reduced(k *kustomization) (object map[string]any, unknown string) {
	object = map[string]any{}
	for _, key := range kept {
		if value, there := k.object[key]; there {
			object[key] = value
		}
	}
	if labels := mapping(k.object, "commonLabels"); labels != nil {
		put(object, "labels", map[string]any{"pairs": labels, "includeSelectors": true})
	}
	for _, key := range lists {
		for _, entry := range k.entries(key) {
			switch target := k.target(entry); {
			case r.reaches(target) || key == "components" && r.changes(target):
				put(object, strings.Replace(key, "bases", "resources", 1), relative(k.dir, target))
			case key == "components" && r.folders[target] == nil:
				unknown = fmt.Sprintf("%s has the component %s, which is not in the repository", k.file, entry)
			}
		}
	}
	for _, p := range k.patches() {
		concerns, _, content, known := r.concerns(k, p)
		if !concerns {
			continue
		}
		if !known {
			unknown = fmt.Sprintf("%s has the patch %s, which is not in the repository", k.file, p.file)
		}
		tooFar := func(c chunk) bool { return exception.CheckAliases(c.text) != nil }
		if slices.ContainsFunc(split([]byte(content)), tooFar) || copies(content) {
			unknown = k.file + " has a patch that copies or repeats values, which can be of any length: polex adopt does not apply it"
		}
		entry, _ := k.object[p.key].([]any)[p.index].(map[string]any)
		written := map[string]any{"patch": content}
		for _, name := range []string{"target", "options"} {
			if value := entry[name]; value != nil {
				written[name] = value
			}
		}
		put(object, "patches", written)
	}
	for _, key := range opaque {
		if value, _ := k.object[key].([]any); len(value) > 0 && r.mayConcern(value) {
			unknown = fmt.Sprintf("%s has %s, which polex adopt does not apply", k.file, key)
		}
	}
	return object, unknown
}

// changes reports whether a component changes objects that others list.
func (r *repository) changes(target string) bool {
	k := r.folders[target]
	if k == nil {
		return false
	}
	known, visited := r.altering[target]
	if visited {
		return known
	}
	r.altering[target] = true // a cycle counts as a change; the build rejects it
	object, unknown := r.reduced(k)
	delete(object, "apiVersion")
	delete(object, "kind")
	r.altering[target] = len(object) > 0 || unknown != ""
	return r.altering[target]
}

// put adds an entry to a list of a kustomization. Callers use the new names of settings, since
// kustomize warns about the old names on the terminal.
func put(object map[string]any, key string, entry any) {
	before, _ := object[key].([]any)
	object[key] = append(slices.Clone(before), entry)
}

// mayConcern reports whether a setting may change exceptions: it names a file, no kind, or one of
// the kinds.
func (r *repository) mayConcern(value []any) bool {
	raw, err := yaml.Marshal(value)
	said := string(raw)
	return err != nil || !strings.Contains(said, "kind: ") || slices.ContainsFunc(kinds, func(kind string) bool { return strings.Contains(said, "kind: "+kind) }) ||
		slices.ContainsFunc(value, func(entry any) bool { _, isText := entry.(string); return isText })
}
