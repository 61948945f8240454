package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
)

const (
	// So long whoever has lost the server waits before coming again, instead of a second and more.
	again = 20 * time.Millisecond
	// The server is killed within so many microseconds after a commit was sent.
	onItsWay = 2_000
)

// Once it listens it is waited for, as by default.
var often = grpc.WithConnectParams(grpc.ConnectParams{
	Backoff:           backoff.Config{BaseDelay: again, Multiplier: 1, MaxDelay: again},
	MinConnectTimeout: patience,
})

// Who commits to one part after the other, and kills the server.
type killer struct {
	server *server
	client *clientv3.Client
	begun  time.Time
	random random
	// The last value; they count from 1.
	number int64
	// All values, by part.
	sent [parts][]int64
	// Of those around kills, from when they are late: microseconds from the beginning.
	due map[int64]int64
	// Milliseconds from each kill until the server answered again.
	up []float64
	// Commits that were acknowledged and are not there.
	lost int
}

// How late those who watch are told what is committed around kills of the server, each of it once
// and in order. See jungle-bench's experiment `neighbours`, its `resumed`.
func resumed(server *server, chosen options) (map[string]any, error) {
	server.dialing = []grpc.DialOption{often}
	client, err := server.client()
	if err != nil {
		return nil, err
	}
	killer := killer{
		server: server, client: client, begun: time.Now(), random: random{chosen.seed},
		due: map[int64]int64{},
	}
	defer func() { killer.client.Close() }()
	ended, err := watchAll(server, chosen.threads, killer.begun)
	if err != nil {
		return nil, err
	}
	for range min(max(chosen.tasks/tasksKill, 1), killsMax) {
		if err := killer.commitAroundKill(); err != nil {
			return nil, err
		}
	}
	for part := range parts {
		if err := put(forever, killer.client, halves[0], part, last); err != nil {
			return nil, err
		}
	}
	found, err := ended()
	if err != nil {
		return nil, err
	}
	return killer.told(found, chosen), nil
}

func (killer *killer) told(found [][]seen, chosen options) map[string]any {
	wrong, late := 0, []float64{}
	for watcher, seen := range found {
		values := make([]int64, 0, len(seen))
		for _, one := range seen {
			values = append(values, one.stamp)
			if due, isAround := killer.due[one.stamp]; isAround {
				late = append(late, float64(max(0, one.at-due))/1e3)
			}
		}
		if !slices.Equal(values, killer.sent[watcher%parts]) {
			wrong++
		}
	}
	slices.Sort(late)
	outcome := map[string]any{
		"case": chosen.caseName, "threads": chosen.threads, "unit": "ms",
		"seconds": time.Since(killer.begun).Seconds(), "operations": killer.number, "check": "ok",
		"value": quantile(late, 99), "half": median(late), "up": median(killer.up),
	}
	if wrong+killer.lost > 0 {
		outcome["check"] = fmt.Sprintf(
			"%d watchers were not told each commit once, %d acknowledged commits are lost",
			wrong, killer.lost)
	}
	return outcome
}

// Once to each part before, so that all who watch are there again, and once around.
func (killer *killer) commitAroundKill() error {
	for range parts {
		part := killer.draw()
		if err := put(forever, killer.client, halves[0], part, killer.number); err != nil {
			return err
		}
	}
	if err := killer.commitOverKill(); err != nil {
		return err
	}
	for range parts - 1 {
		part := killer.draw()
		killer.noteDue()
		if err := put(forever, killer.client, halves[0], part, killer.number); err != nil {
			return err
		}
	}
	return nil
}

// Kills the server while a commit is on its way, starts it again, and commits the same again if it
// is not there.
func (killer *killer) commitOverKill() error {
	part := killer.draw()
	client, value := killer.client, killer.number
	trying, cancel := context.WithCancel(forever)
	defer cancel()
	answered := make(chan error, 1)
	go func() { answered <- put(trying, client, halves[0], part, value) }()
	time.Sleep(time.Duration(killer.random.below(onItsWay)) * time.Microsecond)
	killed := time.Now()
	killer.server.kill()
	// Its client must not send it to the next one.
	cancel()
	isAcknowledged := <-answered == nil
	client.Close()
	if err := killer.server.run(); err != nil {
		return err
	}
	if err := killer.server.await(); err != nil {
		return err
	}
	fresh, err := killer.server.client()
	if err != nil {
		return err
	}
	killer.client = fresh
	held, err := killer.held(part)
	if err != nil {
		return err
	}
	killer.up = append(killer.up, float64(time.Since(killed).Nanoseconds())/1e6)
	killer.noteDue()
	if held == value {
		return nil
	}
	if isAcknowledged {
		killer.lost++
	}
	return put(forever, fresh, halves[0], part, value)
}

// Draws the next value; gives its part.
func (killer *killer) draw() int {
	killer.number++
	part := int(killer.number % parts)
	killer.sent[part] = append(killer.sent[part], killer.number)
	return part
}

// From now on the last value is late.
func (killer *killer) noteDue() {
	killer.due[killer.number] = time.Since(killer.begun).Microseconds()
}

// The value that a part has; 0 if it has none.
func (killer *killer) held(part int) (int64, error) {
	found, err := killer.client.Get(forever, partKey(halves[0], part))
	if err != nil || len(found.Kvs) == 0 {
		return 0, err
	}
	return strconv.ParseInt(string(found.Kvs[0].Value), 10, 64)
}
