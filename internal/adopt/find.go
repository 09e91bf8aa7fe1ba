package adopt

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/polex-dev/polex/pkg/exception"
)

// source is a document of the repository that is an exception or a deployer.
type source struct {
	file   string
	chunk  int
	item   int // index in a list; -1 for a document of its own
	line   int
	object map[string]any
	text   []byte // nil for an item of a list
}

func (s *source) isException() bool { return isException(s.object) }

func groupKind(object map[string]any) exception.GroupKind {
	group, _, versioned := strings.Cut(text(object, "apiVersion"), "/")
	if !versioned {
		group = ""
	}
	return exception.GroupKind{Group: group, Kind: text(object, "kind")}
}

func isException(object map[string]any) bool { return groupKind(object).IsException() }

const (
	fluxGroup = "kustomize.toolkit.fluxcd.io"
	argoGroup = "argoproj.io"
)

func isFlux(object map[string]any) bool {
	return groupKind(object) == exception.GroupKind{Group: fluxGroup, Kind: "Kustomization"}
}

func isArgo(object map[string]any) bool {
	return groupKind(object) == exception.GroupKind{Group: argoGroup, Kind: "Application"}
}

// repository is the parsed content of the files. Sources are identified by their index.
type repository struct {
	options    *Options
	files      map[string][]byte
	names      []string // of the files, sorted
	chunks     map[string][]chunk
	sources    []*source
	byFile     map[string][]int
	values     []map[string]any          // ConfigMaps and Secrets
	gitSources []map[string]any          // Flux GitRepositories
	folders    map[string]*kustomization // by folder
	patches    map[string]int            // number of kustomizations that use a file as a patch
	reached    map[string][]int          // see leads
	altering   map[string]bool           // see changes
	fs         filesys.FileSystem        // input of kustomize
	copies     map[string]*copied        // in fs
	deployed   int                       // number of rendered forms of deployers
	delivered  map[string]bool           // clusters with a deployer of the signed folder
	removed    map[int]bool              // sources that a kustomization lists and also removes
	tag        string
	substitute bool                          // whether a Flux Kustomization substitutes variables
	known      map[exception.Identity]string // the file of each pending or signed exception
	problems   []Problem
	sets       []string // notes about ApplicationSets: their Applications are not known
}

// interesting are the words that a file must contain one of to be parsed.
var interesting = [][]byte{[]byte("PolicyException"), []byte("fluxcd.io/"), []byte(argoGroup + "/"), []byte("ConfigMap"), []byte("kind: Secret")}

func read(files map[string][]byte, o *Options) *repository {
	r := &repository{options: o, files: files, names: slices.Sorted(maps.Keys(files)), chunks: map[string][]chunk{}, byFile: map[string][]int{},
		folders: map[string]*kustomization{}, patches: map[string]int{}, reached: map[string][]int{}, altering: map[string]bool{}, known: map[exception.Identity]string{}, removed: map[int]bool{}, delivered: map[string]bool{}, fs: filesys.MakeFsInMemory(), copies: map[string]*copied{}, tag: tag + rand.Text()}
	for _, name := range r.names {
		r.kustomization(name)
	}
	for _, name := range r.names {
		if within(o.Unsigned, name) || within(o.Signed, name) {
			r.remember(name)
		} else if r.patches[name] == 0 &&
			slices.ContainsFunc(interesting, func(word []byte) bool { return bytes.Contains(files[name], word) }) {
			r.file(name)
		}
	}
	return r
}

// remember records the exceptions of a pending or signed file.
func (r *repository) remember(name string) {
	for _, chunk := range split(r.files[name]) {
		if object, err := object(chunk.text); err == nil && isException(object) {
			r.known[identity(object)] = name
		}
	}
}

// within reports whether a path is the folder itself or is below it.
func within(folder, name string) bool {
	return folder == "." || name == folder || strings.HasPrefix(name, folder+"/")
}

