package adopt

import (
	"bytes"
	"fmt"
	"maps"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/polex-dev/polex/pkg/exception"
)

// isKustomization matches the files that kustomize reads.
var isKustomization = regexp.MustCompile(`(^|/)(kustomization\.ya?ml|Kustomization)$`)

// deployment is what the kustomizations and deployers of a repository do.
type deployment struct {
	byFolder   map[string]*kustomization
	above      map[string][]*kustomization // by file or folder: those that list it
	isPatch    map[string]bool             // by file
	unreadable []*kustomization
	deployers  []deployer
}

// kustomization is one kustomization file.
type kustomization struct {
	file, dir string
	object    map[string]any
	mustStay  string // why the files that it lists must stay, or ""
}

// kustomization reads a kustomization file.
func (d *deployment) kustomization(name string, files map[string][]byte) {
	empty, _ := parse(nil)
	first := &document{Document: empty, err: &exception.SyntaxError{Message: "it is empty, or a link"}}
	if all := documents(name, files[name]); len(all) > 0 {
		first = all[0]
	}
	if first.GroupKind().Group == fluxGroup || first.GroupKind().IsException() {
		return
	}
	k := &kustomization{file: name, dir: path.Dir(name), object: first.Object()}
	d.byFolder[k.dir] = k
	if first.err != nil {
		k.mustStay = "cannot be read: " + first.err.Message
		k.object = map[string]any{"a part that " + k.mustStay: nil}
		if bytes.Contains(files[name], []byte("..")) {
			k.dir = "."
		}
		d.unreadable = append(d.unreadable, k)
		return
	}
	list := func(key string) []any { entries, _ := k.object[key].([]any); return entries }
	for _, entry := range slices.Concat(list("resources"), list("bases"), list("components")) {
		if entry, _ := entry.(string); entry != "" && !strings.Contains(entry, "://") {
			target := path.Join(k.dir, entry)
			d.above[target] = append(d.above[target], k)
		}
	}
	texts := files[name] // with the patches in it
	for _, entry := range slices.Concat(list("patches"), list("patchesJson6902"), list("patchesStrategicMerge")) {
		file, isFile := entry.(string)
		if patch, ok := entry.(map[string]any); ok {
			file, isFile = patch["path"].(string)
		}
		if file = path.Join(k.dir, file); isFile {
			d.isPatch[file] = true
			texts = slices.Concat(texts, files[file])
		}
	}
	if isDraft.Match(texts) {
		k.mustStay = "patches exceptions" // a patch fails without its target
	}
}

// chain returns all kustomizations that lead to a file, the nearest first, and two of them that list the same
// file or folder. One that cannot be read may lead to every file below its folder or, with "..", to any file.
func (d *deployment) chain(name string) (chain []*kustomization, shared string) {
	for targets := []string{name}; len(targets) > 0; targets = targets[1:] {
		above := d.above[targets[0]]
		if len(above) > 1 {
			shared = fmt.Sprintf("%s and %s use it", above[0].file, above[1].file)
		}
		for _, k := range above {
			if !slices.Contains(chain, k) {
				chain, targets = append(chain, k), append(targets, k.dir)
			}
		}
	}
	for _, k := range d.unreadable {
		if within(k.dir, name) {
			chain = append(chain, k)
		}
	}
	return chain, shared
}

// isOmitted reports whether the nearest kustomization above a file, and every other one, leaves it
// out.
func (d *deployment) isOmitted(name string) bool {
	dir := path.Dir(name)
	for d.byFolder[dir] == nil && dir != "." {
		dir = path.Dir(dir)
	}
	chain, _ := d.chain(name)
	return d.byFolder[dir] != nil && len(chain) == 0
}

// harmless are the settings of a kustomization that change no object which it lists.
var harmless = []string{"apiVersion", "kind", "metadata", "resources", "bases", "buildMetadata",
	"configMapGenerator", "secretGenerator", "generatorOptions", "helmCharts", "helmGlobals", "openapi", "crds"}

// alters returns the setting of a kustomization or deployer that may change the documents of a file, or "". A
// component may change what others list.
func (d *deployment) alters(name string) string {
	chain, _ := d.chain(name)
	for _, k := range chain {
		for _, key := range slices.Sorted(maps.Keys(k.object)) {
			if !slices.Contains(harmless, key) {
				return fmt.Sprintf("%s has %s", k.file, key)
			}
		}
	}
	for _, by := range d.deployers {
		if by.dir == "" || within(by.dir, name) ||
			slices.ContainsFunc(chain, func(k *kustomization) bool { return within(by.dir, k.dir) }) {
			return by.how
		}
	}
	return ""
}

