package main

import (
	"bytes"
	_ "embed"
	"html/template"
	"net/http"
	"strconv"
	"time"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/types"
)

const messages = "messages"

// Messages on a page, as on ours.
const shown = 50

//go:embed board.html
var markup string

var page = template.Must(template.New("board").Parse(markup))

// What is on a page. A message is named by its place there: its identifier has 15 bytes, where ours
// has one.
type board struct {
	Name     string
	Messages []message
	Older    bool
}

type message struct {
	Key                               int
	Author, Text, Posted, PostedShort string
}

// Makes the collection, which everybody may read and add to, and has PocketBase write no log of
// requests.
func furnish(app core.App) error {
	settings := app.Settings()
	settings.Logs.MaxDays = 0
	if err := app.Save(settings); err != nil {
		return err
	}
	collection := core.NewBaseCollection(messages)
	everybody := types.Pointer("")
	collection.ListRule, collection.ViewRule = everybody, everybody
	collection.CreateRule = everybody
	collection.Fields.Add(
		&core.TextField{Name: "board", Required: true, Max: 64},
		&core.TextField{Name: "author", Max: 64},
		&core.TextField{Name: "text", Required: true, Max: 16_000},
		&core.AutodateField{Name: "created", OnCreate: true},
	)
	collection.AddIndex("newest", false, "board, created", "")
	return app.Save(collection)
}

// The page of a board, with its newest messages.
func show(event *core.RequestEvent) error {
	name := event.Request.URL.Query().Get("board")
	var records []*core.Record
	err := event.App.RecordQuery(messages).
		AndWhere(dbx.HashExp{"board": name}).
		OrderBy("created DESC", "rowid DESC").
		Limit(shown + 1).
		All(&records)
	if err != nil {
		return err
	}
	all := board{Name: name, Older: len(records) > shown}
	for key, record := range records[:min(len(records), shown)] {
		posted := record.GetDateTime("created").Time().UTC()
		all.Messages = append(all.Messages, message{
			Key:         key,
			Author:      record.GetString("author"),
			Text:        record.GetString("text"),
			Posted:      posted.Format("2006-01-02T15:04:05.000000Z07:00"),
			PostedShort: posted.Format("2006-01-02 15:04 ") + time.UTC.String(),
		})
	}
	var rendered bytes.Buffer
	if err := page.Execute(&rendered, all); err != nil {
		return err
	}
	event.Response.Header().Set("Content-Length", strconv.Itoa(rendered.Len()))
	return event.HTML(http.StatusOK, rendered.String())
}

// Adds a message by a `GET`: the tool that asks for a mix sends all of it with one method. What is
// done with the record is what PocketBase's own API does.
func post(event *core.RequestEvent) error {
	collection, err := event.App.FindCachedCollectionByNameOrId(messages)
	if err != nil {
		return err
	}
	asked := event.Request.URL.Query()
	record := core.NewRecord(collection)
	for _, name := range []string{"board", "author", "text"} {
		record.Set(name, asked.Get(name))
	}
	if err := event.App.Save(record); err != nil {
		return err
	}
	return event.String(http.StatusOK, "posted\n")
}
