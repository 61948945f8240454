package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

const (
	// Servers of the cluster.
	members = 3
	// Clusters that are read from: of one server, two and three.
	sizes = 3
	// Reads of each client in a turn, for each task; the first turn warms up.
	taskReads = 10
	readTurns = 5
	// Commits, for each task, that are waited for on another server.
	taskSeen = 4
	// More tasks add nothing to either.
	tasksMax = 100
	// Tasks for each time that a leader is killed, and how often it is at most.
	tasksKill = 25
	killsMax  = 4
	// Commits before a leader is killed, and after.
	gapCommits = 100
	// So long one attempt to commit is waited for; what a member has passed on to a dead leader is
	// lost, and it does not say so.
	attempt = 200 * time.Millisecond
	// In which the system tells times of processes.
	tick = 10 * time.Millisecond
)

// The key that is waited for, and those that are written while a leader is killed: one each, so that
// it is seen if one is lost.
const (
	seenKey  = "seen/at"
	killKeys = "kill/"
)

// Reads of one server, of two and of three, from each one's own copy; how long a commit through one
// takes to be seen on another; how long commits stand still when the leader is killed. See
// jungle-bench's experiment `neighbours`, its `three`.
func three(chosen options) (map[string]any, error) {
	folder, err := newFolder()
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	alone, err := startMembers(filepath.Join(folder, "alone"), 1, chosen)
	if err != nil {
		return nil, err
	}
	defer stopAll(alone)
	two, err := startMembers(filepath.Join(folder, "two"), 2, chosen)
	if err != nil {
		return nil, err
	}
	defer stopAll(two)
	cluster, err := startMembers(filepath.Join(folder, "cluster"), members, chosen)
	if err != nil {
		return nil, err
	}
	defer stopAll(cluster)
	kills := chosen
	chosen.tasks = min(chosen.tasks, tasksMax)
	outcome := map[string]any{
		"case": chosen.caseName, "threads": chosen.threads, "unit": "1/s", "seconds": 0,
	}
	wrong, err := readInTurns([sizes][]*server{alone, two, cluster}, chosen, outcome)
	if err != nil {
		return nil, err
	}
	if err := seenElsewhere(cluster, chosen, outcome); err != nil {
		return nil, err
	}
	lost, err := leadersKilled(cluster, kills, outcome)
	outcome["check"] = "ok"
	if wrong+lost > 0 {
		outcome["check"] = fmt.Sprintf("%d answers are wrong, %d acknowledged commits are lost", wrong, lost)
	}
	return outcome, err
}

// Gives none that runs when it fails: the folder goes then.
func startMembers(folder string, count int, chosen options) ([]*server, error) {
	servers, err := startSeveral(folder, count)
	if err != nil {
		return nil, err
	}
	err = loadLeaves(servers[0], chosen)
	if err == nil {
		// Each has what is read from its own copy afterwards: whoever answers as of the newest
		// commit has all that was committed before.
		err = awaitAll(servers)
	}
	if err != nil {
		stopAll(servers)
		return nil, err
	}
	return servers, nil
}

func loadLeaves(server *server, chosen options) error {
	edits := drawn(chosen, 0)
	back, err := newBack(server, &edits)
	if err != nil {
		return err
	}
	defer back.client.Close()
	return back.load(tree)
}

// Reads of clusters of one server, two and three, all of which are asked at once, in turns.
func readInTurns(
	clusters [sizes][]*server, chosen options, outcome map[string]any,
) (int, error) {
	var rates, costs [sizes][]float64
	wrong := 0
	for turn := range readTurns + 1 {
		for which, servers := range clusters {
			before, err := processorTime(servers)
			if err != nil {
				return 0, err
			}
			begun := time.Now()
			found, err := readAll(servers, chosen)
			took := time.Since(begun)
			if err != nil {
				return 0, err
			}
			after, err := processorTime(servers)
			if err != nil {
				return 0, err
			}
			reads := float64(len(servers) * chosen.threads * chosen.tasks * taskReads)
			wrong += found
			// The first one warms up.
			if turn > 0 {
				rates[which] = append(rates[which], reads/took.Seconds())
				costs[which] = append(costs[which], float64((after-before).Nanoseconds())/1e3/reads)
			}
		}
	}
	outcome["operations"] = chosen.threads * chosen.tasks * taskReads
	outcome["value"] = median(rates[sizes-1])
	for which, size := range [sizes]string{"-alone", "-two", ""} {
		outcome["read"+size], outcome["read-cpu"+size] = median(rates[which]), median(costs[which])
	}
	return wrong, nil
}

// All clients of all servers at once, each with a connection of its own. Gives how many answers
// were wrong.
func readAll(servers []*server, chosen options) (int, error) {
	clients := len(servers) * chosen.threads
	wrong, errs := make([]int, clients), make([]error, clients)
	var all sync.WaitGroup
	for number := range clients {
		all.Go(func() {
			wrong[number], errs[number] = readSome(servers[number%len(servers)], number, chosen)
		})
	}
	all.Wait()
	sum := 0
	for _, some := range wrong {
		sum += some
	}
	return sum, errors.Join(errs...)
}

func readSome(server *server, number int, chosen options) (int, error) {
	edits := drawn(chosen, 0)
	back, err := newBack(server, &edits)
	if err != nil {
		return 0, err
	}
	defer back.client.Close()
	random := random{chosen.seed + uint64(number)}
	for range chosen.tasks * taskReads {
		leaf := random.below(chosen.leaves)
		// What this server has, without asking the others.
		found, err := back.get(key(tree, leaf), clientv3.WithSerializable())
		if err != nil {
			return 0, err
		}
		back.compare(found, valueOf(leaf, 0))
	}
	return back.wrong, nil
}

