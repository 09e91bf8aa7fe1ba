package adopt

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/polex-dev/polex/pkg/exception"
)

// repository is the content of the files.
type repository struct {
	deployment
	origin  string // the address of the remote, or ""
	files   map[string][]byte
	sources []*document                        // the exceptions of plain files
	named   map[exception.Identity][]*document // the same by their identity without a namespace
	known   map[exception.Identity]string      // the file of each pending or signed exception
	tests   []string                           // folders of tests of policies, which are not deployed
}

// read reads the files. Documents that are to become exceptions, and cannot, are problems of the plan.
// Templates are tasks for people, if the objects that they give are known.
func read(files map[string][]byte, deployed bool, plan *Plan, o *Options) *repository {
	r := &repository{origin: o.Origin, files: files, known: map[exception.Identity]string{},
		named: map[exception.Identity][]*document{}}
	r.byFolder, r.above, r.isPatch = map[string]*kustomization{}, map[string][]*kustomization{}, map[string]bool{}
	names := slices.Sorted(maps.Keys(files))
	for _, name := range names {
		if isKustomization.MatchString(name) {
			r.kustomization(name, files)
		}
	}
	for _, name := range names {
		switch {
		case within(o.Unsigned, name) || within(o.Signed, name):
			for _, d := range documents(name, files[name]) {
				if d.GroupKind().IsException() {
					r.known[d.Identity()] = name
				}
			}
		case path.Base(name) == ".sourceignore":
			r.deployers = append(r.deployers, deployer{path.Dir(name), name + " may leave it out"})
		case isTest.MatchString(name):
			r.tests = append(r.tests, path.Dir(name))
		case !r.isPatch[name]:
			r.file(name, deployed, plan)
		}
	}
	return r
}

// within reports whether a path is the folder itself or is below it.
func within(folder, name string) bool {
	return folder == "." || name == folder || strings.HasPrefix(name, folder+"/")
}

var (
	// isTest matches the files that mark a folder as a test of Kyverno's CLI or of Chainsaw.
	isTest = regexp.MustCompile(`/(kyverno|chainsaw)-test\.ya?ml$`)
	// ofInterest is a part of every file with an exception or a deployer.
	ofInterest = regexp.MustCompile(`PolicyException|toolkit\.fluxcd\.io|` + argoGroup)
	// isDraft matches the text of an exception, also of one that cannot be read.
	isDraft = regexp.MustCompile(`kind['"]? *: *['"]?PolicyException\b`)
	// isDeployer matches the text of a deployer that cannot be read.
	isDeployer = regexp.MustCompile(`(?m)^kind: ['"]?(Kustomization|Application|ApplicationSet)['"]?\s*$`)
)

// file reads the exceptions and deployers of a file.
func (r *repository) file(name string, deployed bool, plan *Plan) {
	if !ofInterest.Match(r.files[name]) {
		return
	}
	for _, d := range documents(name, r.files[name]) {
		var problem *Problem
		isDraft := isDraft.Match(d.text) && !bytes.Contains(d.text, []byte("kind: CustomResourceDefinition"))
		// In quotes, a name of a template is YAML too.
		isTemplate := isDraft && bytes.Contains(d.text, []byte("{{")) &&
			(d.err != nil || r.inChart(name) || strings.Contains(d.Identity().String(), "{{"))
		switch id := d.Identity(); {
		case isTemplate && deployed:
			plan.note(name, "this is a template of exceptions: when its objects are adopted, remove it by hand")
		case isTemplate:
			problem = &Problem{Reason: ReasonTemplate, Message: "this is a template of a PolicyException",
				Hint: "give its objects with --kubeconfig or --live, or render it: helm template DIR | polex adopt -"}
		case isDraft && d.err != nil && bytes.Contains(d.text, []byte("kyverno.io/v")):
			problem = &Problem{Reason: ReasonUnreadable, Message: d.err.Message,
				Hint: cmp.Or(d.err.Hint, "fix the file, or remove it")}
			d.line += max(d.err.Position.Line, 1) - 1
		case id.IsException() && id.Name == "":
			problem = &Problem{Reason: ReasonUnreadable, Message: "metadata.name is missing",
				Hint: "name the exception, or remove it"}
		case id.IsException():
			id.Namespace = ""
			r.sources, r.named[id] = append(r.sources, d), append(r.named[id], d)
		case d.err != nil && isDeployer.Match(d.text):
			r.deployers = append(r.deployers, deployer{how: name + " cannot be read: " + d.err.Message})
		default:
			r.deployers = append(r.deployers, readDeployer(d, r.origin)...)
		}
		if problem != nil {
			problem.File, problem.Line = name, d.line
			plan.Problems = append(plan.Problems, *problem)
		}
	}
}

