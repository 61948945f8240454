package main

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

const (
	// Commits of each task before, and revisions that are kept; there are twice as many at least.
	taskForgotten = 5
	kept          = 100
	// The newest commits, which must be known afterwards.
	newestLooked = 10
	// For each task nothing is given back for so long, and at most so long.
	taskQuiet = time.Millisecond
	quietMax  = time.Second
	// After each read and each commit.
	pause = 50 * time.Microsecond
	// How often it is looked how large the folder is.
	sizeLook = 5 * time.Millisecond
)

// A commit of one value.
type madeCommit struct {
	revision    int64
	leaf, stamp int
}

// One who reads and one who commits, each with a connection.
type both struct {
	server *server
	seed   uint64
	// The last stamp of each leaf, and of all.
	held  []int
	stamp int
	made  []madeCommit
	wrong int
}

// How long a reader and a writer wait while all but the newest revisions are forgotten and their
// place is given back. See jungle-bench's experiment `neighbours`, its `reclaimed`.
func reclaimed(server *server, chosen options) (map[string]any, error) {
	edits := drawn(chosen, max(chosen.tasks*taskForgotten, 2*kept))
	edits.clients = 1
	back, err := newBack(server, &edits)
	if err != nil {
		return nil, err
	}
	defer back.client.Close()
	if err := back.load(tree); err != nil {
		return nil, err
	}
	_, revisions, _, err := commit(server, tree, &edits)
	if err != nil {
		return nil, err
	}
	both := both{
		server: server, seed: chosen.seed, held: edits.held(), stamp: len(edits.leaves),
	}
	quiet := min(time.Duration(chosen.tasks)*taskQuiet, quietMax)
	readerBeside, writerBeside, err := both.during(func() error {
		time.Sleep(quiet)
		return nil
	})
	if err != nil {
		return nil, err
	}
	before, err := server.allocated()
	if err != nil {
		return nil, err
	}
	most, took := before, time.Duration(0)
	reader, writer, err := both.during(func() error {
		begun := time.Now()
		seen, err := server.largestDuring(both.reclaim)
		most, took = max(most, seen), time.Since(begun)
		return err
	})
	if err != nil {
		return nil, err
	}
	after, err := server.allocated()
	if err != nil {
		return nil, err
	}
	if _, err := back.get(key(tree, 0), clientv3.WithRev(revisions[0])); err == nil {
		both.wrong++
	}
	if err := both.look(back); err != nil {
		return nil, err
	}
	outcome := map[string]any{
		"case": chosen.caseName, "threads": chosen.threads, "unit": "ms",
		"seconds": took.Seconds(), "operations": both.stamp, "value": reader, "writer": writer,
		"took":          float64(took.Nanoseconds()) / 1e6,
		"reader-beside": readerBeside, "writer-beside": writerBeside,
		"before": before, "after": after, "peak": float64(most) / float64(before), "check": "ok",
	}
	if both.wrong > 0 {
		outcome["check"] = fmt.Sprintf(
			"%d values or revisions are not as they ought to be", both.wrong)
	}
	return outcome, nil
}

// They go on while something else is done. Gives the milliseconds of the longest read and of the
// longest commit.
func (both *both) during(other func() error) (reader, writer float64, err error) {
	var stop atomic.Bool
	var all sync.WaitGroup
	var reading, writing error
	all.Go(func() { reader, reading = both.read(&stop) })
	all.Go(func() { writer, writing = both.write(&stop) })
	done := other()
	stop.Store(true)
	all.Wait()
	return reader, writer, errors.Join(done, reading, writing)
}

func (both *both) read(stop *atomic.Bool) (float64, error) {
	client, err := both.server.client()
	if err != nil {
		return 0, err
	}
	defer client.Close()
	back, random := back{client: client}, random{^both.seed}
	return longest(stop, func() error {
		leaf := random.below(len(both.held))
		found, err := back.get(key(tree, leaf))
		if !strings.HasPrefix(found, fmt.Sprintf("%016x", leaf)) {
			both.wrong++
		}
		return err
	})
}

func (both *both) write(stop *atomic.Bool) (float64, error) {
	client, err := both.server.client()
	if err != nil {
		return 0, err
	}
	defer client.Close()
	random := random{both.seed}
	return longest(stop, func() error {
		leaf := random.below(len(both.held))
		both.stamp++
		put, err := client.Put(forever, key(tree, leaf), valueOf(leaf, both.stamp))
		if err != nil {
			return err
		}
		both.held[leaf] = both.stamp
		both.made = append(both.made, madeCommit{put.Header.Revision, leaf, both.stamp})
		return nil
	})
}

// The milliseconds of the longest of what is done again and again, with pauses, until it is to
// stop.
func longest(stop *atomic.Bool, each func() error) (float64, error) {
	var most time.Duration
	for !stop.Load() {
		begun := time.Now()
		if err := each(); err != nil {
			return 0, err
		}
		most = max(most, time.Since(begun))
		time.Sleep(pause)
	}
	return float64(most.Nanoseconds()) / 1e6, nil
}

// Forgets what the newest revisions do not need, and gives its place back to the disk.
func (both *both) reclaim() error {
	client, err := both.server.client()
	if err != nil {
		return err
	}
	defer client.Close()
	newest, err := client.Get(forever, key(tree, 0))
	if err != nil {
		return err
	}
	from := newest.Header.Revision + 1 - kept
	if _, err := client.Compact(forever, from, clientv3.WithCompactPhysical()); err != nil {
		return err
	}
	_, err = client.Defragment(forever, both.server.address)
	return err
}

// Counts the leaves that have something else, or had at the newest revisions.
func (both *both) look(back *back) error {
	for leaf, stamp := range both.held {
		found, err := back.get(key(tree, leaf))
		if err != nil {
			return err
		}
		back.compare(found, valueOf(leaf, stamp))
	}
	for _, made := range both.made[max(0, len(both.made)-newestLooked):] {
		found, err := back.get(key(tree, made.leaf), clientv3.WithRev(made.revision))
		if err != nil {
			return err
		}
		back.compare(found, valueOf(made.leaf, made.stamp))
	}
	both.wrong += back.wrong
	return nil
}

// The most bytes that the disk has given for its files, as far as it is seen, while something is
// done.
func (server *server) largestDuring(work func() error) (int64, error) {
	var most int64
	var looking sync.WaitGroup
	ended := make(chan struct{})
	looking.Go(func() {
		for {
			select {
			case <-ended:
				return
			case <-time.After(sizeLook):
				// A file may be gone when it is looked at.
				if bytes, err := server.allocated(); err == nil {
					most = max(most, bytes)
				}
			}
		}
	})
	err := work()
	close(ended)
	looking.Wait()
	return most, err
}
