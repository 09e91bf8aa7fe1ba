package promotion

import "github.com/polex-dev/polex/internal/git"

// Differs is differs, for tests: no honest signer makes a message that it rejects.
var Differs = differs

// Source returns the source commit.
func (p *Plan) Source() git.Hash { return p.queue.source }
