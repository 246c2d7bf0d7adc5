package source

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"
	"time"
)

// ErrPrivate means that a name or address leads into a network that is not
// public.
var ErrPrivate = errors.New("address is not public")

// Guard dials public addresses only. It looks at the address of each single
// connection attempt, after name resolution, so a name that changes its
// answer between a check and the call gains nothing. Its zero value is the
// strict one.
type Guard struct {
	// AllowPrivate switches the check off.
	AllowPrivate bool
	// Timeout bounds resolving and connecting; 0 is none.
	Timeout time.Duration
	// Resolver is net.DefaultResolver when nil.
	Resolver *net.Resolver
}

// DialContext is for http.Transport and its like. No connection attempt is
// made to an address that Check refuses; the error then wraps ErrPrivate.
func (g Guard) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	dialer := net.Dialer{Timeout: g.Timeout, Resolver: g.Resolver, Control: g.control}
	conn, err := dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, fmt.Errorf("dial source: %w", err)
	}
	return conn, nil
}

// control runs for every socket between its creation and its connect.
func (g Guard) control(network, address string, _ syscall.RawConn) error {
	if network != "tcp4" && network != "tcp6" {
		return fmt.Errorf("network %s: %w", network, ErrPrivate)
	}
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("address of connection: %w", ErrPrivate)
	}
	return g.Check(at.Addr())
}

// Check refuses addresses that are not public, with an error that wraps
// ErrPrivate.
func (g Guard) Check(addr netip.Addr) error {
	if g.AllowPrivate || isPublic(addr) {
		return nil
	}
	return fmt.Errorf("%s: %w", addr, ErrPrivate)
}

// refused4 is what IPv4 is not public: the special-purpose registry of RFC
// 6890 and its updates, multicast and the reserved block.
var refused4 = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),        // this network
	netip.MustParsePrefix("10.0.0.0/8"),       // private
	netip.MustParsePrefix("100.64.0.0/10"),    // carrier-grade NAT, and one cloud's metadata
	netip.MustParsePrefix("127.0.0.0/8"),      // loopback
	netip.MustParsePrefix("168.63.129.16/32"), // Azure's platform address, reachable from every machine there
	netip.MustParsePrefix("169.254.0.0/16"),   // link-local, and most clouds' metadata
	netip.MustParsePrefix("172.16.0.0/12"),    // private
	netip.MustParsePrefix("192.0.0.0/24"),     // protocol assignments, and one cloud's metadata
	netip.MustParsePrefix("192.0.2.0/24"),     // documentation
	netip.MustParsePrefix("192.88.99.0/24"),   // 6to4 relays
	netip.MustParsePrefix("192.168.0.0/16"),   // private
	netip.MustParsePrefix("198.18.0.0/15"),    // benchmarks
	netip.MustParsePrefix("198.51.100.0/24"),  // documentation
	netip.MustParsePrefix("203.0.113.0/24"),   // documentation
	netip.MustParsePrefix("224.0.0.0/4"),      // multicast
	netip.MustParsePrefix("240.0.0.0/4"),      // reserved, and broadcast
}

// refused6 is what is not public inside 2000::/3, the global unicast space.
var refused6 = []netip.Prefix{
	netip.MustParsePrefix("2001::/23"),     // protocol assignments; Teredo hides an IPv4 address
	netip.MustParsePrefix("2001:db8::/32"), // documentation
	netip.MustParsePrefix("3fff::/20"),     // documentation
}

// embedding is an IPv6 range whose addresses lead to the IPv4 address that
// begins at a byte of theirs.
type embedding struct {
	prefix netip.Prefix
	at     int
}

var embeddings = []embedding{
	{netip.MustParsePrefix("64:ff9b::/96"), 12}, // NAT64, RFC 6052
	{netip.MustParsePrefix("2002::/16"), 2},     // 6to4, RFC 3056
}

func isPublic(addr netip.Addr) bool {
	addr = addr.Unmap().WithZone("")
	switch {
	case !addr.IsValid():
		return false
	case addr.Is4():
		return !within(refused4, addr)
	}
	bytes := addr.As16()
	for _, e := range embeddings {
		if e.prefix.Contains(addr) {
			return isPublic(netip.AddrFrom4([4]byte(bytes[e.at : e.at+4])))
		}
	}
	isGlobalUnicast := bytes[0]>>5 == 1
	return isGlobalUnicast && !within(refused6, addr)
}

func within(list []netip.Prefix, addr netip.Addr) bool {
	for _, prefix := range list {
		if prefix.Contains(addr) {
			return true
		}
	}
	return false
}
