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
	stop        func()
}

// shownEvery is the time between two lines of progress on a terminal.
const shownEvery = 250 * time.Millisecond

// StartProgress begins to show the progress on a stream, until [Progress.Stop].
func StartProgress(to io.Writer, doing string) *Progress {
	p := &Progress{doing: doing, began: time.Now(), stop: func() {}}
	if !IsTerminal(to) {
		return p
	}
	stop, ended := make(chan struct{}), make(chan struct{})
	p.stop = sync.OnceFunc(func() {
		close(stop)
		<-ended
	})
	go func() {
		defer close(ended)
		remove := "" // the last line
		for {
			select {
			case <-stop:
				_, _ = io.WriteString(to, remove)
				return
			case now := <-time.After(shownEvery):
				if line := p.Line(now); line != "" {
					remove = "\r\x1b[K"
					_, _ = io.WriteString(to, remove+line)
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
	if p != nil {
		p.stop()
	}
}
