package webhook

import (
	"fmt"
	"net/netip"
	"syscall"
)

// onlyPublic refuses connections to addresses that are not public: the receiver chose the address, not the operator.
func onlyPublic(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	if !isPublic(at.Addr()) {
		return notPublicError{at.Addr()}
	}
	return nil
}

// notPublicError is the error of a redirect to an address that is not public.
type notPublicError struct{ at netip.Addr }

func (e notPublicError) Error() string {
	return fmt.Sprintf("it redirects to the address %s, which is not public: allow it with --post-private", e.at)
}

// specialBlocks holds the blocks without public hosts, and those whose addresses contain an IPv4 address, that package netip does not know:
// RFC 6890, and 64:ff9b::/96 of RFC 6052.
var specialBlocks = [...]string{
	"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4",
	"64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20",
}

func isPublic(at netip.Addr) bool {
	at = at.Unmap()
	if !at.IsGlobalUnicast() || at.IsPrivate() || at.IsLoopback() || at.IsLinkLocalUnicast() {
		return false
	}
	if at.Is6() && !netip.MustParsePrefix("2000::/3").Contains(at.WithZone("")) {
		return false // RFC 4291 assigns no hosts there
	}
	for _, block := range specialBlocks {
		if netip.MustParsePrefix(block).Contains(at.WithZone("")) {
			return false
		}
	}
	return true
}
