// etcd on one server, as its users have it keep every revision: `peer served`, `watched`, `resumed`
// and `reclaimed`; and on three: `peer three`; with the options of the other peers, print one line
// of JSON. See the README of the peers.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
)

// How large the work is.
type options struct {
	caseName string
	threads  int
	tasks    int
	seed     uint64
	leaves   int
}

func parse(words []string) (options, error) {
	chosen := options{threads: 1, tasks: 50, seed: 1, leaves: 100_000}
	if len(words)%2 == 0 {
		return chosen, errors.New(
			"usage: peer CASE --threads N --tasks T [--nodes-scale full|quick] --seed S")
	}
	chosen.caseName = words[0]
	for at := 1; at < len(words); at += 2 {
		name, value := words[at], words[at+1]
		var err error
		switch name {
		case "--threads":
			chosen.threads, err = strconv.Atoi(value)
		case "--tasks":
			chosen.tasks, err = strconv.Atoi(value)
		case "--seed":
			chosen.seed, err = strconv.ParseUint(value, 10, 64)
		case "--nodes-scale":
			if value == "quick" {
				chosen.leaves = 1_000
			}
		default:
			err = errors.New("there is no such option")
		}
		if err != nil {
			return chosen, fmt.Errorf("%s: %w", name, err)
		}
	}
	cases := []string{"served", "watched", "resumed", "three", "reclaimed"}
	if !slices.Contains(cases, chosen.caseName) {
		return chosen, fmt.Errorf("there is no case %s", chosen.caseName)
	}
	return chosen, nil
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == "serve" {
		serve(os.Args[2:])
		return
	}
	chosen, err := parse(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	outcome, err := run(chosen)
	if err != nil {
		fmt.Fprintln(os.Stderr, "etcd:", err)
		os.Exit(1)
	}
	line, err := json.Marshal(outcome)
	if err != nil {
		fmt.Fprintln(os.Stderr, "etcd:", err)
		os.Exit(1)
	}
	fmt.Println(string(line))
	if outcome["check"] != "ok" {
		os.Exit(1)
	}
}
