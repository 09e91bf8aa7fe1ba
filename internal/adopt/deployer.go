package adopt

import (
	"path"
	"slices"
	"strings"
)

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
