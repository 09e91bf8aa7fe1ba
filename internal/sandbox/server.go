package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"time"
)

// maxBody is the maximum size of a request or an answer, in bytes.
const maxBody = 1 << 20

// The servers of a sandbox, for Options.Intercept and the request log.
const (
	ServerIssuer    = "issuer"
	ServerFulcio    = "fulcio"
	ServerCTLog     = "ctlog"
	ServerRekor     = "rekor"    // version 1
	ServerRekorV2   = "rekor-v2" // version 2
	ServerTimestamp = "timestamp"
)

// server is one listener and its handler.
type server struct {
	name     string
	url      string
	listener net.Listener
	http     *http.Server
	done     chan struct{}
}

// listen opens a loopback port early, because other parts need its address.
func listen(ctx context.Context, name string) (*server, error) {
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for %s: %w", name, err)
	}
	return &server{name: name, url: "http://" + l.Addr().String(), listener: l, done: make(chan struct{})}, nil
}

// serve starts to answer with h.
func (s *server) serve(h http.Handler, out *requestLog) {
	s.http = &http.Server{
		Handler:           out.wrap(s.name, http.MaxBytesHandler(h, maxBody)),
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       30 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       30 * time.Second,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          log.New(out, "polex-sandbox: "+s.name+": ", 0),
	}
	go func() {
		defer close(s.done)
		if err := s.http.Serve(s.listener); err != nil && !errors.Is(err, http.ErrServerClosed) {
			out.printf("polex-sandbox: %s: %v\n", s.name, err)
		}
	}()
}

// close waits for running requests until ctx ends, then stops them. It frees the port.
func (s *server) close(ctx context.Context) error {
	if s.http == nil {
		return s.listener.Close()
	}
	err := s.http.Shutdown(ctx)
	if err != nil {
		err = s.http.Close()
	}
	<-s.done
	return err
}

// requestLog writes one line per request. It is safe for concurrent use.
type requestLog struct {
	mu  sync.Mutex
	out io.Writer
}

func (l *requestLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.out.Write(p)
}

func (l *requestLog) printf(format string, args ...any) {
	_, _ = fmt.Fprintf(l, format, args...) // a log failure must not stop the sandbox
}

func (l *requestLog) wrap(name string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begin := time.Now()
		recorder := &statusRecorder{ResponseWriter: w, status: http.StatusOK}
		next.ServeHTTP(recorder, r)
		// The path stays escaped, so that a request cannot forge a line. The query may be long.
		l.printf("polex-sandbox: %s: %s %s %d %s\n", name, r.Method, r.URL.EscapedPath(), recorder.status, time.Since(begin).Round(time.Microsecond))
	})
}

type statusRecorder struct {
	http.ResponseWriter
	status int
}

func (r *statusRecorder) WriteHeader(status int) {
	r.status = status
	r.ResponseWriter.WriteHeader(status)
}

// Unwrap gives http.ResponseController access to the inner writer.
func (r *statusRecorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

func writeJSON(w http.ResponseWriter, status int, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		http.Error(w, "the answer cannot be encoded", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(data, '\n')) // fails only if the client is gone
}
