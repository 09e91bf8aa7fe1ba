//go:build !linux

package cluster

import "os/exec"

// dieWithParent does nothing: only Linux can be asked for it.
func dieWithParent(*exec.Cmd) {}