func (r *repository) file(name string) {
	r.chunks[name] = split(r.files[name])
	for i, chunk := range r.chunks[name] {
		about := Problem{File: name, Line: chunk.line}
		excepts := bytes.Contains(chunk.text, []byte("kind: PolicyException")) || bytes.Contains(chunk.text, []byte(`"PolicyException"`))
		object, err := object(chunk.text)
		switch {
		case excepts && bytes.Contains(chunk.text, []byte("{{")) && (err != nil || r.template(name) != ""):
			about.Reason, about.Message = ReasonTemplate, "this is a template of a PolicyException"
			about.Hint = fmt.Sprintf("render it and adopt the output: helm template DIR%s | polex adopt -", capabilities(r.files[name]))
			r.problems = append(r.problems, about)
		case err != nil && excepts:
			about.Reason, about.Message = ReasonUnreadable, err.Error()
			about.Hint = "fix the file, or remove it"
			r.problems = append(r.problems, about)
		case err != nil || object == nil:
		case items(object) != nil:
			for n, item := range items(object) {
				r.add(&source{file: name, chunk: i, item: n, line: chunk.line, object: item})
			}
		default:
			r.add(&source{file: name, chunk: i, item: -1, line: chunk.line, object: object, text: chunk.text})
		}
	}
}

// capability finds the API versions on which a template depends.
var capability = regexp.MustCompile(`APIVersions\.Has "([\w./-]+)"`)

// capabilities returns the flags for the API versions on which a template depends. Without them,
// helm template renders nothing: it asks no cluster.
func capabilities(content []byte) (flags string) {
	for _, found := range capability.FindAllSubmatch(content, -1) {
		if flag := " --api-versions " + string(found[1]); !strings.Contains(flags+" ", flag+" ") {
			flags += flag
		}
	}
	return flags
}

// template returns Helm's name for a template, which begins with the name of its chart, or "" for
// other files.
func (r *repository) template(name string) string {
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

// isOmitted reports whether no kustomization lists the file of an exception, although a deployer
// builds the kustomization above it, or did so before other exceptions were adopted.
func (r *repository) isOmitted(s *source) bool {
	dir := path.Dir(s.file)
	for r.folders[dir] == nil && dir != "." {
		dir = path.Dir(dir)
	}
	if r.folders[dir] == nil || r.template(s.file) != "" {
		return false
	}
	for _, k := range r.folders {
		if slices.Contains(k.targets(), s.file) {
			return false
		}
	}
	return len(r.known) > 0 || slices.ContainsFunc(r.sources, func(s *source) bool {
		return !s.isException() && slices.ContainsFunc(r.deployments(s.object), func(d deployment) bool { return d.dir == dir })
	})
}

// add keeps a document that adopt needs. An object without a name cannot be deployed.
func (r *repository) add(s *source) {
	switch kind := groupKind(s.object); {
	case kind.IsException() || isFlux(s.object) || isArgo(s.object):
	case kind == exception.GroupKind{Kind: "ConfigMap"} || kind == exception.GroupKind{Kind: "Secret"}:
		r.values = append(r.values, s.object)
		return
	case kind == exception.GroupKind{Group: "source.toolkit.fluxcd.io", Kind: "GitRepository"}:
		r.gitSources = append(r.gitSources, s.object)
		return
	case kind == exception.GroupKind{Group: argoGroup, Kind: "ApplicationSet"}:
		r.sets = append(r.sets, fmt.Sprintf("%s: ApplicationSet %s is not expanded: its Applications are not known", s.file, text(s.object, "metadata", "name")))
		return
	default:
		return
	}
	if text(s.object, "metadata", "name") == "" {
		if s.isException() {
			r.problems = append(r.problems, Problem{File: s.file, Line: s.line, Reason: ReasonUnreadable, Message: "metadata.name is missing", Hint: "name the exception, or remove it"})
		}
		return
	}
	r.byFile[s.file] = append(r.byFile[s.file], len(r.sources))
	r.sources = append(r.sources, s)
}