// mustStay returns the reason why a document of a file must not be removed, or "": more than one
// kustomization leads to it, or one has a patch for it.
func (d *deployment) mustStay(name string) string {
	chain, shared := d.chain(name)
	for _, k := range chain {
		if k.mustStay != "" {
			return k.file + " " + k.mustStay
		}
	}
	return shared
}

// nothing makes a kustomization without resources valid: Flux would otherwise deploy every file
// below its folder.
const nothing = "resources: []\nbuildMetadata: [originAnnotations]\n"

// unlist returns a kustomization without the line of an entry, or nil if that line cannot be removed
// alone.
func (k *kustomization) unlist(content []byte, target string) []byte {
	want := maps.Clone(k.object)
	entries, _ := want["resources"].([]any)
	i := slices.IndexFunc(entries,
		func(entry any) bool { name, _ := entry.(string); return path.Join(k.dir, name) == target })
	if i < 0 {
		return nil
	}
	entry := `['"]?` + regexp.QuoteMeta(entries[i].(string)) + `['"]?`
	line := regexp.MustCompile(`(?m)^ *- +` + entry + ` *(#.*)?\n?`)
	inList := regexp.MustCompile(`(?m)^(resources: *\[.*?)(, *` + entry + `|` + entry + ` *,? *)([],])`)
	left := inList.ReplaceAll(line.ReplaceAll(content, nil), []byte("$1$3"))
	want["resources"] = slices.Delete(slices.Clone(entries), i, i+1)
	if len(entries) == 1 {
		left = append(regexp.MustCompile(`(?m)^resources: *(\[ *\] *)?(#.*)?\n?`).ReplaceAll(left, nil), nothing...)
		want["buildMetadata"] = []any{"originAnnotations"}
	}
	if after, err := parse(left); err != nil || !reflect.DeepEqual(want, after.Object()) {
		return nil
	}
	k.object = want
	return left
}

const (
	fluxGroup = "kustomize.toolkit.fluxcd.io"
	argoGroup = "argoproj.io"
)

// deployer is a Kustomization or source of Flux, or a source of an Argo CD Application, that may change or leave
// out objects.
type deployer struct {
	dir string // the folder that it deploys; "" is any
	how string // its file and its setting
}

// alterations are the settings of deployers that change or leave out objects.
var alterations = []string{"postBuild", "targetNamespace", "namePrefix", "nameSuffix", "patches",
	"patchesStrategicMerge", "patchesJson6902", "components", "commonMetadata", "ignore", // Flux
	"kustomize", "helm", "plugin", "directory.include", "directory.exclude", "directory.jsonnet"} // Argo CD

// isVariable matches what another tool replaces.
var isVariable = regexp.MustCompile(`\$|\{\{`)

// readDeployer returns the sources of a deployer that have such a setting. origin is the address of this repository.
func readDeployer(d *document, origin string) (all []deployer) {
	spec := mapping(d.Object(), "spec")
	switch kind := d.GroupKind(); kind.Group {
	case fluxGroup:
	case "source.toolkit.fluxcd.io":
		url, is := spec["url"].(string)
		if is && origin != "" && !strings.EqualFold(repositoryOf(url), repositoryOf(origin)) {
			return nil
		}
	case argoGroup:
		if kind.Kind == "ApplicationSet" {
			spec = mapping(spec, "template", "spec")
		}
	default:
		return nil
	}
	sources, _ := spec["sources"].([]any)
	for _, source := range append(sources, spec, spec["source"]) {
		source, _ := source.(map[string]any)
		dir, _ := source["path"].(string)
		dir = path.Join("/", dir)[1:]
		kind, _ := mapping(source, "sourceRef")["kind"].(string)
		if isVariable.MatchString(dir) || kind != "" && kind != "GitRepository" {
			dir = "" // the paths of an OCI artifact are other ones
		}
		for _, setting := range alterations {
			in, key := source, setting
			if inDirectory, is := strings.CutPrefix(setting, "directory."); is {
				in, key = mapping(source, "directory"), inDirectory
			}
			if in[key] != nil {
				all = append(all, deployer{dir, d.file + " has " + setting})
			}
		}
	}
	return all
}
