package cluster_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/polex-dev/polex/internal/guard/cluster"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/test/must"
)

type object = map[string]any

func metadata(o object) object { return o["metadata"].(object) }

// server is an API server in memory with paged lists, watches and single objects. It serves the kinds in versions.
type server struct {
	mu       sync.Mutex
	versions map[string][]string    // by group
	named    []string               // the versions in discovery; nil: all
	kinds    map[string]string      // plural to kind
	objects  map[string]object      // by path without the version
	watches  map[chan []byte]string // to the resource, without the version
	state    int
	asked    []string // methods and paths
	bodies   []string // of requests other than GET
	hold     chan struct{}
	url      string
	told     []told                                               // for watches from an earlier state
	refuse   func(*http.Request) (code int, hold <-chan struct{}) // 0: as always
}

// told is an event and the state after it.
type told struct {
	state    int
	resource string
	line     []byte
}

func serve(t *testing.T) (*server, *cluster.API) {
	t.Helper()
	s := &server{
		versions: map[string][]string{"kyverno.io": {"v2", "v2beta1"}}, objects: map[string]object{}, watches: map[chan []byte]string{},
		kinds: map[string]string{"policyexceptions": "PolicyException", "reports": "Report", "policyreports": "PolicyReport"},
	}
	h := httptest.NewServer(s)
	s.url = h.URL
	t.Cleanup(func() {
		s.endWatches()
		h.CloseClientConnections()
		h.Close()
	})
	api := must.Get(cluster.NewAPI(&rest.Config{Host: h.URL}, h.Client()))(t)
	return s, api
}

func (s *server) answer(w http.ResponseWriter, code int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(value)
}

func (s *server) fail(w http.ResponseWriter, code int, reason metav1.StatusReason, name string) {
	s.answer(w, code, metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: "Failure", Code: int32(code), Reason: reason, Details: &metav1.StatusDetails{Name: name}})
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	s.asked = append(s.asked, r.Method+" "+r.URL.Path)
	if r.Method != http.MethodGet {
		s.bodies = append(s.bodies, string(body))
	}
	hold, refuse := s.hold, s.refuse
	s.mu.Unlock()
	if refuse != nil {
		code, wait := refuse(r)
		if wait != nil {
			select {
			case <-wait:
			case <-r.Context().Done():
			}
		}
		if code != 0 {
			s.fail(w, code, metav1.StatusReasonForbidden, "")
			return
		}
	}
	if hold != nil && r.Method != http.MethodGet {
		<-hold
	}
	parts := strings.Split(strings.TrimPrefix(r.URL.Path, "/apis/"), "/")
	s.mu.Lock()
	versions := slices.Clone(s.versions[parts[0]])
	s.mu.Unlock()
	switch {
	case len(versions) == 0 || len(parts) > 1 && !slices.Contains(versions, parts[1]):
		http.Error(w, "404 page not found", http.StatusNotFound)
	case len(parts) == 1:
		if s.named != nil {
			versions = s.named
		}
		group := metav1.APIGroup{Name: parts[0], PreferredVersion: metav1.GroupVersionForDiscovery{Version: versions[0]}}
		for _, v := range versions {
			group.Versions = append(group.Versions, metav1.GroupVersionForDiscovery{Version: v})
		}
		s.answer(w, http.StatusOK, group)
	case len(parts) == 2:
		list := metav1.APIResourceList{}
		for plural, kind := range s.kinds {
			list.APIResources = append(list.APIResources, metav1.APIResource{Name: plural, Kind: kind, Namespaced: true})
		}
		s.answer(w, http.StatusOK, list)
	case r.URL.Query().Get("watch") != "":
		s.stream(w, r, parts[0]+"/"+parts[len(parts)-1])
	default:
		s.object(w, r, parts, body)
	}
}

// object answers for one object, or lists all objects of a resource.
func (s *server) object(w http.ResponseWriter, r *http.Request, parts []string, body []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key, name := parts[0]+"/"+strings.Join(parts[2:], "/"), parts[len(parts)-1]
	o := s.objects[key]
	switch {
	case r.Method == http.MethodPost:
		var made object
		_ = json.Unmarshal(body, &made)
		key += "/" + metadata(made)["name"].(string)
		if s.objects[key] != nil {
			s.fail(w, http.StatusConflict, metav1.StatusReasonAlreadyExists, name)
			return
		}
		s.set(key, made)
		s.answer(w, http.StatusCreated, made)
	case r.Method == http.MethodGet && len(parts) == 3:
		s.list(w, r, parts)
	case o == nil:
		s.fail(w, http.StatusNotFound, metav1.StatusReasonNotFound, name)
	case r.Method == http.MethodGet:
		s.answer(w, http.StatusOK, o)
	case r.Method == http.MethodPut:
		var made object
		_ = json.Unmarshal(body, &made)
		if metadata(made)["resourceVersion"] != metadata(o)["resourceVersion"] {
			s.fail(w, http.StatusConflict, metav1.StatusReasonConflict, name)
			return
		}
		s.set(key, made)
		s.answer(w, http.StatusOK, made)
	case r.Method == http.MethodPatch:
		s.answer(w, http.StatusOK, o)
	case r.Method == http.MethodDelete:
		var options metav1.DeleteOptions
		_ = json.Unmarshal(body, &options)
		if p := options.Preconditions; p != nil && (p.UID != nil && string(*p.UID) != metadata(o)["uid"] || p.ResourceVersion != nil && *p.ResourceVersion != metadata(o)["resourceVersion"]) {
			s.fail(w, http.StatusConflict, metav1.StatusReasonConflict, name)
			return
		}
		if metadata(o)["finalizers"] != nil {
			s.answer(w, http.StatusOK, o)
			return
		}
		delete(s.objects, key)
		s.answer(w, http.StatusOK, metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: "Success"})
	}
}