// What these servers have used, also in threads that have ended, as the system tells it.
func processorTime(servers []*server) (time.Duration, error) {
	var sum time.Duration
	for _, server := range servers {
		told, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", server.command.Process.Pid))
		if err != nil {
			return 0, err
		}
		// Its name, in brackets, may have anything in it; the 14th and 15th word are the times.
		words := strings.Fields(string(told[bytes.LastIndexByte(told, ')')+1:]))
		for _, word := range words[11:13] {
			ticks, err := strconv.ParseInt(word, 10, 64)
			if err != nil {
				return 0, err
			}
			sum += time.Duration(ticks) * tick
		}
	}
	return sum, nil
}

// Milliseconds from before a commit is sent to one server until another one, which is watched,
// tells of it.
func seenElsewhere(cluster []*server, chosen options, outcome map[string]any) error {
	watching, cancel := context.WithCancel(forever)
	defer cancel()
	var clients [members]*clientv3.Client
	var events [members]clientv3.WatchChan
	for number, server := range cluster {
		client, err := server.client()
		if err != nil {
			return err
		}
		defer client.Close()
		clients[number] = client
		events[number] = client.Watch(watching, seenKey, clientv3.WithCreatedNotify())
		if first := <-events[number]; first.Err() != nil {
			return first.Err()
		}
	}
	var times []float64
	for number := 1; number <= chosen.tasks*taskSeen; number++ {
		from, to := number%members, (number+1)%members
		begun, value := time.Now(), strconv.Itoa(number)
		put := make(chan error, 1)
		go func() {
			_, err := clients[from].Put(forever, seenKey, value)
			put <- err
		}()
		if err := awaitEvent(events[to], value); err != nil {
			return err
		}
		times = append(times, float64(time.Since(begun).Nanoseconds())/1e6)
		if err := <-put; err != nil {
			return err
		}
	}
	slices.Sort(times)
	outcome["seen"], outcome["seen-p99"] = median(times), times[(len(times)*99+99)/100-1]
	return nil
}

func awaitEvent(events clientv3.WatchChan, value string) error {
	for {
		select {
		case answer, isOpen := <-events:
			if !isOpen || answer.Err() != nil {
				return fmt.Errorf("a watch has ended: %w", answer.Err())
			}
			for _, event := range answer.Events {
				if string(event.Kv.Value) == value {
					return nil
				}
			}
		case <-time.After(silence):
			return errors.New("nothing comes any more")
		}
	}
}

// Seconds without an acknowledged commit when the leader is killed. Gives how many of those that
// were acknowledged the servers do not have.
func leadersKilled(cluster []*server, chosen options, outcome map[string]any) (int, error) {
	rounds := min(max(chosen.tasks/tasksKill, 1), killsMax)
	var gaps []float64
	number := 0
	for range rounds {
		leader, err := wholeLeader(cluster)
		if err != nil {
			return 0, err
		}
		gap, err := longestGap(cluster, leader, &number)
		if err != nil {
			return 0, err
		}
		gaps = append(gaps, gap.Seconds())
		if err := cluster[leader].run(); err != nil {
			return 0, err
		}
		if err := cluster[leader].await(); err != nil {
			return 0, err
		}
	}
	slices.Sort(gaps)
	outcome["resume"], outcome["resume-most"] = median(gaps), gaps[len(gaps)-1]
	lost := 0
	for _, server := range cluster {
		client, err := server.client()
		if err != nil {
			return 0, err
		}
		defer client.Close()
		found, err := client.Get(forever, killKeys, clientv3.WithPrefix(), clientv3.WithCountOnly())
		if err != nil {
			return 0, err
		}
		lost += number - int(found.Count)
	}
	return lost, nil
}

// The longest time between two acknowledgements of one who commits to a server that stays, while
// the leader is killed.
func longestGap(cluster []*server, leader int, number *int) (time.Duration, error) {
	client, err := cluster[(leader+1)%members].client()
	if err != nil {
		return 0, err
	}
	defer client.Close()
	var longest time.Duration
	last := time.Now()
	for commit := range 2 * gapCommits {
		if commit == gapCommits {
			cluster[leader].kill()
		}
		*number++
		if err := putUntil(client, killKeys+strconv.Itoa(*number)); err != nil {
			return 0, err
		}
		longest, last = max(longest, time.Since(last)), time.Now()
	}
	return longest, nil
}

// Tries again until it is acknowledged.
func putUntil(client *clientv3.Client, key string) error {
	begun := time.Now()
	for {
		trying, cancel := context.WithTimeout(forever, attempt)
		_, err := client.Put(trying, key, "")
		cancel()
		if err == nil {
			return nil
		}
		if time.Since(begun) > patience {
			return err
		}
	}
}

// The one that leads, once the others have all that it has.
func wholeLeader(cluster []*server) (int, error) {
	begun := time.Now()
	for time.Since(begun) < patience {
		leader, indexes := -1, []uint64{}
		for number, server := range cluster {
			status, err := statusOf(server)
			if err != nil {
				break
			}
			indexes = append(indexes, status.RaftAppliedIndex)
			if status.Leader == status.Header.MemberId {
				leader = number
			}
		}
		if len(indexes) == members && leader >= 0 && slices.Min(indexes) == slices.Max(indexes) {
			return leader, nil
		}
		time.Sleep(look)
	}
	return 0, errors.New("there is no leader, or others do not have all of it")
}

func statusOf(server *server) (*clientv3.StatusResponse, error) {
	client, err := server.client()
	if err != nil {
		return nil, err
	}
	defer client.Close()
	asking, cancel := context.WithTimeout(forever, attempt)
	defer cancel()
	return client.Status(asking, server.address)
}
