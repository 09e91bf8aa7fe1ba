package send_test

import (
	"context"
	"net/http"
	"time"

	"github.com/polex-dev/polex/internal/notify"
	"github.com/polex-dev/polex/internal/retry"
	"github.com/polex-dev/polex/pkg/exception"
)

var now = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

func event() notify.Event {
	return notify.Event{Kind: notify.Signed, Verified: true, Reason: "until it is fixed", LogIndex: 12, SignedAt: now, ExpiresAt: now.Add(time.Hour),
		Identity: exception.Identity{GroupKind: exception.GroupKind{Group: exception.KyvernoGroup, Kind: exception.Kind}, Namespace: "platform", Name: "mongo"}}
}

// impatient does not pause before retries, and waits this long for an answer.
func impatient(answer time.Duration) retry.Timing {
	return retry.Timing{Answer: answer, Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() }}
}

// cutOff closes the connection without an answer.
func cutOff(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
