package sandbox

import (
	"fmt"

	"github.com/transparency-dev/merkle/compact"
	"github.com/transparency-dev/merkle/proof"
	"github.com/transparency-dev/merkle/rfc6962"
)

// merkleTree is an append-only RFC 6962 tree. It keeps the hash of every complete subtree, so a
// proof at any size needs only as many hashes as the tree has levels. It is not safe for concurrent
// use.
type merkleTree struct {
	factory *compact.RangeFactory
	whole   *compact.Range
	levels  [][][]byte // levels[l][i] covers the leaves [i<<l, (i+1)<<l)
}

func newMerkleTree() *merkleTree {
	factory := &compact.RangeFactory{Hash: rfc6962.DefaultHasher.HashChildren}
	return &merkleTree{factory: factory, whole: factory.NewEmptyRange(0)}
}

func (t *merkleTree) size() uint64 { return t.whole.End() }

// append adds a leaf by its hash and returns its index.
func (t *merkleTree) append(leafHash []byte) (uint64, error) {
	index := t.whole.End()
	err := t.whole.Append(leafHash, func(id compact.NodeID, hash []byte) {
		// The subtrees of a level are completed from left to right, so append is the right
		// position.
		for uint(len(t.levels)) <= id.Level {
			t.levels = append(t.levels, nil)
		}
		t.levels[id.Level] = append(t.levels[id.Level], hash)
	})
	if err != nil {
		return 0, fmt.Errorf("append leaf %d: %w", index, err)
	}
	return index, nil
}

// root returns the root hash at a size up to the present one.
func (t *merkleTree) root(size uint64) ([]byte, error) {
	if size > t.size() {
		return nil, fmt.Errorf("size %d is beyond the tree's %d", size, t.size())
	}
	if size == 0 {
		return rfc6962.DefaultHasher.EmptyRoot(), nil
	}
	r, err := t.factory.NewRange(0, size, t.hashes(compact.RangeNodes(0, size, nil)))
	if err != nil {
		return nil, fmt.Errorf("range of size %d: %w", size, err)
	}
	return r.GetRootHash(nil)
}

// inclusion returns the proof of the leaf at index in the tree of that size.
func (t *merkleTree) inclusion(index, size uint64) ([][]byte, error) {
	if size > t.size() {
		return nil, fmt.Errorf("size %d is beyond the tree's %d", size, t.size())
	}
	nodes, err := proof.Inclusion(index, size)
	if err != nil {
		return nil, err
	}
	return nodes.Rehash(t.hashes(nodes.IDs), t.factory.Hash)
}

func (t *merkleTree) hashes(ids []compact.NodeID) [][]byte {
	hashes := make([][]byte, len(ids))
	for i, id := range ids {
		hashes[i] = t.levels[id.Level][id.Index]
	}
	return hashes
}
