package doctor

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

// tolerance is the tolerated difference of two clocks. The API server sends whole seconds, and its
// answer takes some time.
const tolerance = 5 * time.Second

// clock compares the clock with that of the API server, because the start and the expiry of
// exceptions depend on it.
func (k *checkup) clock(ctx context.Context) {
	const subject = "clock"
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, k.Host+"/version", nil)
	if !k.known(subject, err) {
		return
	}
	answer, err := k.HTTP.Do(request)
	if !k.known(subject, err) {
		return
	}
	defer answer.Body.Close()
	theirs, err := http.ParseTime(answer.Header.Get("Date"))
	if err != nil {
		k.unknown(subject, fmt.Errorf("the API server states no time: %w", err))
		return
	}
	if apart := k.Now().Sub(theirs).Abs(); apart > tolerance {
		k.report(subject, "clock-differs", "this clock and the API server's are %s apart", apart.Round(time.Second))
		return
	}
	k.fine(subject, "it agrees with the clock of the API server")
}
