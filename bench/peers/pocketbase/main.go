// The bulletin board on PocketBase, as somebody has it who makes a program with it: a collection of
// messages under PocketBase's own API, and a page that is rendered from it. `peer FOLDER normal`
// keeps everything in a folder, with SQLite's `synchronous` as PocketBase sets it, and `full` so
// that an answer is durable. It prints its address, and serves until it is killed.
package main

import (
	"fmt"
	"net"
	"os"
	"strings"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/apis"
	"github.com/pocketbase/pocketbase/core"
	// What PocketBase itself needs in its folder.
	_ "github.com/pocketbase/pocketbase/migrations"
)

func main() {
	if len(os.Args) != 3 || (os.Args[2] != "normal" && os.Args[2] != "full") {
		fmt.Fprintln(os.Stderr, "usage: peer FOLDER normal|full")
		os.Exit(2)
	}
	if err := serve(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "pocketbase:", err)
		os.Exit(1)
	}
}

func serve(folder, synchronous string) error {
	connect := core.DefaultDBConnect
	if synchronous == "full" {
		connect = connectSynced
	}
	app := core.NewBaseApp(core.BaseAppConfig{DataDir: folder, DBConnect: connect})
	if err := app.Bootstrap(); err != nil {
		return err
	}
	if err := app.RunAllMigrations(); err != nil {
		return err
	}
	if err := furnish(app); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	address := listener.Addr().String()
	app.OnServe().BindFunc(func(starting *core.ServeEvent) error {
		// It would open a browser for whoever administers it.
		starting.InstallerFunc = nil
		starting.Listener = listener
		starting.Router.GET("/board", show)
		starting.Router.GET("/post", post)
		fmt.Println("http://" + address)
		return starting.Next()
	})
	return apis.Serve(app, apis.ServeConfig{HttpAddr: address})
}

// PocketBase's own connection, but that what is answered is durable. Each connection of its pool is
// told so when it is opened.
func connectSynced(path string) (*dbx.DB, error) {
	pragmas := []string{
		"busy_timeout(10000)", "journal_mode(WAL)", "journal_size_limit(200000000)",
		"synchronous(FULL)", "foreign_keys(ON)", "temp_store(MEMORY)", "cache_size(-32000)",
	}
	return dbx.Open("sqlite", path+"?_pragma="+strings.Join(pragmas, "&_pragma="))
}
