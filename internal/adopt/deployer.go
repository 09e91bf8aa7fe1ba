package adopt

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// deployment is a folder that a deployer renders, with its settings.
type deployment struct {
	dir       string
	over      map[string]any // settings of a kustomization
	flat      bool           // without a kustomization: only the files in the folder itself, not below it
	namespace string         // for objects without one
	variables variables
}

// deployments returns the folders that a Flux Kustomization or an Argo CD Application renders from
// this repository.
func (r *repository) deployments(object map[string]any) []deployment {
	if isFlux(object) {
		return r.fluxDeployment(object)
	}
	namespace := text(object, "spec", "destination", "namespace")
	var all []deployment
	for _, source := range argoSources(object) {
		dir, local := folder(text(source, "path"))
		if !local || text(source, "path") == "" || source["plugin"] != nil || source["chart"] != nil || !r.isOwn(text(source, "repoURL")) || r.files[path.Join(dir, "Chart.yaml")] != nil {
			continue
		}
		d := deployment{dir: dir, namespace: namespace, over: map[string]any{}}
		recurse, _ := at(source, "directory", "recurse").(bool)
		d.flat = !recurse
		for _, key := range []string{"namespace", "namePrefix", "nameSuffix", "commonLabels", "commonAnnotations", "patches", "components"} {
			if value := at(source, "kustomize", key); value != nil {
				d.over[key] = value
			}
		}
		all = append(all, d)
	}
	return all
}

// argoSources returns the sources of an Application.
func argoSources(object map[string]any) []map[string]any {
	sources := list(object, "spec", "sources")
	if source := mapping(object, "spec", "source"); source != nil {
		sources = append(sources, source)
	}
	return sources
}

func (r *repository) fluxDeployment(object map[string]any) []deployment {
	r.substitute = r.substitute || at(object, "spec", "postBuild") != nil
	dir, local := folder(text(object, "spec", "path"))
	if !local || text(object, "spec", "sourceRef", "kind") != "GitRepository" || !r.isOwn(r.gitURL(object)) {
		return nil
	}
	d := deployment{dir: dir, over: map[string]any{}, variables: r.variables(object)}
	for from, to := range map[string]string{"targetNamespace": "namespace", "namePrefix": "namePrefix", "nameSuffix": "nameSuffix", "patches": "patches", "components": "components"} {
		if value := at(object, "spec", from); value != nil {
			d.over[to] = value
		}
	}
	return []deployment{d}
}

// gitURL returns the address of the GitRepository of a Flux Kustomization, or "" if the repository
// does not contain it.
func (r *repository) gitURL(flux map[string]any) string {
	name, namespace := text(flux, "spec", "sourceRef", "name"), text(flux, "spec", "sourceRef", "namespace")
	if namespace == "" {
		namespace = text(flux, "metadata", "namespace")
	}
	for _, g := range r.gitSources {
		if own := text(g, "metadata", "namespace"); text(g, "metadata", "name") == name && (own == namespace || own == "" || namespace == "") {
			return text(g, "spec", "url")
		}
	}
	return ""
}

// elsewhere returns a note about deployers of other repositories with paths that contain exceptions
// here: the clone may be a fork. The note contains no credentials of an address.
func (r *repository) elsewhere() string {
	n, first := 0, ""
	for _, s := range r.sources {
		all := argoSources(s.object)
		if isFlux(s.object) {
			all = []map[string]any{{"repoURL": r.gitURL(s.object), "path": text(s.object, "spec", "path")}}
		}
		i := slices.IndexFunc(all, func(from map[string]any) bool {
			dir, local := folder(text(from, "path"))
			return local && dir != "." && !r.isOwn(text(from, "repoURL")) &&
				slices.ContainsFunc(r.sources, func(s *source) bool { return s.isException() && within(dir, s.file) })
		})
		if s.isException() || i < 0 {
			continue
		}
		if n++; first == "" {
			first = fmt.Sprintf("%s %s deploys %s", text(s.object, "kind"), text(s.object, "metadata", "name"), Repository(text(all[i], "repoURL")))
		}
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("left out: %s of other repositories. %s, and the remote origin is %s. In a fork, set the address of origin first", count(n, "deployer"), first, Repository(r.options.Origin))
}

// isOwn reports whether an address can be the address of this repository. An unknown address counts
// as its own.
func (r *repository) isOwn(url string) bool {
	return url == "" || r.options.Origin == "" || strings.Contains(url, "$") || Repository(url) == Repository(r.options.Origin)
}

// Repository returns the host and path of a Git address, in lower case. The https, ssh and scp
// forms of an address give the same result.
func Repository(url string) string {
	if _, rest, ok := strings.Cut(url, "://"); ok {
		url = rest
	} else {
		url = strings.Replace(url, ":", "/", 1)
	}
	host, rest, _ := strings.Cut(url, "/")
	host = host[strings.LastIndex(host, "@")+1:]
	host, _, _ = strings.Cut(host, ":")
	return strings.ToLower(host + "/" + strings.TrimSuffix(strings.Trim(rest, "/"), ".git"))
}

// folder returns a deployer's path within the repository, or false if the path leaves it.
func folder(said string) (string, bool) {
	if strings.Contains(said, "$") {
		return "", false // a parent deployer substitutes the variable
	}
	dir := path.Join("/", said)
	if dir == "/" {
		return ".", true
	}
	return dir[1:], !strings.HasPrefix(path.Clean(said), "..")
}

// render returns the deployed forms of the sources that a deployer reaches. A form that cannot be
// determined contains an error.
func (r *repository) render(object map[string]any) (all []form, err error) {
	for _, d := range r.deployments(object) {
		out, err := r.build(d)
		if err != nil {
			return all, err
		}
		for _, f := range out {
			f.object, f.err = d.variables.apply(f.object)
			f.object = inNamespace(f.object, d.namespace)
			all = append(all, f)
		}
	}
	return all, nil
}

// inNamespace sets the namespace of an exception that has none.
func inNamespace(object map[string]any, namespace string) map[string]any {
	if object != nil && isException(object) && namespace != "" && text(object, "metadata", "namespace") == "" {
		set(object, namespace, "metadata", "namespace")
	}
	return object
}
