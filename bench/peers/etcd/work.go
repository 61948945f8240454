package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// The keys that are measured, and those before.
const (
	tree = "leaves"
	warm = "warm"
)

// Leaves that are loaded in one commit.
const commitLeaves = 1_000

// Commits of each task by one client, and by several together; twice as many to warm up.
const (
	taskEdits         = 5
	taskEditsTogether = 20
)

// Old revisions that are read, twice.
const oldReads = 2_000

var forever = context.Background()

// What jungle-bench does to ours: see its experiment `neighbours`.
func run(chosen options) (map[string]any, error) {
	if chosen.caseName == "three" {
		return three(chosen)
	}
	server, err := start()
	if err != nil {
		return nil, err
	}
	defer server.remove()
	run := measure
	switch chosen.caseName {
	case "watched":
		run = watched
	case "resumed":
		run = resumed
	case "reclaimed":
		run = reclaimed
	}
	outcome, err := run(server, chosen)
	server.stop()
	if err != nil {
		return nil, err
	}
	outcome["folder"], err = server.allocated()
	return outcome, err
}

// The numbers but for that of the folder.
func measure(server *server, chosen options) (map[string]any, error) {
	each := taskEdits
	if chosen.threads > 1 {
		each = taskEditsTogether
	}
	edits := drawn(chosen, chosen.tasks*each)
	warmUp := drawn(chosen, 2*len(edits.leaves))
	back, err := newBack(server, &edits)
	if err != nil {
		return nil, err
	}
	defer back.client.Close()
	if err := back.warmUp(server, &warmUp); err != nil {
		return nil, err
	}
	begun := time.Now()
	if err := back.load(tree); err != nil {
		return nil, err
	}
	load := time.Since(begun)
	took, revisions, times, err := commit(server, tree, &edits)
	if err != nil {
		return nil, err
	}
	slices.Sort(times)
	outcome := map[string]any{
		"case": chosen.caseName, "threads": chosen.threads, "unit": "1/s",
		"seconds": took.Seconds(), "operations": len(edits.leaves),
		"value": float64(len(edits.leaves)) / took.Seconds(),
		"load":  float64(edits.count) / load.Seconds(),
		"p50":   quantile(times, 50), "p99": quantile(times, 99),
	}
	if chosen.threads == 1 {
		if err := back.look(revisions, outcome); err != nil {
			return nil, err
		}
	}
	sum, err := back.checksum()
	outcome["checksum"] = sum
	outcome["check"] = "ok"
	if back.wrong > 0 {
		outcome["check"] = fmt.Sprintf("%d answers are wrong", back.wrong)
	}
	return outcome, err
}

// All edits, by all clients at once, each of which has a connection and leaves of its own. Gives
// the revisions, in order if there is one client, and the microseconds of each.
func commit(
	server *server, tree string, edits *edits,
) (time.Duration, []int64, []float64, error) {
	clients := make([]*clientv3.Client, edits.clients)
	for number := range clients {
		client, err := server.client()
		if err != nil {
			return 0, nil, nil, err
		}
		defer client.Close()
		clients[number] = client
	}
	revisions := make([]int64, len(edits.leaves))
	times := make([]float64, len(edits.leaves))
	errs := make([]error, edits.clients)
	var all sync.WaitGroup
	begun := time.Now()
	for number, client := range clients {
		all.Go(func() {
			errs[number] = commitSome(client, tree, edits, number, revisions, times)
		})
	}
	all.Wait()
	return time.Since(begun), revisions, times, errors.Join(errs...)
}

func commitSome(
	client *clientv3.Client, tree string, edits *edits, number int,
	revisions []int64, times []float64,
) error {
	for at, leaf := range edits.leaves {
		if leaf%edits.clients != number {
			continue
		}
		where, value := key(tree, leaf), valueOf(leaf, at+1)
		begun := time.Now()
		put, err := client.Put(forever, where, value)
		if err != nil {
			return err
		}
		times[at] = microseconds(begun)
		revisions[at] = put.Header.Revision
	}
	return nil
}

