package cli

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// Progress shows on a terminal what a command does, how far it is, and for how long it has been
// running. It shows nothing elsewhere, nothing in the first second, and never a smaller number of the
// same activity.
type Progress struct {
	mutex       sync.Mutex
	doing       string
	done, total int
	began       time.Time
	shown       bool
	stop, ended chan struct{} // nil if nothing is shown
}

// shownEvery is the time between two lines of progress on a terminal.
const shownEvery = 250 * time.Millisecond

// StartProgress begins to show the progress on a stream, until [Progress.Stop].
func StartProgress(to io.Writer, doing string) *Progress {
	p := &Progress{doing: doing, began: time.Now()}
	if !IsTerminal(to) {
		return p
	}
	p.stop, p.ended = make(chan struct{}), make(chan struct{})
	go func() {
		defer close(p.ended)
		tick := time.NewTicker(shownEvery)
		defer tick.Stop()
		for {
			select {
			case <-p.stop:
				if p.shown {
					_, _ = io.WriteString(to, "\r\x1b[K")
				}
				return
			case now := <-tick.C:
				if line := p.Line(now); line != "" {
					_, _ = io.WriteString(to, "\r\x1b[K"+line)
					p.shown = true
				}
			}
		}
	}()
	return p
}

// Tell sets the activity and its numbers; total is 0 if it is not known. Calls can be concurrent and
// out of order.
func (p *Progress) Tell(doing string, done, total int) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if doing == p.doing {
		done, total = max(done, p.done), max(total, p.total)
	}
	p.doing, p.done, p.total = doing, done, total
}

// Line returns the line to show at a time, or "" in the first second.
func (p *Progress) Line(now time.Time) string {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	seconds := int(now.Sub(p.began) / time.Second)
	if seconds < 1 {
		return ""
	}
	line := p.doing
	switch {
	case p.total > 0:
		line += fmt.Sprintf(": %d of %d", p.done, p.total)
	case p.done > 0:
		line += fmt.Sprintf(": %d", p.done)
	}
	return fmt.Sprintf("%s (%d s)", line, seconds)
}

// Stop removes the line. Nothing is shown after it returns. A second call does nothing.
func (p *Progress) Stop() {
	if p != nil && p.stop != nil {
		close(p.stop)
		<-p.ended
		p.stop = nil
	}
}
