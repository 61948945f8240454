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
	"strings"
	"syscall"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"go.uber.org/zap"
	"google.golang.org/grpc"
)

// How long the server may take to be there: others may need the cores.
const patience = time.Minute

// How often it is looked whether it is.
const look = 10 * time.Millisecond

// A server in a process and a folder of its own.
type server struct {
	command   *exec.Cmd
	arguments []string
	address   string
	folder    string
	// How its clients connect, where that is not as by default.
	dialing []grpc.DialOption
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
// a thousand keys.
func start() (*server, error) {
	folder, err := newFolder()
	if err != nil {
		return nil, err
	}
	servers, err := startSeveral(folder, 1)
	if err != nil {
		os.RemoveAll(folder)
		return nil, err
	}
	return servers[0], nil
}

// Beside the program, so on the disk that is built on.
func newFolder() (string, error) {
	program, err := os.Executable()
	name := fmt.Sprintf("bench-etcd-%d", os.Getpid())
	return filepath.Join(filepath.Dir(program), name), err
}

// Starts so many that are one cluster, and waits until each answers. One alone has the folder
// itself.
func startSeveral(folder string, count int) ([]*server, error) {
	var names, clients, peers, cluster []string
	for number := range count {
		client, err := freeAddress()
		if err != nil {
			return nil, err
		}
		peer, err := freeAddress()
		if err != nil {
			return nil, err
		}
		name := fmt.Sprintf("member-%d", number)
		names, clients = append(names, name), append(clients, client)
		peers = append(peers, "http://"+peer)
		cluster = append(cluster, name+"=http://"+peer)
	}
	servers := make([]*server, count)
	for number, name := range names {
		here := folder
		if count > 1 {
			here = filepath.Join(folder, name)
		}
		client, peer := "http://"+clients[number], peers[number]
		servers[number] = &server{address: clients[number], folder: here, arguments: []string{
			"serve", "--name", name, "--data-dir", here,
			"--listen-client-urls", client, "--advertise-client-urls", client,
			"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
			"--initial-cluster", strings.Join(cluster, ","),
			"--max-txn-ops", "1024", "--log-level", "panic",
		}}
	}
	if err := runAll(servers); err != nil {
		stopAll(servers)
		for _, server := range servers {
			server.remove()
		}
		return nil, err
	}
	return servers, nil
}

func runAll(servers []*server) error {
	for _, server := range servers {
		if err := server.run(); err != nil {
			return err
		}
	}
	// None of several answers before most of them are there.
	return awaitAll(servers)
}

func awaitAll(servers []*server) error {
	for _, server := range servers {
		if err := server.await(); err != nil {
			return err
		}
	}
	return nil
}

func stopAll(servers []*server) {
	for _, server := range servers {
		server.stop()
	}
}

// Starts it, the first time or again.
func (server *server) run() error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	command := exec.Command(program, server.arguments...)
	command.Stdout, command.Stderr = os.Stderr, os.Stderr
	// It stays open until this process ends.
	if _, err := command.StdinPipe(); err != nil {
		return err
	}
	server.command = command
	return command.Start()
}

// Ends it with no time for anything.
func (server *server) kill() {
	server.command.Process.Kill()
	server.command.Wait()
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
	// What fails is an error here; it need not be written besides.
	return clientv3.New(clientv3.Config{
		Endpoints: []string{server.address}, Logger: zap.NewNop(), DialOptions: server.dialing,
	})
}

// Waits until it answers, as of the newest commit of whichever server.
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
	if server.command == nil || server.command.Process == nil {
		return
	}
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
