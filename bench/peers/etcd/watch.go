package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// Parts of the keys: with a thousand who watch, each is watched by ten.
const parts = 100

// Who commit, each to parts of its own.
const writers = 4

const (
	// Between two commits, of whoever: 500 a second.
	step = 2 * time.Millisecond
	// So long the one half of the keys is written to, then the other.
	turn = 500 * time.Millisecond
	// So long either is, in all, for each task.
	taskTime = 30 * time.Millisecond
	// Nothing takes so long to come, unless it is lost.
	silence = time.Minute
)

// The keys that are watched, and those that are not.
var halves = [2]string{"watched", "alone"}

// The last value in each part.
const last = 0

// What was committed: the stamps in each part that is watched, and the milliseconds of each
// commit, by half.
type written struct {
	sent  [parts][]int64
	times [2][]float64
}

// A value, and when it was seen, in microseconds from the beginning.
type seen struct {
	stamp, at int64
}

// Milliseconds from before a commit is sent until 99 of 100 watchers have it, and what else
// jungle-bench tells of ours: see its `watchers`. Each who watches has a connection of its own.
func watched(server *server, chosen options) (map[string]any, error) {
	begun := time.Now()
	ended, err := watchAll(server, chosen.threads, begun)
	if err != nil {
		return nil, err
	}
	length := max(time.Second, time.Duration(chosen.tasks)*taskTime)
	done, err := writeAll(server, begun, 2*length)
	if err != nil {
		return nil, err
	}
	found, err := ended()
	if err != nil {
		return nil, err
	}
	lost, delivered := 0, []float64{}
	for watcher, seen := range found {
		sent := done.sent[watcher%parts]
		if len(seen) != len(sent) {
			lost++
			continue
		}
		for at, one := range seen {
			delivered = append(delivered, float64(one.at-one.stamp)/1e3)
			if one.stamp != sent[at] {
				lost++
				break
			}
		}
	}
	outcome := told(done, delivered, length)
	outcome["case"], outcome["threads"] = chosen.caseName, chosen.threads
	if lost > 0 {
		outcome["check"] = fmt.Sprintf("%d watchers have lost something", lost)
	}
	return outcome, nil
}

func told(done *written, delivered []float64, length time.Duration) map[string]any {
	slices.Sort(delivered)
	least := func(share int) float64 {
		if len(delivered) == 0 {
			return 0
		}
		return delivered[len(delivered)*share/100]
	}
	beside, alone := done.times[0], done.times[1]
	return map[string]any{
		"unit": "ms", "seconds": length.Seconds(), "operations": len(beside), "check": "ok",
		"value": least(99), "half": least(50),
		"slowed-mean": mean(beside) / mean(alone),
		"commit":      median(beside), "commit-alone": median(alone),
		"slowed": median(beside) / median(alone),
		"rate":   float64(len(beside)) / length.Seconds(),
	}
}

func mean(numbers []float64) float64 {
	sum := 0.0
	for _, number := range numbers {
		sum += number
	}
	return sum / float64(len(numbers))
}

// So many watch, once this has answered, each until the last value of its part is seen; the answer
// waits for that, and gives what each has seen.
func watchAll(server *server, watchers int, begun time.Time) (func() ([][]seen, error), error) {
	ready := make(chan error, watchers)
	found := make([][]seen, watchers)
	errs := make([]error, watchers)
	var all sync.WaitGroup
	for watcher := range watchers {
		all.Go(func() {
			found[watcher], errs[watcher] = watchPart(server, watcher%parts, begun, ready)
		})
	}
	for range watchers {
		if err := <-ready; err != nil {
			return nil, err
		}
	}
	return func() ([][]seen, error) {
		all.Wait()
		return found, errors.Join(errs...)
	}, nil
}

// Watches until the last value of this part is seen; says when it watches.
func watchPart(server *server, part int, begun time.Time, ready chan<- error) ([]seen, error) {
	client, err := server.client()
	if err != nil {
		ready <- err
		return nil, err
	}
	defer client.Close()
	prefix := fmt.Sprintf("%s/%d/", halves[0], part)
	events := client.Watch(forever, prefix, clientv3.WithPrefix(), clientv3.WithCreatedNotify())
	first := <-events
	ready <- first.Err()
	var all []seen
	for {
		select {
		case answer, isOpen := <-events:
			if !isOpen || answer.Err() != nil {
				return all, fmt.Errorf("a watch has ended: %w", answer.Err())
			}
			at := time.Since(begun).Microseconds()
			for _, event := range answer.Events {
				stamp, err := strconv.ParseInt(string(event.Kv.Value), 10, 64)
				if stamp == last || err != nil {
					return all, err
				}
				all = append(all, seen{stamp, at})
			}
		case <-time.After(silence):
			return all, errors.New("nothing comes any more")
		}
	}
}

// Commits from all writers for so long, and at last once in each part.
func writeAll(server *server, begun time.Time, length time.Duration) (*written, error) {
	from := time.Since(begun)
	var done [writers]*written
	var errs [writers]error
	var all sync.WaitGroup
	for writer := range writers {
		all.Go(func() {
			done[writer], errs[writer] = write(server, writer, begun, from, length)
		})
	}
	all.Wait()
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}
	whole := &written{}
	for _, one := range done {
		for part, sent := range one.sent {
			whole.sent[part] = append(whole.sent[part], sent...)
		}
		for half, times := range one.times {
			whole.times[half] = append(whole.times[half], times...)
		}
	}
	client, err := server.client()
	if err != nil {
		return nil, err
	}
	defer client.Close()
	for part := range parts {
		if err := put(forever, client, halves[0], part, last); err != nil {
			return nil, err
		}
	}
	return whole, nil
}

func write(
	server *server, writer int, begun time.Time, from, length time.Duration,
) (*written, error) {
	client, err := server.client()
	if err != nil {
		return nil, err
	}
	defer client.Close()
	done := &written{}
	for number := writer; ; number += writers {
		at := step * time.Duration(number)
		if at >= length {
			return done, nil
		}
		time.Sleep(from + at - time.Since(begun))
		half, part := int(at/turn)%2, number%parts
		sent := time.Since(begun)
		stamp := sent.Microseconds() + 1
		if err := put(forever, client, halves[half], part, stamp); err != nil {
			return nil, err
		}
		took := float64((time.Since(begun) - sent).Nanoseconds()) / 1e6
		done.times[half] = append(done.times[half], took)
		if half == 0 {
			done.sent[part] = append(done.sent[part], stamp)
		}
	}
}

func put(
	trying context.Context, client *clientv3.Client, half string, part int, value int64,
) error {
	_, err := client.Put(trying, partKey(half, part), strconv.FormatInt(value, 10))
	return err
}

func partKey(half string, part int) string {
	return fmt.Sprintf("%s/%d/at", half, part)
}
