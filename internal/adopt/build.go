package adopt

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// tag is the annotation that follows a source through kustomize. It is in nothing that
// is written.
const tag = "adopt.polex.dev/source"

// built is what became of a source.
type built struct {
	source int
	object map[string]any
	yaml   []byte // as kustomize writes it, with the tag
}

// build has kustomize build a folder, with the settings of a deployer over those of the
// folder's kustomization. With scan, a folder without a kustomization is all files below it.
func (r *repository) build(dir string, over map[string]any, scan bool) (all []built, err error) {
	// Kustomize's reader is known to panic.
	defer func() {
		if p := recover(); p != nil {
			all, err = nil, fmt.Errorf("kustomize failed: %v", p)
		}
	}()
	fs := filesys.MakeFsInMemory()
	if r.folders[dir] != nil && !r.reaches(dir) {
		return nil, nil
	}
	top, err := r.emit(fs, dir, scan)
	if err != nil || top == nil {
		return nil, err
	}
	if over, err = r.components(fs, dir, over); err != nil {
		return nil, err
	}
	for _, key := range slices.Sorted(maps.Keys(over)) {
		switch value := over[key].(type) {
		case []any:
			before, _ := top[key].([]any)
			top[key] = append(slices.Clone(before), value...)
		case map[string]any:
			merged := maps.Clone(mapping(top, key))
			if merged == nil {
				merged = map[string]any{}
			}
			maps.Copy(merged, value)
			top[key] = merged
		default:
			top[key] = value
		}
	}
	if err := writeYAML(fs, path.Join("/", dir, kustomizationNames[0]), top); err != nil {
		return nil, err
	}
	options := krusty.MakeDefaultOptions() // no plugins, no Helm, nothing outside of the folder's own root
	options.LoadRestrictions = types.LoadRestrictionsNone
	resources, err := krusty.MakeKustomizer(options).Run(fs, path.Join("/", dir))
	if err != nil {
		return nil, err
	}
	for _, resource := range resources.Resources() {
		text, err := resource.AsYAML()
		if err != nil {
			return nil, err
		}
		object, err := object(text)
		if err != nil {
			return nil, err
		}
		if source, ok := untag(object); ok {
			all = append(all, built{source: source, object: object, yaml: text})
		}
	}
	return all, nil
}

// components copies the components that a deployer adds, and leaves out those that change
// nothing.
func (r *repository) components(fs filesys.FileSystem, dir string, over map[string]any) (map[string]any, error) {
	k := &kustomization{file: "a deployer", dir: dir, object: map[string]any{"components": over["components"]}}
	object, _, unknown := r.reduced(k)
	if unknown != "" {
		return nil, errors.New(unknown)
	}
	over = maps.Clone(over)
	delete(over, "components")
	maps.Copy(over, object)
	return over, r.emitAll(fs, dir, object)
}

// emit copies what leads to exceptions and deployers, and returns the folder's own
// kustomization, which is not written yet; nil is one that leads to none.
func (r *repository) emit(fs filesys.FileSystem, dir string, scan bool) (map[string]any, error) {
	k := r.folders[dir]
	if k == nil {
		if !scan {
			return nil, nil
		}
		return r.scanned(fs, dir)
	}
	object, files, unknown := r.reduced(k)
	if unknown != "" {
		return nil, errors.New(unknown)
	}
	for _, name := range files {
		if content, there := r.files[name]; there {
			if err := fs.WriteFile(path.Join("/", name), content); err != nil {
				return nil, err
			}
		}
	}
	return object, r.emitAll(fs, dir, object)
}

// emitAll copies what the lists of a kustomization name.
func (r *repository) emitAll(fs filesys.FileSystem, dir string, object map[string]any) error {
	for _, key := range lists {
		entries, _ := object[key].([]any)
		for _, entry := range entries {
			name, _ := entry.(string)
			if err := r.emitTarget(fs, path.Join(dir, name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// scanned is the kustomization that Flux makes of a folder that has none.
func (r *repository) scanned(fs filesys.FileSystem, dir string) (map[string]any, error) {
	var entries []any
	skip := ""
	for _, name := range r.names {
		if !within(dir, name) || name == dir || skip != "" && within(skip, name) {
			continue
		}
		target := name
		for above := path.Dir(name); above != dir && above != "."; above = path.Dir(above) {
			if r.folders[above] != nil {
				target = above
			}
		}
		if target != name {
			skip = target
		}
		if !r.reaches(target) || strings.HasSuffix(target, ".json") {
			continue
		}
		entries = append(entries, strings.TrimPrefix(strings.TrimPrefix(target, dir), "/"))
		if dir == "." {
			entries[len(entries)-1] = target
		}
		if err := r.emitTarget(fs, target); err != nil {
			return nil, err
		}
	}
	if entries == nil {
		return nil, nil
	}
	return map[string]any{"resources": entries}, nil
}

func (r *repository) emitTarget(fs filesys.FileSystem, target string) error {
	if sources := r.byFile[target]; len(sources) > 0 {
		return fs.WriteFile(path.Join("/", target), r.tagged(sources))
	}
	if fs.Exists(path.Join("/", target, kustomizationNames[0])) {
		return nil
	}
	object, err := r.emit(fs, target, false)
	if err != nil || object == nil {
		return err
	}
	return writeYAML(fs, path.Join("/", target, kustomizationNames[0]), object)
}

// tagged writes sources as a file for kustomize. JSON is YAML, and says the type of
// each value.
func (r *repository) tagged(sources []int) []byte {
	var out []byte
	for _, i := range sources {
		object := copied(r.sources[i].object)
		set(object, strconv.Itoa(i), "metadata", "annotations", tag)
		raw, err := json.Marshal(object)
		if err != nil {
			continue // it was read from JSON
		}
		out = append(append(append(out, "---\n"...), raw...), '\n')
	}
	return out
}

// untag returns the source of an object, and removes the tag.
func untag(object map[string]any) (source int, ok bool) {
	source, err := strconv.Atoi(text(object, "metadata", "annotations", tag))
	if annotations := mapping(object, "metadata", "annotations"); annotations != nil {
		if delete(annotations, tag); len(annotations) == 0 {
			delete(mapping(object, "metadata"), "annotations")
		}
	}
	return source, err == nil
}

func writeYAML(fs filesys.FileSystem, name string, object map[string]any) error {
	raw, err := yaml.Marshal(object)
	if err != nil {
		return err
	}
	return fs.WriteFile(name, raw)
}
