package commit

import (
	"context"
	"fmt"
	"io"
	"os/exec"
)

// objects is one git cat-file that reads the objects of the clone during a whole run. Git made the
// clone and knows all places and forms of its objects.
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

// close ends the process, which stops at the end of its input.
func (o *objects) close() error {
	_ = o.Close()
	return o.command.Wait()
}
