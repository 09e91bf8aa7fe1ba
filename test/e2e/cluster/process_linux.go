package cluster

import (
	"os/exec"
	"syscall"
)

// dieWithParent ends a process when this one ends without doing so itself, as
// when a test runs out of time.
func dieWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
