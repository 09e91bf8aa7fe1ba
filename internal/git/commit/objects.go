package commit

import (
	"context"
	"fmt"
	"io"
	"os/exec"
)

// objects is the git cat-file that reads the objects of the clone, one for the whole run: it
// is Git that made the clone, and that knows all the places and forms in which it keeps them.
type objects struct {
	io.WriteCloser // hashes to it
	io.Reader      // its answers
	command        *exec.Cmd
}

func (c *Clone) readObjects() (_ *objects, err error) {
	o := &objects{command: c.command(context.Background(), call{}, "cat-file", "--batch")}
	o.command.SysProcAttr = apart()
	if o.WriteCloser, err = o.command.StdinPipe(); err == nil {
		o.Reader, err = o.command.StdoutPipe()
	}
	if err == nil {
		err = o.command.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("read objects: %w", err)
	}
	c.objects = o
	return o, nil
}

// close ends it: it reads to the end of what it is asked.
func (o *objects) close() error {
	_ = o.Close()
	return o.command.Wait()
}
