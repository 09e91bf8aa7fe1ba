//go:build !linux

package servers

import (
	"errors"
	"os/exec"
)

// dieWithParent does nothing: only Linux supports it.
func dieWithParent(_ *exec.Cmd, c Command) error {
	if c.As != nil {
		return errors.New("only Linux runs a program as somebody else here: do not test as root")
	}
	return nil
}