// list returns two objects in each page.
func (s *server) list(w http.ResponseWriter, r *http.Request, parts []string) {
	var keys []string
	for key := range s.objects {
		if selects(r, key) && strings.HasPrefix(key, parts[0]+"/") && strings.Contains(key, "/"+parts[2]+"/") {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	from, _ := strconv.Atoi(r.URL.Query().Get("continue"))
	list := object{"apiVersion": "v1", "kind": "List", "metadata": object{"resourceVersion": fmt.Sprint(s.state)}}
	items := []object{}
	for _, key := range keys[from:min(from+2, len(keys))] {
		items = append(items, asked(r, s.objects[key]))
	}
	if from+2 < len(keys) {
		list["metadata"].(object)["continue"] = fmt.Sprint(from + 2)
	}
	list["items"] = items
	s.answer(w, http.StatusOK, list)
}

// asked returns an object, or its metadata if a request asks for no more.
func asked(r *http.Request, o object) object {
	if !strings.Contains(r.Header.Get("Accept"), "as=PartialObjectMetadata") || o["kind"] == "Status" {
		return o
	}
	return object{"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": o["metadata"]}
}

// selects reports whether the name in the field selector of a request, if any, is at the end of a key.
func selects(r *http.Request, key string) bool {
	_, name, _ := strings.Cut(r.URL.Query().Get("fieldSelector"), "metadata.name=")
	return name == "" || strings.HasSuffix(key, "/"+name)
}

// endWatches ends all watches, as after a change of a definition.
func (s *server) endWatches() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for w := range s.watches {
		delete(s.watches, w)
		close(w)
	}
}

func (s *server) stream(w http.ResponseWriter, r *http.Request, resource string) {
	lines := make(chan []byte, 100)
	from, _ := strconv.Atoi(r.URL.Query().Get("resourceVersion"))
	s.mu.Lock()
	for _, event := range s.told {
		if event.resource == resource && event.state > from {
			lines <- event.line
		}
	}
	s.watches[lines] = resource
	s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	w.(http.Flusher).Flush()
	for {
		select {
		case <-r.Context().Done():
			return
		case line, more := <-lines:
			if !more {
				return
			}
			if _, name, _ := strings.Cut(r.URL.Query().Get("fieldSelector"), "="); !strings.Contains(string(line), name) {
				continue
			}
			var event object
			_ = json.Unmarshal(line, &event)
			event["object"] = asked(r, event["object"].(object))
			_ = json.NewEncoder(w).Encode(event)
			w.(http.Flusher).Flush()
		}
	}
}

// set stores an object under a key. The caller holds the lock.
func (s *server) set(key string, o object) {
	s.state++
	metadata(o)["resourceVersion"] = fmt.Sprint(s.state)
	s.objects[key] = o
}

// put stores an exception and notifies the watches.
func (s *server) put(name string, change func(object)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := object{"apiVersion": "kyverno.io/v2", "kind": "PolicyException", "metadata": object{"name": name, "namespace": "x", "uid": "u-" + name}, "spec": object{"n": 1}}
	if change != nil {
		change(o)
	}
	key, kind := "kyverno.io/namespaces/x/policyexceptions/"+name, "ADDED"
	if s.objects[key] != nil {
		kind = "MODIFIED"
	}
	s.set(key, o)
	s.tell("kyverno.io/policyexceptions", object{"type": kind, "object": o})
}

func (s *server) remove(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := "kyverno.io/namespaces/x/policyexceptions/" + name
	o := s.objects[key]
	delete(s.objects, key)
	s.tell("kyverno.io/policyexceptions", object{"type": "DELETED", "object": o})
}

// tell writes an event to the watches of a resource. The caller holds the lock.
func (s *server) tell(resource string, event object) {
	line, err := json.Marshal(event)
	if err != nil {
		panic(err)
	}
	s.told = append(s.told, told{s.state, resource, line})
	for w, of := range s.watches {
		if of == resource {
			w <- line
		}
	}
}

// watched waits for this number of watches.
func (s *server) watched(n int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.watches) == n
}

func (s *server) requests(prefix string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, a := range s.asked {
		if strings.HasPrefix(a, prefix) {
			n++
		}
	}
	return n
}

var kind = exception.GroupKind{Group: "kyverno.io", Kind: "PolicyException"}

func id(name string) exception.Identity {
	return exception.Identity{GroupKind: kind, Namespace: "x", Name: name}
}
