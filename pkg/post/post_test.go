package post_test

import (
	"context"
	"net/http"
	"time"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/notice"
	"github.com/polex-dev/polex/pkg/patience"
)

var now = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

func event() notice.Event {
	return notice.Event{Kind: notice.Signed, Verified: true, Reason: "until it is fixed", LogIndex: 12, SignedAt: now, ExpiresAt: now.Add(time.Hour),
		Identity: exception.Identity{GroupKind: exception.GroupKind{Group: exception.KyvernoGroup, Kind: exception.Kind}, Namespace: "platform", Name: "mongo"}}
}

// impatient waits for nothing, and for an answer no longer than this.
func impatient(answer time.Duration) patience.Timing {
	return patience.Timing{Answer: answer, Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() }}
}

// cutOff ends the connection without an answer.
func cutOff(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
