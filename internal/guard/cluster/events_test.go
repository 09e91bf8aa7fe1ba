package cluster_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/polex-dev/polex/internal/guard/cluster"
)

// TestEventsAreBounded: while Events cannot be written, few wait. Warnings come first, and repeated
// Events are counted.
func TestEventsAreBounded(t *testing.T) {
	s, api := serve(t)
	s.versions["events.k8s.io"] = []string{"v1"}
	s.hold = make(chan struct{})
	var said strings.Builder
	events := cluster.NewEvents(api, "me", slog.New(slog.NewTextHandler(&said, nil)))
	about := &corev1.ObjectReference{APIVersion: "kyverno.io/v2", Kind: "PolicyException", Namespace: "x", Name: "a"}
	const many = 5000
	for n := range many {
		events.Add(about, corev1.EventTypeNormal, "Deleted", "Delete", fmt.Sprint("other ", n))
	}
	for range 3 {
		events.Add(about, corev1.EventTypeWarning, "Refused", "Recheck", "it is not signed")
	}
	close(s.hold)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- events.Run(ctx) }()
	eventually(t, "the last Event", func() bool { return s.requests("POST") >= 513 })
	cancel()
	<-ended
	if posted, patched := s.requests("POST"), s.requests("PATCH"); posted != 1+512 || patched != 2 {
		t.Errorf("%d were written, and %d counted", posted, patched)
	}
	if !strings.Contains(s.bodies[0], "it is not signed") || !strings.Contains(s.bodies[2], `"count":3`) {
		t.Errorf("first come %q", s.bodies[:3])
	}
	if want := fmt.Sprintf("dropped=%d", many-512); !strings.Contains(said.String(), want) {
		t.Errorf("it does not say %s: %.500s", want, said.String())
	}
}
