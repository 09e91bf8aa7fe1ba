package guard

import (
	"context"
	"log/slog"
	"time"
)

// LogDecision logs a decision with its user, object and reason. It does not log the content of the
// object.
func LogDecision(log *slog.Logger, d *Decision, took time.Duration) {
	level := slog.LevelInfo
	if !d.Allowed() {
		level = slog.LevelWarn
	}
	log.LogAttrs(context.Background(), level, "decision",
		slog.String("uid", d.UID), slog.Bool("allowed", d.Allowed()), slog.String("reason", d.Reason),
		slog.String("operation", escape(d.Operation, maxLogged)),
		slog.String("object", escape(d.Object.String(), maxLogged)),
		slog.String("user", escape(d.User, maxLogged)), slog.Bool("dryRun", d.DryRun),
		slog.String("message", d.Message()), slog.String("authority", d.Authority()),
		slog.String("digest", d.Facts.MessageDigest),
		slog.Duration("took", took))
}

// maxLogged is the maximum number of bytes of a name in the log.
const maxLogged = 600
