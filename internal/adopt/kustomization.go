package adopt

import (
	"fmt"
	"maps"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// kustomizationNames are the file names that kustomize reads.
var kustomizationNames = []string{"kustomization.yaml", "kustomization.yml", "Kustomization"}

func isKustomization(name string) bool { return slices.Contains(kustomizationNames, path.Base(name)) }

// kustomizations are the kustomizations of a repository.
type kustomizations struct {
	byFolder map[string]*kustomization
	above    map[string][]*kustomization // by file or folder: those that list it
	isPatch  map[string]bool             // by file
}

// kustomization is one kustomization file.
type kustomization struct {
	file, dir string
	object    map[string]any
	patches   []string // files, and texts of inline patches
}

// lists are the keys under which a kustomization lists files and folders.
var lists = []string{"resources", "bases", "components"}

func readKustomizations(files map[string][]byte) kustomizations {
	all := kustomizations{byFolder: map[string]*kustomization{}, above: map[string][]*kustomization{},
		isPatch: map[string]bool{}}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if !isKustomization(name) {
			continue
		}
		object, err := object(files[name])
		if err != nil || object == nil || groupKind(object).Group == fluxGroup || isException(object) {
			continue
		}
		k := &kustomization{file: name, dir: path.Dir(name), object: object}
		all.byFolder[k.dir] = k
		for _, key := range lists {
			entries, _ := object[key].([]any)
			for _, entry := range entries {
				if entry, _ := entry.(string); entry != "" && !strings.Contains(entry, "://") {
					target := path.Join(k.dir, entry)
					all.above[target] = append(all.above[target], k)
				}
			}
		}
		for _, key := range []string{"patches", "patchesJson6902", "patchesStrategicMerge"} {
			entries, _ := object[key].([]any)
			for _, entry := range entries {
				file, inline := text(map[string]any{"": entry}, ""), ""
				if entry, ok := entry.(map[string]any); ok {
					file, inline = text(entry, "path"), text(entry, "patch")
				}
				k.patches = append(k.patches, file, inline)
				all.isPatch[path.Join(k.dir, file)] = file != ""
			}
		}
	}
	return all
}

// chain returns all kustomizations that lead to a file, the nearest first.
func (all kustomizations) chain(name string) (chain []*kustomization) {
	for targets := []string{name}; len(targets) > 0; targets = targets[1:] {
		for _, k := range all.above[targets[0]] {
			if !slices.Contains(chain, k) {
				chain, targets = append(chain, k), append(targets, k.dir)
			}
		}
	}
	return chain
}

// isOmitted reports whether the nearest kustomization above a file, and every other one, leaves it
// out.
func (all kustomizations) isOmitted(name string) bool {
	dir := path.Dir(name)
	for all.byFolder[dir] == nil && dir != "." {
		dir = path.Dir(dir)
	}
	return all.byFolder[dir] != nil && len(all.above[name]) == 0
}

// harmless are the settings of a kustomization that change no object which it lists.
var harmless = []string{"apiVersion", "kind", "metadata", "resources", "bases", "buildMetadata",
	"configMapGenerator", "secretGenerator", "generatorOptions", "helmCharts", "helmGlobals", "openapi", "crds"}

// alters returns the setting of a kustomization that may change the documents of a file, or "". A
// component may change what others list.
func (all kustomizations) alters(name string) string {
	for _, k := range all.chain(name) {
		for _, key := range slices.Sorted(maps.Keys(k.object)) {
			if !slices.Contains(harmless, key) {
				return fmt.Sprintf("%s has %s", k.file, key)
			}
		}
	}
	return ""
}

// held returns the reason why a document of a file must not be removed, or "": more than one
// kustomization leads to it, or one has a patch for it, which fails without its target.
func (r *repository) held(name string) string {
	for target := name; ; {
		above := r.above[target]
		if len(above) > 1 {
			return fmt.Sprintf("%s and %s use it", above[0].file, above[1].file)
		}
		if len(above) == 0 {
			return ""
		}
		for _, patch := range append(slices.Clone(above[0].patches), string(r.files[above[0].file])) {
			if content := r.files[path.Join(above[0].dir, patch)]; strings.Contains(patch+string(content),
				"kind: PolicyException") {
				return above[0].file + " patches exceptions"
			}
		}
		if target == above[0].dir {
			return above[0].file + " lists itself"
		}
		target = above[0].dir
	}
}

