package adopt

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"
)

// tag is the field that marks a source while kustomize runs. It is removed before an exception is
// written. A random suffix for each run keeps a patch from setting it.
const tag = "adopt.polex.dev/source-"

// build renders the folder of a deployer with kustomize. It applies the settings of the deployer to
// the kustomization of the folder. A folder without one gets a kustomization of its files.
func (r *repository) build(d deployment) (all []form, err error) {
	// Kustomize's parser can panic on hostile input.
	defer func() {
		if p := recover(); p != nil {
			all, err = nil, fmt.Errorf("kustomize failed: %v", p)
		}
	}()
	var top map[string]any
	var own *copied
	visits := 0
	if r.folders[d.dir] == nil {
		top, visits, err = r.scanned(d)
	} else if r.reaches(d.dir) {
		visits, err = r.copy(d.dir)
		own = r.copies[d.dir]
		top = maps.Clone(own.object)
	}
	if err != nil || len(top) == 0 {
		return nil, err
	}
	over, _, err := r.settings(&kustomization{file: "a deployer", dir: d.dir, object: d.over})
	if err == nil && visits*length(over) > maxVisits {
		err = errors.New("the patches of the deployer are too large for its manifests")
	}
	if err != nil {
		return nil, err
	}
	for key, value := range over {
		switch value := value.(type) {
		case []any:
			before, _ := top[key].([]any)
			top[key] = slices.Concat(before, value)
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
	if err := r.write(d.dir, top); err != nil {
		return nil, err
	}
	options := krusty.MakeDefaultOptions() // no plugins, no Helm
	options.LoadRestrictions = types.LoadRestrictionsNone
	resources, err := krusty.MakeKustomizer(options).Run(r.fs, path.Join("/", d.dir))
	if own != nil { // other kustomizations list the folder without these settings
		err = errors.Join(err, r.write(d.dir, own.object))
	}
	if err != nil {
		return nil, err
	}
	seen := map[int]bool{}
	for _, resource := range resources.Resources() {
		text, err := resource.AsYAML()
		if err != nil {
			return nil, err
		}
		object, err := object(text)
		if err != nil {
			return nil, err
		}
		source, err := strconv.Atoi(fmt.Sprint(object[r.tag]))
		if err != nil {
			return nil, fmt.Errorf("a patch replaces the whole %s", identity(object))
		}
		delete(object, r.tag)
		seen[source] = true
		all = append(all, form{source: source, object: object})
	}
	for _, i := range r.below(d.dir) {
		r.removed[i] = r.removed[i] || !seen[i] && !strings.HasSuffix(r.sources[i].file, ".json")
	}
	return all, nil
}

// copied is a file or folder in the file system of kustomize that leads to exceptions or deployers.
// Each entry of a kustomization is rewritten as a path that begins with a dot, so that kustomize
// does not read it as an address and fetches nothing.
type copied struct {
	object map[string]any // the kustomization of a folder
	visits int            // files and KiB that kustomize reads for it, counted once per listing
	err    error
}

// maxVisits is the maximum that kustomize reads for one folder, in files and KiB. The limit stops
// folders that each list the next one twice, because every level doubles the work. Kustomize can
// also add a patch to each object that it reads.
const maxVisits = 50_000

// length returns the length of a kustomization's patches in KiB.
func length(object map[string]any) (sum int) {
	for _, p := range list(object, "patches") {
		sum += len(text(p, "patch"))
	}
	return sum >> 10
}

// copy copies a listed file or folder.
func (r *repository) copy(target string) (visits int, err error) {
	if sources := r.byFile[target]; len(sources) > 0 {
		content := r.tagged(sources)
		return 1 + len(content)>>10, r.fs.WriteFile(path.Join("/", target), content)
	}
	c := r.copies[target]
	if c == nil {
		c = &copied{err: fmt.Errorf("the kustomization of %s includes itself", target)} // until it is copied
		r.copies[target] = c
		if c.object, c.visits, c.err = r.settings(r.folders[target]); c.err == nil {
			c.err = r.write(target, c.object)
		}
		if c.err == nil && c.visits > maxVisits {
			c.err = fmt.Errorf("the kustomization of %s includes more than %d files or KiB", target, maxVisits)
		}
	}
	return c.visits + 1, c.err
}

func (r *repository) settings(k *kustomization) (object map[string]any, visits int, err error) {
	object, unknown := r.reduced(k)
	if unknown != "" {
		return nil, 0, errors.New(unknown)
	}
	for _, key := range lists {
		entries, _ := object[key].([]any)
		for _, entry := range entries {
			n, err := r.copy(path.Join(k.dir, entry.(string)))
			if err != nil {
				return nil, 0, err
			}
			visits += n
		}
	}
	return object, visits + visits*length(object), nil
}

// scanned returns a kustomization for a folder that has none.
func (r *repository) scanned(d deployment) (object map[string]any, visits int, err error) {
	object = map[string]any{}
	skip := ""
	for _, name := range r.names {
		if !within(d.dir, name) || d.flat && path.Dir(name) != d.dir || skip != "" && within(skip, name) {
			continue
		}
		target := name
		for above := path.Dir(name); above != d.dir && above != "."; above = path.Dir(above) {
			if r.folders[above] != nil {
				target, skip = above, above
			}
		}
		if !r.reaches(target) || strings.HasSuffix(target, ".json") && !d.flat {
			continue
		}
		put(object, "resources", relative(d.dir, target))
		n, err := r.copy(target)
		if err != nil {
			return nil, 0, err
		}
		visits += n
	}
	return object, visits, nil
}

// relative returns the target as a path relative to the folder of a kustomization.
func relative(dir, target string) string {
	name, err := filepath.Rel(dir, target)
	if err != nil || strings.HasPrefix(name, "..") {
		return filepath.ToSlash(name)
	}
	return "./" + filepath.ToSlash(name)
}

func (r *repository) write(dir string, kustomization map[string]any) error {
	raw, err := yaml.Marshal(kustomization)
	if err != nil {
		return err
	}
	return r.fs.WriteFile(path.Join("/", dir, kustomizationNames[0]), raw)
}

// tagged writes sources as a file for kustomize. It writes JSON, which is YAML and keeps the type
// of each value.
func (r *repository) tagged(sources []int) []byte {
	var out []byte
	for _, i := range sources {
		object := maps.Clone(r.sources[i].object)
		object[r.tag] = strconv.Itoa(i)
		raw, err := json.Marshal(object)
		if err != nil {
			continue // it was read from JSON
		}
		out = append(append(append(out, "---\n"...), raw...), '\n')
	}
	return out
}
