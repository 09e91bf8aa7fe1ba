package cli_test

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
)

// fault VARIABLE KIND starts a proxy for the server at the variable's address, and sets $FAULTY to
// the proxy's address. The kinds are those of faults. A fault is permanent; with the prefix once-,
// it occurs the first time only.
func fault(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: fault variable kind")
	}
	target, err := url.Parse(ts.Getenv(args[0]))
	ts.Check(err)
	kind, once := strings.CutPrefix(args[1], "once-")
	wrong, known := faults[kind]
	if !known {
		ts.Fatalf("unknown: fault %s", args[1])
	}
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: target.Scheme, Host: target.Host})
	proxy.ErrorLog = log.New(io.Discard, "", 0)
	var mu sync.Mutex
	var before *httptest.ResponseRecorder // the answer to the previous request
	met := false
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if once && met {
			proxy.ServeHTTP(w, r)
			return
		}
		met = true
		before = wrong(faulty{w: w, r: r, next: proxy, before: before})
	}))
	ts.Defer(web.Close)
	ts.Setenv("FAULTY", web.URL+strings.TrimPrefix(ts.Getenv(args[0]), target.Scheme+"://"+target.Host))
}

// faulty is a request that fails.
type faulty struct {
	w      http.ResponseWriter
	r      *http.Request
	next   http.Handler
	before *httptest.ResponseRecorder // the server's answer to the previous request
}

// true returns the real answer of the server.
func (f faulty) true() *httptest.ResponseRecorder {
	heard := httptest.NewRecorder()
	f.next.ServeHTTP(heard, f.r)
	return heard
}

func (f faulty) say(answer *httptest.ResponseRecorder, part int) {
	for name, values := range answer.Header() {
		f.w.Header()[name] = values
	}
	f.w.WriteHeader(answer.Code)
	_, _ = f.w.Write(answer.Body.Bytes()[:part])
}

var faults = map[string]func(faulty) *httptest.ResponseRecorder{
	"down": func(f faulty) *httptest.ResponseRecorder {
		http.Error(f.w, "down for maintenance", http.StatusServiceUnavailable)
		return nil
	},
	"busy": func(f faulty) *httptest.ResponseRecorder { // with Retry-After: one hour
		f.w.Header().Set("Retry-After", "3600")
		http.Error(f.w, "too many requests", http.StatusTooManyRequests)
		return nil
	},
	"elsewhere": func(f faulty) *httptest.ResponseRecorder {
		http.Redirect(f.w, f.r, "http://127.0.0.1:1/", http.StatusTemporaryRedirect)
		return nil
	},
	"endless": func(f faulty) *httptest.ResponseRecorder {
		for range 2 << 10 {
			if _, err := f.w.Write(make([]byte, 1<<10)); err != nil {
				break
			}
		}
		return nil
	},
	"lost": func(f faulty) *httptest.ResponseRecorder { // does the request, and cuts the answer off in the middle
		heard := f.true()
		heard.Header().Set("Content-Length", "100000")
		f.say(heard, heard.Body.Len()/2)
		return nil
	},
	"confused": func(f faulty) *httptest.ResponseRecorder { // returns the answer to the previous request
		heard, said := f.true(), f.before
		if said == nil {
			said = heard
		}
		f.say(said, said.Body.Len())
		return heard
	},
}
