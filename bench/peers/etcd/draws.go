package main

import "fmt"

// SplitMix64: the same numbers in every peer.
type random struct {
	state uint64
}

func (random *random) below(limit int) int {
	random.state += 0x9e3779b97f4a7c15
	a := (random.state ^ (random.state >> 30)) * 0xbf58476d1ce4e5b9
	b := (a ^ (a >> 27)) * 0x94d049bb133111eb
	return int(((b ^ (b >> 31)) >> 32) * uint64(limit) >> 32)
}

// Whose value it is, and which of its values: 32 characters.
func valueOf(leaf, stamp int) string {
	return fmt.Sprintf("%016x%016x", leaf, stamp)
}

// Five steps, each one of ten.
func key(tree string, leaf int) string {
	return fmt.Sprintf("%s/%d/%d/%d/%d/%d",
		tree, leaf/10000%10, leaf/1000%10, leaf/100%10, leaf/10%10, leaf%10)
}

// Which leaves there are, and which of them get new values, in this order.
type edits struct {
	seed    uint64
	count   int
	clients int
	// The leaf of each edit, whose stamps count from 1.
	leaves []int
}

func drawn(chosen options, number int) edits {
	random := random{chosen.seed}
	leaves := make([]int, number)
	for at := range leaves {
		leaves[at] = random.below(chosen.leaves)
	}
	return edits{chosen.seed, chosen.leaves, chosen.threads, leaves}
}

// The last stamp of each leaf; 0 is what was loaded.
func (edits *edits) held() []int {
	held := make([]int, edits.count)
	for at, leaf := range edits.leaves {
		held[leaf] = at + 1
	}
	return held
}

// What a leaf has after this edit, if one client does them all.
func (edits *edits) valueAfter(leaf, at int) string {
	for ; at >= 0; at-- {
		if edits.leaves[at] == leaf {
			return valueOf(leaf, at+1)
		}
	}
	return valueOf(leaf, 0)
}
