package site_test

import (
	"bytes"
	"net"
	"testing"
	"time"

	"github.com/spillway-media/spillway/bench/h2/site"
	"github.com/spillway-media/spillway/bench/h2/visitor"
	"github.com/spillway-media/spillway/internal/progressive"
)

// pictures are bytes that claim to be of four phases.
func pictures() []*site.Picture {
	var all []*site.Picture
	for i, name := range []string{"a.jpg", "b.jpg", "c.jpg"} {
		all = append(all, &site.Picture{
			Name: name, Data: bytes.Repeat([]byte{byte(i)}, 100e3),
			Sizes: progressive.Sizes{0, 200, 9800, 40e3, 50e3},
		})
	}
	return all
}

func TestEveryServerSendsEveryPictureWhole(t *testing.T) {
	for _, kind := range []site.Kind{site.Std(), site.Ours(), site.Ours(site.IgnorePhases)} {
		for name, handler := range map[string]*site.Site{
			"ready":    site.New(pictures()),
			"encoding": site.New(pictures()).Encoding(2, time.Millisecond),
		} {
			t.Run(kind.Name+" "+name, func(t *testing.T) {
				listener, err := net.Listen("tcp", "127.0.0.1:0")
				if err != nil {
					t.Fatal(err)
				}
				server, err := kind.Serve(listener, handler, nil)
				if err != nil {
					t.Fatal(err)
				}
				defer func() {
					if err := server.Close(); err != nil {
						t.Error(err)
					}
				}()
				conn, err := net.Dial("tcp", server.Address)
				if err != nil {
					t.Fatal(err)
				}
				v, err := visitor.Open(conn, "http", server.Address)
				if err != nil {
					t.Fatal(err)
				}
				defer v.Close()
				var answers []*visitor.Answer
				for _, p := range pictures() {
					a, err := v.Ask(visitor.Request{Path: p.Path(), Urgency: 3, Incremental: true, Body: p.Data, Marks: p.Marks()})
					if err != nil {
						t.Fatal(err)
					}
					answers = append(answers, a)
				}
				for _, a := range answers {
					if err := a.Wait(t.Context()); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
}

func TestMarksAreWherePhasesEnd(t *testing.T) {
	got := pictures()[0].Marks()
	for i, want := range []int64{200, 10e3, 50e3, 100e3} {
		if got[i] != want {
			t.Errorf("mark %d = %d, want %d", i, got[i], want)
		}
	}
}
