package servers

import (
	"os/exec"
	"syscall"
)

// dieWithParent makes a process end when this one ends unexpectedly, such as after a test's
// timeout. It also sets the account.
func dieWithParent(cmd *exec.Cmd, c Command) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: c.End}
	if c.As != nil {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: c.As.UID, Gid: c.As.GID}
	}
	return nil
}
