package cli

import (
	"fmt"
	"time"

	"github.com/polex-dev/polex/internal/usage"
)

// maxAuditReport is the maximum size of a report of polex-audit in bytes.
const maxAuditReport = 256 << 20

// ReadUnused reads the reports of --unused.
func ReadUnused(paths []string, now time.Time) (*usage.Audit, error) {
	audit := &usage.Audit{}
	for _, path := range paths {
		raw, err := ReadFileUpTo(path, maxAuditReport)
		if err != nil {
			return nil, fmt.Errorf("--unused: %w", err)
		}
		if err := audit.Add(raw, now); err != nil {
			return nil, Hint(fmt.Errorf("--unused %s: %w", path, err),
				"polex-audit --kubeconfig FILE -o json writes it")
		}
	}
	return audit, nil
}
