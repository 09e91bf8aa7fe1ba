package pending

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/polex-dev/polex/pkg/exception"
)

// Request is a pending file that [CheckFile] accepts, with the exceptions in it.
type Request struct {
	From, To  string
	Documents []Document
}

// Document is one exception of a request.
type Document struct {
	Identity exception.Identity
	Position exception.Position
}

// Signed holds the files of the signed folder. The zero value is empty.
type Signed struct {
	files   map[string]bool
	paths   Targets
	objects map[exception.Identity][]string // the files that hold an exception
	within  map[string][]exception.Identity // the exceptions in a file
}

// Add adds a file of any kind.
func (s *Signed) Add(name string) {
	if s.files == nil {
		s.files, s.paths = map[string]bool{}, Targets{}
		s.objects, s.within = map[exception.Identity][]string{}, map[string][]exception.Identity{}
	}
	s.files[name] = true
	s.paths.put(name)
}

// Holds records the exceptions in an added file.
func (s *Signed) Holds(name string, ids []exception.Identity) {
	s.within[name] = append(s.within[name], ids...)
	for _, id := range ids {
		s.objects[id] = append(s.objects[id], name)
	}
}

// Where returns the files that hold an exception, in the order of the Add calls.
func (s *Signed) Where(id exception.Identity) []string { return s.objects[id] }

// Files returns the files with exceptions, sorted by name.
func (s *Signed) Files() []string { return slices.Sorted(maps.Keys(s.within)) }

// Check compares a request with the signed folder. asked are the exceptions of all requests that
// are promoted together. With replace (promote.updates), a request may replace a signed exception.
// Check returns the replaced signed files, sorted by name.
func (s *Signed) Check(r Request, asked map[exception.Identity]bool,
	replace bool) (replaces []string, refusals exception.Refusals) {
	at := exception.Position{File: r.From}
	replaced := map[string]bool{}
	if same, problem := s.inTheWay(r.To); problem != "" {
		return nil, exception.Refusals{{Position: at, Reason: ReasonTargetExists, Message: problem,
			Hint: "choose another name"}}
	} else if same {
		replaced[r.To] = true
	}
	for _, doc := range r.Documents {
		for _, where := range s.objects[doc.Identity] {
			if !replace && !replaced[where] {
				refusals = append(refusals, &exception.Refusal{Position: doc.Position, Reason: ReasonAlreadySigned,
					Message: fmt.Sprintf("%s is signed already, in %s", doc.Identity, where), Hint: hintReplace})
			}
			replaced[where] = true
		}
	}
	if replaced[r.To] && (!replace || !slices.ContainsFunc(s.within[r.To],
		func(id exception.Identity) bool { return asked[id] })) {
		return nil, exception.Refusals{{Position: at, Reason: ReasonTargetExists,
			Message: fmt.Sprintf("%s exists already", r.To), Hint: hintReplace}}
	}
	if len(refusals) > 0 {
		return nil, refusals
	}
	replaces = slices.Sorted(maps.Keys(replaced))
	for _, name := range replaces {
		for _, id := range s.within[name] {
			if !asked[id] {
				return nil, exception.Refusals{{Position: r.Documents[0].Position, Reason: ReasonPartlyReplaced,
					Message: fmt.Sprintf("%s holds %s as well, which no pending file replaces", name, id),
					Hint:    "request all exceptions of that file again, or remove it in a pull request"}}
			}
		}
	}
	return replaces, nil
}

const hintReplace = "promote.updates does not permit a replacement: remove the signed one in the same pull request, " +
	"choose another name, or set promote.updates: replace"

// inTheWay reports whether a signed file has exactly this name. It returns a problem if a folder
// has this name, a file has the name of its folder, or a name differs only in case. A file system
// that ignores case cannot hold both.
func (s *Signed) inTheWay(to string) (same bool, problem string) {
	if other, part := s.paths.clash(to); other != "" {
		return false, fmt.Sprintf("%s exists already, which some file systems treat as the same name as %s", other,
			part)
	}
	for dir := path.Dir(to); dir != "."; dir = path.Dir(dir) {
		if s.files[dir] {
			return false, fmt.Sprintf("%s exists already, and is not a folder", dir)
		}
	}
	if _, met := s.paths[strings.ToLower(to)]; met && !s.files[to] {
		return false, fmt.Sprintf("%s exists already, and is a folder", to)
	}
	return s.files[to], ""
}

// Targets are paths and their folders, by lower-case path. Create it with make.
type Targets map[string]string

// Add adds the target of a request. It rejects a path that differs from another one only in case.
func (t Targets) Add(r Request) exception.Refusals {
	if other, part := t.clash(r.To); other != "" {
		return exception.Refusals{{Position: exception.Position{File: r.From}, Reason: ReasonTargetExists,
			Message: fmt.Sprintf("%s would be next to %s, which some file systems treat as the same name", part,
				other), Hint: "choose another name"}}
	}
	t.put(r.To)
	return nil
}

func (t Targets) put(name string) {
	for ; name != "."; name = path.Dir(name) {
		t[strings.ToLower(name)] = name
	}
}

// clash returns a path that differs only in case from a part of name, and that part.
func (t Targets) clash(name string) (other, part string) {
	for ; name != "."; name = path.Dir(name) {
		if other, met := t[strings.ToLower(name)]; met && other != name {
			return other, name
		}
	}
	return "", ""
}
