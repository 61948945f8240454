package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/etcdmain"
)

// How long the server may take to be there: others may need the cores.
const patience = time.Minute

// How often it is looked whether it is.
const look = 10 * time.Millisecond

// A server in a process and a folder of its own.
type server struct {
	command *exec.Cmd
	address string
	folder  string
}

// Is etcd itself. It ends with its standard input, so with whoever started it.
func serve(arguments []string) {
	go func() {
		io.Copy(io.Discard, os.Stdin)
		os.Exit(1)
	}()
	etcdmain.Main(append([]string{"etcd"}, arguments...))
}

// Starts one with its own settings, which sync before they answer, except that a commit may have
// a thousand keys. The folder is beside the program, so on the disk that is built on.
func start() (*server, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	folder := filepath.Join(filepath.Dir(program), fmt.Sprintf("bench-etcd-%d", os.Getpid()))
	address, err := freeAddress()
	if err != nil {
		return nil, err
	}
	peers, err := freeAddress()
	if err != nil {
		return nil, err
	}
	command := exec.Command(program, "serve", "--name", "one", "--data-dir", folder,
		"--listen-client-urls", "http://"+address, "--advertise-client-urls", "http://"+address,
		"--listen-peer-urls", "http://"+peers, "--initial-advertise-peer-urls", "http://"+peers,
		"--initial-cluster", "one=http://"+peers,
		"--max-txn-ops", "1024", "--log-level", "panic")
	command.Stdout, command.Stderr = os.Stderr, os.Stderr
	// It stays open until this process ends.
	if _, err := command.StdinPipe(); err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, err
	}
	started := &server{command: command, address: address, folder: folder}
	if err := started.await(); err != nil {
		started.stop()
		started.remove()
		return nil, err
	}
	return started, nil
}

func freeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer listener.Close()
	return listener.Addr().String(), nil
}

// A connection of its own.
func (server *server) client() (*clientv3.Client, error) {
	return clientv3.New(clientv3.Config{Endpoints: []string{server.address}})
}

// Waits until it answers.
func (server *server) await() error {
	waiting, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for {
		connection, err := net.Dial("tcp", server.address)
		if err == nil {
			connection.Close()
			break
		}
		if waiting.Err() != nil {
			return err
		}
		time.Sleep(look)
	}
	client, err := server.client()
	if err != nil {
		return err
	}
	defer client.Close()
	_, err = client.Get(waiting, "is it there")
	return err
}

// Ends it in order; what it has is in its folder then.
func (server *server) stop() {
	server.command.Process.Signal(syscall.SIGTERM)
	// It ends by the signal when it has put everything in order.
	server.command.Wait()
}

func (server *server) remove() {
	os.RemoveAll(server.folder)
}

// Bytes that the disk has given for its files.
func (server *server) allocated() (int64, error) {
	var bytes int64
	err := filepath.WalkDir(server.folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return gone(err)
		}
		info, err := entry.Info()
		if err != nil {
			return gone(err)
		}
		bytes += info.Sys().(*syscall.Stat_t).Blocks * 512
		return nil
	})
	return bytes, err
}

// A file may be renamed while the others are looked at.
func gone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
