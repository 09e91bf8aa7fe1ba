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
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// tag is the field that follows a source through kustomize. It is in nothing that is
// written. The name has a random part for each repository, so that no patch sets it.
const tag = "adopt.polex.dev/source-"

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
	if r.folders[dir] != nil && !r.reaches(dir) {
		return nil, nil
	}
	c := &copying{repository: r, fs: filesys.MakeFsInMemory(), visits: map[string]int{dir: 0}, copied: map[int]bool{}}
	top, _, err := c.folder(dir, scan)
	if err != nil || top == nil {
		return nil, err
	}
	over, _, err = c.settings(&kustomization{file: "a deployer", dir: dir, object: over})
	if err != nil {
		return nil, err
	}
	for key, value := range over {
		switch value := value.(type) {
		case []any:
			before, _ := top[key].([]any)
			top[key] = append(slices.Clone(before), value...)
		case map[string]any:
			merged := maps.Clone(value)
			for name, before := range mapping(top, key) {
				if _, there := merged[name]; !there {
					merged[name] = before
				}
			}
			top[key] = merged
		default:
			top[key] = value
		}
	}
	if err := c.write(dir, top); err != nil {
		return nil, err
	}
	options := krusty.MakeDefaultOptions() // no plugins, no Helm
	options.LoadRestrictions = types.LoadRestrictionsNone
	resources, err := krusty.MakeKustomizer(options).Run(c.fs, path.Join("/", dir))
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
		source, ok := r.untag(object)
		if !ok {
			return nil, fmt.Errorf("a patch replaces the whole %s", identity(object))
		}
		all = append(all, built{source: source, object: object, yaml: text})
		delete(c.copied, source)
	}
	maps.Copy(r.removed, c.copied)
	return all, nil
}

// copying copies what leads to exceptions and deployers to kustomize's files. Every entry
// is written anew, as a path that begins with a dot: kustomize takes it for no address, so
// that it fetches nothing.
type copying struct {
	*repository
	fs filesys.FileSystem
	// visits counts what kustomize reads for a folder, as often as it is listed. It is 0
	// while the folder is copied.
	visits map[string]int
	copied map[int]bool // the sources
}

// maxVisits is the most that kustomize reads for one folder: folders that list others
// twice, of which each does, double that with each.
const maxVisits = 50_000

// folder copies what a folder's kustomization lists, and returns that kustomization, which
// is not written yet; nil is one that leads to none.
func (c *copying) folder(dir string, scan bool) (object map[string]any, visits int, err error) {
	switch k := c.folders[dir]; {
	case k != nil:
		return c.settings(k)
	case scan:
		return c.scanned(dir)
	default:
		return nil, 0, nil
	}
}

func (c *copying) settings(k *kustomization) (object map[string]any, visits int, err error) {
	object, unknown := c.reduced(k)
	if unknown != "" {
		return nil, 0, errors.New(unknown)
	}
	for _, key := range lists {
		entries, _ := object[key].([]any)
		for _, entry := range entries {
			n, err := c.target(path.Join(k.dir, entry.(string)))
			if err != nil {
				return nil, 0, err
			}
			visits += n
		}
	}
	return object, visits, nil
}

// scanned is the kustomization that Flux makes of a folder that has none.
func (c *copying) scanned(dir string) (object map[string]any, visits int, err error) {
	object = map[string]any{}
	skip := ""
	for _, name := range c.names {
		if !within(dir, name) || skip != "" && within(skip, name) {
			continue
		}
		target := name
		for above := path.Dir(name); above != dir && above != "."; above = path.Dir(above) {
			if c.folders[above] != nil {
				target, skip = above, above
			}
		}
		if !c.reaches(target) || strings.HasSuffix(target, ".json") {
			continue
		}
		put(object, "resources", relative(dir, target))
		n, err := c.target(target)
		if err != nil {
			return nil, 0, err
		}
		visits += n
	}
	if len(object) == 0 {
		return nil, 0, nil
	}
	return object, visits, nil
}

// relative is how a kustomization in a folder names another path of the repository.
func relative(dir, target string) string {
	name, err := filepath.Rel(dir, target)
	if err != nil || strings.HasPrefix(name, "..") {
		return filepath.ToSlash(name)
	}
	return "./" + filepath.ToSlash(name)
}

// target copies a file or a folder that is listed.
func (c *copying) target(target string) (visits int, err error) {
	if sources := c.byFile[target]; len(sources) > 0 {
		for _, i := range sources {
			c.copied[i] = true
		}
		return 1, c.fs.WriteFile(path.Join("/", target), c.tagged(sources))
	}
	visits, known := c.visits[target]
	if known && visits == 0 {
		return 0, fmt.Errorf("the kustomization of %s leads to itself", target)
	}
	if !known {
		c.visits[target] = 0
		object, below, err := c.folder(target, false)
		if err != nil {
			return 0, err
		}
		if err := c.write(target, object); err != nil {
			return 0, err
		}
		visits = below + 1
		c.visits[target] = visits
	}
	if visits > maxVisits {
		return 0, fmt.Errorf("the kustomization of %s leads to more than %d files", target, maxVisits)
	}
	return visits, nil
}

func (c *copying) write(dir string, kustomization map[string]any) error {
	raw, err := yaml.Marshal(kustomization)
	if err != nil {
		return err
	}
	return c.fs.WriteFile(path.Join("/", dir, kustomizationNames[0]), raw)
}

// tagged writes sources as a file for kustomize. JSON is YAML, and says the type of
// each value.
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

// untag returns the source of an object, and removes the tag.
func (r *repository) untag(object map[string]any) (source int, ok bool) {
	source, err := strconv.Atoi(text(object, r.tag))
	delete(object, r.tag)
	return source, err == nil
}
