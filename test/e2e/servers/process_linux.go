package servers

import (
	"os/exec"
	"syscall"
)

// dieWithParent ends a process when this one ends without doing so itself, as
// when a test runs out of time. It also makes it somebody else's, if asked to.
func dieWithParent(cmd *exec.Cmd, c Command) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: c.End}
	if c.As != nil {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: c.As.UID, Gid: c.As.GID}
	}
	return nil
}