// inChart reports whether a file is a template of a Helm chart.
func (r *repository) inChart(name string) bool {
	dir := path.Dir(name)
	for path.Base(dir) != "templates" && dir != "." {
		dir = path.Dir(dir)
	}
	return r.files[path.Join(path.Dir(dir), "Chart.yaml")] != nil && dir != "."
}

// document is an object of a file, of a stream or of a cluster.
type document struct {
	*exception.Document                        // an empty one, if it cannot be read
	err                 *exception.SyntaxError // or nil

	file   string // or the name of the stream
	line   int    // from 1
	part   int    // the index of its text in the file
	text   []byte // nil for an object of a cluster
	listed bool   // it is an item of the list in its text
	used   int    // number of deployed exceptions that it may give
}

// documents returns the documents of a file or stream, and the items of lists.
func documents(file string, content []byte) (all []*document) {
	line := 1
	for part, text := range split(content) {
		d := document{file: file, line: line, part: part, text: text}
		line += bytes.Count(text, []byte("\n"))
		d.Document, d.err = parse(text)
		list, isList := d.Lookup("items")
		items, _ := list.([]any)
		for i, item := range items {
			one := d
			one.listed, one.line = true, d.line+d.PositionOf(exception.Path{"items", i}).Line-1
			object, _ := item.(map[string]any)
			one.Document, _ = exception.FromObject(object) //nolint:errcheck // it is a part of a document
			all = append(all, &one)
		}
		if !isList && (d.err != nil || len(d.Object()) > 0) {
			all = append(all, &d)
		}
	}
	return all
}

// split cuts a file at the same lines as Kubernetes' splitter. The parts together are the whole file.
func split(content []byte) (parts [][]byte) {
	for line := range bytes.Lines(content) {
		if len(parts) == 0 || bytes.HasPrefix(line, []byte("---")) {
			parts = append(parts, nil)
		}
		last := &parts[len(parts)-1]
		*last = append(*last, line...)
	}
	return parts
}

// parse reads a document, with aliases written out. A text with only comments is an empty document.
func parse(text []byte) (*exception.Document, *exception.SyntaxError) {
	reader := exception.NewReader(bytes.NewReader(text), "").Large().Aliases()
	doc, err := reader.Next()
	if err == nil {
		if _, err = reader.Next(); errors.Is(err, io.EOF) {
			return doc, nil
		}
	}
	empty, _ := exception.FromObject(nil) //nolint:errcheck // it has no value to refuse
	if errors.Is(err, io.EOF) {
		return empty, nil
	}
	syntax := &exception.SyntaxError{Message: "several JSON documents in one file", Hint: "write a file for each"}
	errors.As(err, &syntax)
	return empty, syntax
}

// plain returns the reason why a file alone does not give the deployed form, or nil. Whole means that the objects
// of a cluster are known, and have no such exception.
func (r *repository) plain(s *document, whole bool) *Problem {
	const ask = "give its object with --kubeconfig or --live, or render it and pipe it to polex adopt -"
	why := r.alters(s.file)
	switch {
	case slices.ContainsFunc(r.tests, func(dir string) bool { return within(dir, s.file) }):
		return &Problem{Reason: ReasonNotDeployed, Message: "it belongs to a test of policies, and stays where it is"}
	case r.isOmitted(s.file):
		return &Problem{Reason: ReasonNotDeployed, Message: "no kustomization lists its file, and it stays where it is",
			Hint: "remove it; or if a cluster has it, " + ask}
	case whole:
		return &Problem{Reason: ReasonNotDeployed,
			Message: "the cluster has no exception of this name, and it stays where it is",
			Hint:    "remove it; or if another cluster has it, give the objects of that one too"}
	case why != "":
		return &Problem{Reason: ReasonNotRendered, Hint: ask,
			Message: "another tool may change it on its way to the cluster: " + why}
	}
	return nil
}
