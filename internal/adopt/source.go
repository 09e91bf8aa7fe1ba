package adopt

import (
	"bytes"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/polex-dev/polex/pkg/exception"
)

// source is an exception in a plain file of the repository.
type source struct {
	file   string
	chunk  int
	listed bool // an item of a list
	line   int
	object map[string]any
	text   []byte // nil for an item of a list
	used   int    // number of deployed exceptions that it may give
}

// repository is the parsed content of the files.
type repository struct {
	options *Options
	files   map[string][]byte
	names   []string // of the files, sorted
	chunks  map[string][]chunk
	sources []*source
	known   map[exception.Identity]string // the file of each pending or signed exception
	kustomizations
	altering []altering
	problems []Problem
}

// isVariable matches what another tool replaces.
var isVariable = regexp.MustCompile(`\$|\{\{`)

// isTemplate matches a document that is to become an exception.
var isTemplate = regexp.MustCompile(`kind: PolicyException|"PolicyException"`)

func read(files map[string][]byte, o *Options) *repository {
	r := &repository{options: o, files: files, names: slices.Sorted(maps.Keys(files)), chunks: map[string][]chunk{},
		known: map[exception.Identity]string{}}
	r.kustomizations = readKustomizations(files)
	for _, name := range r.names {
		if !within(o.Unsigned, name) && !within(o.Signed, name) {
			r.file(name)
			continue
		}
		for _, chunk := range split(files[name]) {
			if object, err := object(chunk.text); err == nil && isException(object) {
				r.known[identity(object)] = name
			}
		}
	}
	return r
}

// within reports whether a path is the folder itself or is below it.
func within(folder, name string) bool {
	return folder == "." || name == folder || strings.HasPrefix(name, folder+"/")
}

// file reads the exceptions and deployers of a file. It does not parse files without them.
func (r *repository) file(name string) {
	content := r.files[name]
	excepts := bytes.Contains(content, []byte("PolicyException"))
	if r.isPatch[name] || !excepts && !bytes.Contains(content, []byte(fluxGroup)) &&
		!bytes.Contains(content, []byte(argoGroup)) {
		return
	}
	r.chunks[name] = split(content)
	for i, chunk := range r.chunks[name] {
		about := Problem{File: name, Line: chunk.line}
		object, err := object(chunk.text)
		excepts := isTemplate.Match(chunk.text)
		switch {
		case excepts && bytes.Contains(chunk.text, []byte("{{")) &&
			(err != nil || r.chart(name) != "" || templated(object)):
			about.Reason, about.Message = ReasonTemplate, "this is a template of a PolicyException"
			about.Hint = "give its objects with --kubeconfig or --live, or render it: helm template DIR | polex " +
				"adopt -; if they are adopted already, remove the template by hand"
			r.problems = append(r.problems, about)
		case err != nil && excepts:
			about.Reason, about.Message, about.Hint = ReasonUnreadable, err.Error(), "fix the file, or remove it"
			r.problems = append(r.problems, about)
		case err != nil || object == nil:
		case items(object) != nil:
			for _, item := range items(object) {
				r.add(&source{file: name, chunk: i, listed: true, line: chunk.line, object: item})
			}
		default:
			r.add(&source{file: name, chunk: i, line: chunk.line, object: object, text: chunk.text})
		}
	}
}

// add keeps an exception or a deployer. An exception without a name cannot be deployed.
func (r *repository) add(s *source) {
	r.altering = append(r.altering, readDeployer(s.file, s.object)...)
	switch {
	case !isException(s.object):
	case text(s.object, "metadata", "name") == "":
		r.problems = append(r.problems, Problem{File: s.file, Line: s.line, Reason: ReasonUnreadable,
			Message: "metadata.name is missing", Hint: "name the exception, or remove it"})
	default:
		r.sources = append(r.sources, s)
	}
}

// of returns the sources of a deployed exception: the same group, kind and name, and no other
// namespace. A namespace with a variable may be any.
func (r *repository) of(id exception.Identity) (found []*source) {
	for _, s := range r.sources {
		namespace := text(s.object, "metadata", "namespace")
		if identity(s.object).GroupKind == id.GroupKind && text(s.object, "metadata", "name") == id.Name &&
			(namespace == "" || namespace == id.Namespace || isVariable.MatchString(namespace)) {
			found = append(found, s)
		}
	}
	return found
}

// chart returns Helm's name for a template, which begins with the name of its chart, or "" for
// other files.
func (r *repository) chart(name string) string {
	for dir := path.Dir(name); ; dir = path.Dir(dir) {
		if chart := r.files[path.Join(dir, "Chart.yaml")]; chart != nil && within(path.Join(dir, "templates"), name) {
			object, _ := object(chart)
			return path.Join(text(object, "name"), strings.TrimPrefix(name, dir+"/"))
		}
		if dir == "." {
			return ""
		}
	}
}

// testNames are the files that mark a folder as a test of Kyverno's CLI or of Chainsaw.
var testNames = []string{"kyverno-test.yaml", "kyverno-test.yml", "chainsaw-test.yaml", "chainsaw-test.yml"}

// isTest reports whether a file is in the folder of a test. Tests are not deployed.
func (r *repository) isTest(name string) bool {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if slices.ContainsFunc(testNames, func(test string) bool { return r.files[path.Join(dir, test)] != nil }) {
			return true
		}
	}
	return false
}

// plain returns the reason why a file alone does not give the deployed form, or nil.
func (r *repository) plain(s *source) *Problem {
	const ask = "give its object with --kubeconfig or --live, or render it and pipe it to polex adopt -"
	switch {
	case r.isTest(s.file):
		return &Problem{Reason: ReasonNotDeployed, Message: "it belongs to a test of policies, and stays where it is"}
	case r.isOmitted(s.file):
		return &Problem{Reason: ReasonNotDeployed, Message: "no kustomization lists its file, and it stays where it is",
			Hint: "remove it; or if a cluster has it, " + ask}
	}
	why := r.alters(s.file)
	for _, a := range r.altering {
		if why == "" && r.reaches(a.dir, s.file) {
			why = a.how
		}
	}
	switch {
	case why != "":
		return &Problem{Reason: ReasonNotRendered, Message: "another tool may change it on its way to the cluster: " +
			why,
			Hint: ask}
	case text(s.object, "metadata", "namespace") == "" && r.options.Namespace == "":
		return &Problem{Reason: ReasonNoNamespace, Message: "no namespace in the file",
			Hint: "give it with --exception-namespace NAME; or " + ask}
	}
	return nil
}

// templated reports whether a template gives the object its name or namespace, in quotes: the file is YAML then.
func templated(object map[string]any) bool {
	return strings.Contains(text(object, "metadata", "name")+text(object, "metadata", "namespace"), "{{")
}
