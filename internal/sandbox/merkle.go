package sandbox

import (
	"fmt"

	"github.com/transparency-dev/merkle/compact"
	"github.com/transparency-dev/merkle/proof"
	"github.com/transparency-dev/merkle/rfc6962"
)

// merkleTree is an append-only tree of RFC 6962 that keeps the hash of every complete subtree, so that a
// proof at any size costs no more hashes than the tree is high. It is not safe for concurrent use.
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
		// Subtrees of a level are completed from left to right, so appending puts each in its place.
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

// root is the root hash the tree had at size, which is not greater than it is now.
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

// inclusion proves leaf index in the tree of that size.
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