// nothing makes a kustomization without resources valid: Flux would otherwise deploy every file
// below its folder.
const nothing = "resources: []\nbuildMetadata: [originAnnotations]\n"

// unlist returns a kustomization without the line of an entry, or "" if that line cannot be removed
// alone.
func (k *kustomization) unlist(content []byte, target string) string {
	before, err := object(content)
	entries, _ := before["resources"].([]any)
	i := slices.IndexFunc(entries,
		func(entry any) bool { name, _ := entry.(string); return path.Join(k.dir, name) == target })
	if err != nil || i < 0 {
		return ""
	}
	entry := regexp.QuoteMeta(entries[i].(string))
	left := regexp.MustCompile(`(?m)^ *- +(['"]?)`+entry+`['"]? *(#.*)?\n?`).ReplaceAll(content, nil)
	inLine := regexp.MustCompile(`(?m)^(resources: *\[.*?)(, *['"]?` + entry + `['"]?|['"]?` + entry +
		`['"]? *,? *)([],])`)
	left = inLine.ReplaceAll(left, []byte("$1$3"))
	if len(entries) == 1 {
		left = append(regexp.MustCompile(`(?m)^resources: *(\[ *\] *)?(#.*)?\n?`).ReplaceAll(left, nil), nothing...)
	}
	after, err := object(left)
	before["resources"] = slices.Delete(slices.Clone(entries), i, i+1)
	if len(entries) == 1 && before["buildMetadata"] == nil {
		before["buildMetadata"] = []any{"originAnnotations"}
	}
	if err != nil || !reflect.DeepEqual(before, after) {
		return ""
	}
	return string(left)
}

const (
	fluxGroup = "kustomize.toolkit.fluxcd.io"
	argoGroup = "argoproj.io"
)

// altering is a deployer that may change or leave out objects: a Flux Kustomization, or a
// source of an Argo CD Application.
type altering struct {
	dir string // "" is the root of the repository
	how string // its file and its setting
}

// fluxAlters and argoAlters are the settings that change or leave out objects.
var (
	fluxAlters = []string{"postBuild", "targetNamespace", "namePrefix", "nameSuffix", "patches",
		"patchesStrategicMerge",
		"patchesJson6902", "components", "commonMetadata"}
	argoAlters = []string{"kustomize", "helm", "plugin", "directory.include", "directory.exclude", "directory.jsonnet"}
)

// readDeployer returns what an object says about other files, if it is a deployer.
func readDeployer(file string, object map[string]any) (all []altering) {
	spec, keys := mapping(object, "spec"), argoAlters
	sources := append(list(spec, "sources"), mapping(spec, "source"))
	switch kind := groupKind(object); {
	case kind.Group == fluxGroup && kind.Kind == "Kustomization":
		sources, keys = []map[string]any{spec}, fluxAlters
	case kind.Group == argoGroup && kind.Kind == "ApplicationSet":
		sources = append(list(spec, "template", "spec", "sources"), mapping(spec, "template", "spec", "source"))
	case kind.Group != argoGroup || kind.Kind != "Application":
		return nil
	}
	for _, source := range sources {
		if i := slices.IndexFunc(keys,
			func(key string) bool { return at(source, strings.Split(key, ".")...) != nil }); i >= 0 {
			all = append(all, altering{dir: path.Join("/", text(source, "path"))[1:], how: file + " has " + keys[i]})
		}
	}
	return all
}

// reaches reports whether a folder contains a file, or a kustomization there leads to it. A path with
// a variable may be any folder.
func (all kustomizations) reaches(dir, name string) bool {
	return dir == "" || isVariable.MatchString(dir) || within(dir, name) ||
		slices.ContainsFunc(all.chain(name), func(k *kustomization) bool { return within(dir, k.dir) })
}