// One who loads, and looks at what was committed.
type back struct {
	client *clientv3.Client
	edits  *edits
	wrong  int
}

func newBack(server *server, edits *edits) (*back, error) {
	client, err := server.client()
	return &back{client: client, edits: edits}, err
}

// All of it once before, as the others do who are slow at first.
func (back *back) warmUp(server *server, edits *edits) error {
	if err := back.load(warm); err != nil {
		return err
	}
	if _, _, _, err := commit(server, warm, edits); err != nil {
		return err
	}
	before := *back
	before.edits = edits
	_, err := before.read(warm, len(edits.leaves))
	back.wrong += before.wrong
	return err
}

func (back *back) load(tree string) error {
	for first := 0; first < back.edits.count; first += commitLeaves {
		last := min(first+commitLeaves, back.edits.count)
		puts := make([]clientv3.Op, 0, commitLeaves)
		for leaf := first; leaf < last; leaf++ {
			puts = append(puts, clientv3.OpPut(key(tree, leaf), valueOf(leaf, 0)))
		}
		if _, err := back.client.Txn(forever).Then(puts...).Commit(); err != nil {
			return err
		}
	}
	return nil
}

func (back *back) look(revisions []int64, outcome map[string]any) error {
	read, err := back.read(tree, 2*len(back.edits.leaves))
	if err != nil {
		return err
	}
	if _, err := back.readOld(revisions); err != nil {
		return err
	}
	readOld, err := back.readOld(revisions)
	outcome["read"], outcome["read-old"] = median(read), median(readOld)
	return err
}

// Reads random leaves as they are now. Gives the microseconds of each.
func (back *back) read(tree string, reads int) ([]float64, error) {
	random, held := random{^back.edits.seed}, back.edits.held()
	times := make([]float64, reads)
	for at := range times {
		leaf := random.below(back.edits.count)
		begun := time.Now()
		found, err := back.get(key(tree, leaf))
		if err != nil {
			return nil, err
		}
		times[at] = microseconds(begun)
		back.compare(found, valueOf(leaf, held[leaf]))
	}
	return times, nil
}

// Reads leaves that were edited, as they were after another random edit.
func (back *back) readOld(revisions []int64) ([]float64, error) {
	random := random{^back.edits.seed}
	times := make([]float64, oldReads)
	for read := range times {
		leaf := back.edits.leaves[random.below(len(revisions))]
		at := random.below(len(revisions))
		begun := time.Now()
		found, err := back.get(key(tree, leaf), clientv3.WithRev(revisions[at]))
		if err != nil {
			return nil, err
		}
		times[read] = microseconds(begun)
		back.compare(found, back.edits.valueAfter(leaf, at))
	}
	return times, nil
}

func (back *back) get(key string, how ...clientv3.OpOption) (string, error) {
	answer, err := back.client.Get(forever, key, how...)
	if err != nil {
		return "", err
	}
	if len(answer.Kvs) != 1 {
		return "", fmt.Errorf("%s has %d values", key, len(answer.Kvs))
	}
	return string(answer.Kvs[0].Value), nil
}

// One number for the values of all leaves, each of which is looked at.
func (back *back) checksum() (uint32, error) {
	var sum uint32
	for leaf, stamp := range back.edits.held() {
		found, err := back.get(key(tree, leaf))
		if err != nil {
			return 0, err
		}
		back.compare(found, valueOf(leaf, stamp))
		for _, code := range []byte(found) {
			sum = sum*31 + uint32(code)
		}
	}
	return sum, nil
}

func (back *back) compare(found, ought string) {
	if found != ought {
		back.wrong++
	}
}

func microseconds(begun time.Time) float64 {
	return float64(time.Since(begun).Nanoseconds()) / 1e3
}

// The least of these, which are in order, within which so many of 100 are.
func quantile(sorted []float64, percent int) float64 {
	return sorted[max(1, (len(sorted)*percent+99)/100)-1]
}

func median(numbers []float64) float64 {
	slices.Sort(numbers)
	return (numbers[(len(numbers)-1)/2] + numbers[len(numbers)/2]) / 2
}
