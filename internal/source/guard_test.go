package source_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"sync/atomic"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/source"
)

func TestGuardRefusesWhatIsNotPublic(t *testing.T) {
	cases := []struct {
		name      string
		addresses []string
		public    bool
	}{
		{"loopback", []string{"127.0.0.1", "127.255.255.254", "::1"}, false},
		{"this network", []string{"0.0.0.0", "0.1.2.3", "::"}, false},
		{"private", []string{"10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "fc00::1", "fdff::1"}, false},
		{"carrier-grade NAT", []string{"100.64.0.1", "100.127.255.255"}, false},
		{"link-local", []string{"169.254.0.1", "fe80::1", "fe80::1%eth0", "febf::1"}, false},
		{"site-local", []string{"fec0::1"}, false},
		{"metadata services", []string{"169.254.169.254", "169.254.170.2", "100.100.100.200", "192.0.0.192", "168.63.129.16", "fd00:ec2::254", "fd20:ce::254"}, false},
		{"multicast and broadcast", []string{"224.0.0.1", "239.255.255.255", "255.255.255.255", "ff02::1", "ff0e::1"}, false},
		{"reserved", []string{"192.0.0.8", "198.18.0.1", "198.19.255.255", "240.0.0.1", "100::1", "4000::1", "5f00::1"}, false},
		{"documentation", []string{"192.0.2.1", "198.51.100.1", "203.0.113.1", "2001:db8::1", "3fff::1"}, false},
		{"IPv4 mapped into IPv6", []string{"::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254"}, false},
		{"IPv4-compatible IPv6", []string{"::127.0.0.1", "::8.8.8.8"}, false},
		{"private IPv4 behind NAT64", []string{"64:ff9b::127.0.0.1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::1"}, false},
		{"private IPv4 behind 6to4 and Teredo", []string{"2002:7f00:1::1", "2002:a9fe:a9fe::", "2001::1"}, false},
		{"no address at all", []string{""}, false},
		{"public IPv4", []string{"8.8.8.8", "1.1.1.1", "100.63.255.255", "100.128.0.1", "172.15.0.1", "172.32.0.1", "223.255.255.255", "::ffff:8.8.8.8"}, true},
		{"public IPv6", []string{"2606:4700::1", "2a00:1450::1", "64:ff9b::8.8.8.8", "2002:808:808::1"}, true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			for _, text := range c.addresses {
				addr, _ := netip.ParseAddr(text)
				err := source.Guard{}.Check(addr)
				if (err == nil) != c.public {
					t.Errorf("%s: %v, want public %t", text, err, c.public)
				}
				if err != nil && !errors.Is(err, source.ErrPrivate) {
					t.Errorf("%s: %v does not wrap ErrPrivate", text, err)
				}
				if err := (source.Guard{AllowPrivate: true}).Check(addr); err != nil {
					t.Errorf("%s with AllowPrivate: %v", text, err)
				}
			}
		})
	}
}

// fakeDNS answers each question with the next of its answers and stays at the
// last; it speaks to a resolver over a pipe.
type fakeDNS struct {
	answers []netip.Addr
	asked   atomic.Int64
}

func (d *fakeDNS) resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		go d.serve(server)
		return client, nil
	}}
}

// serve speaks DNS over a stream: each message behind two bytes of length.
func (d *fakeDNS) serve(conn net.Conn) {
	defer conn.Close()
	for {
		length := make([]byte, 2)
		if _, err := io.ReadFull(conn, length); err != nil {
			return
		}
		question := make([]byte, int(length[0])<<8|int(length[1]))
		if _, err := io.ReadFull(conn, question); err != nil {
			return
		}
		answer := d.answer(question)
		if _, err := conn.Write(append([]byte{byte(len(answer) >> 8), byte(len(answer))}, answer...)); err != nil {
			return
		}
	}
}

func (d *fakeDNS) answer(question []byte) []byte {
	var message dnsmessage.Message
	if err := message.Unpack(question); err != nil {
		return nil
	}
	message.Response, message.Additionals = true, nil
	q := message.Questions[0]
	if q.Type == dnsmessage.TypeA {
		n := min(int(d.asked.Add(1)), len(d.answers)) - 1
		message.Answers = []dnsmessage.Resource{{
			Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class},
			Body:   &dnsmessage.AResource{A: d.answers[n].As4()},
		}}
	}
	packed, _ := message.Pack()
	return packed
}

// canary is a listener that must never be connected to.
func canary(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			t.Error("a private address was connected to")
			conn.Close()
		}
	}()
	t.Cleanup(func() {
		listener.Close()
		<-done
	})
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

func TestANameThatTurnsPrivateIsNotDialled(t *testing.T) {
	port := canary(t)
	dns := &fakeDNS{answers: []netip.Addr{netip.MustParseAddr("93.184.215.14"), netip.MustParseAddr("127.0.0.1")}}
	resolver := dns.resolver()
	guard := source.Guard{Resolver: resolver}

	// What a check before the call would see:
	addresses, err := resolver.LookupNetIP(t.Context(), "ip4", "rebind.example.com")
	if err != nil || len(addresses) != 1 || guard.Check(addresses[0]) != nil {
		t.Fatalf("first answer = %v, %v, want one public address", addresses, err)
	}
	// What the call itself meets:
	conn, err := guard.DialContext(t.Context(), "tcp", "rebind.example.com:"+port)
	if !errors.Is(err, source.ErrPrivate) {
		t.Fatalf("dial = %v, %v, want ErrPrivate", conn, err)
	}
}

func TestGuardDialsWhenPrivateIsAllowed(t *testing.T) {
	server, _ := origin(t, func(http.ResponseWriter, *http.Request) {})
	conn, err := source.Guard{AllowPrivate: true}.DialContext(t.Context(), "tcp", hostOf(t, server))
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
}

func TestAllowedHostsInPrivateNetworksAreRefused(t *testing.T) {
	port := canary(t)
	for _, host := range []string{"127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "[::1]", "0.0.0.0", "[::]", "127.1", "2130706433", "0x7f.1"} {
		t.Run(host, func(t *testing.T) {
			router := newRouter(t, source.Config{Allow: []string{host + ":" + port}, Retries: -1})
			_, _, err := read(t, router, "http://"+host+":"+port+"/a.jpg")
			var fault *media.Error
			if !errors.As(err, &fault) || (fault.Code != media.CodeSourceForbidden && fault.Code != media.CodeSourceFailed) {
				t.Errorf("error = %v", err)
			}
		})
	}
	router := newRouter(t, source.Config{Allow: []string{"127.0.0.1:" + port}})
	_, _, err := read(t, router, "http://127.0.0.1:"+port+"/a.jpg")
	wantCode(t, err, media.CodeSourceForbidden)
}

func TestProxiesOfTheEnvironmentAreNotUsed(t *testing.T) {
	proxy, _ := origin(t, func(http.ResponseWriter, *http.Request) { t.Error("the proxy was asked") })
	t.Setenv("HTTP_PROXY", proxy.URL)
	t.Setenv("http_proxy", proxy.URL)
	router := newRouter(t, source.Config{Allow: []string{"nowhere.invalid"}, Retries: -1, AllowPrivate: true})
	_, _, err := read(t, router, "http://nowhere.invalid/a.jpg")
	wantCode(t, err, media.CodeSourceFailed)
}
