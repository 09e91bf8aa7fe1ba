package servers

import (
	"os"
	"path/filepath"
)

// Kubernetes returns the path of one of Kubernetes' programs or etcd. `make e2e KUBERNETES=1.36`
// builds them in a folder of their own, 1.36, below the folder of the other programs.
func Kubernetes(binaries, program string) string {
	return filepath.Join(binaries, os.Getenv("KUBERNETES"), program)
}
