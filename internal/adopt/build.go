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

// tag is the field that follows a source through kustomize. It is in nothing that is
// written. The name has a random part for each repository, so that no patch sets it.
const tag = "adopt.polex.dev/source-"

// build has kustomize build what a deployer renders: the settings of the deployer over those
// of the folder's kustomization, or over one of the files of the folder.
func (r *repository) build(d deployment) (all []form, err error) {
	// Kustomize's reader is known to panic.
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
		err = errors.New("the patches of the deployer are too large for what it deploys")
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
	if own != nil { // others list the folder without the settings of the deployer
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

// copied is a file or a folder that leads to exceptions and deployers, in kustomize's files.
// Every entry of a kustomization is written anew, as a path that begins with a dot: kustomize
// takes it for no address, so that it fetches nothing.
type copied struct {
	object map[string]any // of a folder: its kustomization
	visits int            // what kustomize reads for it, as often as it is listed
	err    error
}

// maxVisits is the most that kustomize reads for one folder, in files and KiB: folders that
// list others twice, of which each does, double that with each. A patch may be written into
// all that it reads.
const maxVisits = 50_000

// length is that of the patches of a kustomization, in KiB.
func length(object map[string]any) (sum int) {
	for _, p := range list(object, "patches") {
		sum += len(text(p, "patch"))
	}
	return sum >> 10
}

// copy copies a file or a folder that is listed.
func (r *repository) copy(target string) (visits int, err error) {
	if sources := r.byFile[target]; len(sources) > 0 {
		content := r.tagged(sources)
		return 1 + len(content)>>10, r.fs.WriteFile(path.Join("/", target), content)
	}
	c := r.copies[target]
	if c == nil {
		c = &copied{err: fmt.Errorf("the kustomization of %s leads to itself", target)} // until it is done
		r.copies[target] = c
		if c.object, c.visits, c.err = r.settings(r.folders[target]); c.err == nil {
			c.err = r.write(target, c.object)
		}
		if c.err == nil && c.visits > maxVisits {
			c.err = fmt.Errorf("the kustomization of %s leads to more than %d files and KiB", target, maxVisits)
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

// scanned is the kustomization of a folder that has none.
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

// relative is how a kustomization in a folder names another path of the repository.
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
