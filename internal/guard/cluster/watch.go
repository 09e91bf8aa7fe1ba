package cluster

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"github.com/polex-dev/polex/internal/guard"
	"github.com/polex-dev/polex/pkg/exception"
)

// watch watches a kind from a resource version, and returns the last one when the API server ends
// the watch. After an error everything has to be listed again.
func (s *Store) watch(ctx context.Context, gk exception.GroupKind, f *followed, where resource, from string) (string, error) {
	lasts := watchLasts + rand.N(watchLasts) //nolint:gosec // no secret
	ctx, cancel := context.WithTimeout(ctx, lasts+time.Minute)
	defer cancel()
	stream, err := s.api.rest.Get().AbsPath(where.at("", "")).Param("watch", "true").Param("allowWatchBookmarks", "true").
		Param("resourceVersion", from).Param("timeoutSeconds", fmt.Sprint(int(lasts.Seconds()))).Stream(ctx)
	if err != nil {
		return from, err
	}
	defer stream.Close()
	lines := bufio.NewScanner(stream)
	lines.Buffer(make([]byte, 0, 64<<10), maxEvent)
	for lines.Scan() {
		version, err := s.event(gk, f, where, lines.Bytes())
		if err != nil {
			return from, err
		}
		from = version
	}
	if err := lines.Err(); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return from, err
	}
	return from, nil
}

// event processes a line of a watch and returns its resource version.
func (s *Store) event(gk exception.GroupKind, f *followed, where resource, line []byte) (string, error) {
	s.mu.Lock()
	touch := s.touch
	s.mu.Unlock()
	if touch == nil {
		// The content is not needed, so only the metadata is decoded.
		var told struct {
			Type   string `json:"type"`
			Object struct {
				Metadata brief  `json:"metadata"`
				Message  string `json:"message"`
				Code     int    `json:"code"`
			} `json:"object"`
		}
		if err := decode(line, &told); err != nil {
			return "", fmt.Errorf("read an event: %w", err)
		}
		return told.Object.Metadata.ResourceVersion, s.change(gk, f, told.Type, told.Object.Metadata, told.Object.Code, told.Object.Message)
	}
	var whole struct {
		Type   string         `json:"type"`
		Object map[string]any `json:"object"`
	}
	if err := decode(line, &whole); err != nil {
		return "", fmt.Errorf("read an event: %w", err)
	}
	metadata, _ := whole.Object["metadata"].(map[string]any)
	text := func(key string) string { value, _ := metadata[key].(string); return strings.Clone(value) }
	m := brief{text("name"), text("namespace"), text("uid"), text("resourceVersion")}
	code, _ := whole.Object["code"].(int64)
	message, _ := whole.Object["message"].(string)
	if whole.Type == "ADDED" || whole.Type == "MODIFIED" {
		o := asObject(gk, where.version, whole.Object)
		s.mu.Lock()
		s.fresh.put(o, len(line))
		s.mu.Unlock()
	}
	if err := s.change(gk, f, whole.Type, m, int(code), message); err != nil {
		return "", err
	}
	if whole.Type != "BOOKMARK" {
		touch(place{m.Namespace, m.Name}.identity(gk))
	}
	return m.ResourceVersion, nil
}

// change updates the known objects from an event.
func (s *Store) change(gk exception.GroupKind, f *followed, kind string, m brief, code int, message string) error {
	at, tell := place{m.Namespace, m.Name}, func() {}
	defer func() { tell() }()
	s.mu.Lock()
	defer s.mu.Unlock()
	state, known := f.known[at]
	switch kind {
	case "ADDED", "MODIFIED":
		if !known {
			f.counts[at.namespace]++
		}
		f.known[at] = guard.State{UID: m.UID, ResourceVersion: m.ResourceVersion}
	case "DELETED":
		if known {
			f.counts[at.namespace]--
			tell = s.wentAway(at.identity(gk), f.where.version, state)
		}
		if f.counts[at.namespace] <= 0 {
			delete(f.counts, at.namespace)
		}
		delete(f.known, at)
		s.fresh.take(at.identity(gk))
	case "BOOKMARK":
	case "ERROR":
		if code == http.StatusGone {
			return errAgain
		}
		return fmt.Errorf("the watch ends: %d %s", code, message)
	default:
		return fmt.Errorf("the watch sent %q", kind)
	}
	return nil
}
