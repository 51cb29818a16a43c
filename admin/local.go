package admin

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// proxyPrefixes returns the prefixes of header fields that proxies, tunnels and load balancers add.
func proxyPrefixes() []string {
	return []string{
		"X-Forwarded", "X-Original-", "X-Proxy", "X-Envoy-", "X-Arr-", "X-Azure-", "X-Amz", "X-Appengine-", "X-Vercel-", "X-Nf-",
		"Cf-", "Fastly-", "Fly-", "Tailscale-",
	}
}

// proxyFields returns the names of other fields that they add.
func proxyFields() []string {
	return []string{
		"Forwarded", "Via", "X-Real-Ip", "X-Client-Ip", "X-Cluster-Client-Ip", "Client-Ip", "True-Client-Ip", "Do-Connecting-Ip", "Cdn-Loop", "Proxy-Connection", "X-Scheme",
		"X-Host", "X-Rewrite-Url", "X-Varnish", "X-Cloud-Trace-Context",
	}
}

// notLocal returns the reason why a request may come from another machine, as a phrase that follows "this one", or "" for a request of a
// program on this machine. It takes a proxy on this machine for a program if the proxy speaks HTTP/1.1, adds no header field and replaces
// the Host, unless the Origin of a browser has another host.
func notLocal(r *http.Request) string {
	if !isLoopback(r) {
		return "did not come over a loopback interface or a Unix socket"
	}
	if !r.ProtoAtLeast(1, 1) { // nginx sends HTTP/1.0 by default; browsers and HTTP libraries do not
		return "has the version HTTP/1.0, as a proxy sends it"
	}
	prefixes, fields := proxyPrefixes(), proxyFields()
	for name := range r.Header {
		// A field without a value is enough: the client may have sent it before the proxy added its own.
		hasPrefix := func(prefix string) bool { return strings.HasPrefix(name, prefix) }
		if slices.ContainsFunc(prefixes, hasPrefix) || slices.Contains(fields, name) {
			return fmt.Sprintf("has the header field %s, which proxies add", name)
		}
	}
	if !isOwnHost(r, hostOf(r)) {
		return fmt.Sprintf("is for the host %q, as a proxy passes it on", r.Host)
	}
	if origin := r.Header.Get("Origin"); r.Header.Get("Sec-Fetch-Site") == "same-origin" && !isOriginOf(origin, r.Host) {
		return fmt.Sprintf("comes from a page of %s, but is for the host %q, as a proxy changes it", origin, r.Host)
	}
	return ""
}

// isOriginOf reports whether an Origin is empty, or the origin of the host's pages.
func isOriginOf(origin, host string) bool {
	parsed, err := url.Parse(origin)
	return origin == "" || err == nil && strings.EqualFold(parsed.Host, host)
}

// isLoopback reports whether the request came over a loopback interface or a Unix socket.
func isLoopback(r *http.Request) bool {
	switch local := r.Context().Value(http.LocalAddrContextKey).(type) {
	case *net.UnixAddr:
		return true
	case *net.TCPAddr:
		remote, err := netip.ParseAddrPort(r.RemoteAddr)
		return err == nil && local.IP.IsLoopback() && remote.Addr().Unmap().IsLoopback()
	}
	return false
}

// knowsHost reports whether the handler serves the host of a request. Another site can point its own name to this machine, and a browser
// then takes this server for that site. It cannot do so with an address.
func (h *Handler) knowsHost(r *http.Request) bool {
	host := hostOf(r)
	return isOwnHost(r, host) || slices.ContainsFunc(h.config.Hosts, func(known string) bool { return strings.EqualFold(known, host) })
}

// hostOf returns the host of a request without the port and without the dot of a complete name.
func hostOf(r *http.Request) string {
	host := r.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.TrimSuffix(strings.ToLower(host), ".")
}

// isOwnHost reports whether a host is localhost, a loopback address, or the address at which the request arrived.
func isOwnHost(r *http.Request, host string) bool {
	if host == "localhost" {
		return true
	}
	address, err := netip.ParseAddr(strings.Trim(host, "[]"))
	if err != nil {
		return false
	}
	address = address.Unmap().WithZone("") // a zone is the name of an interface on this machine
	if address.IsLoopback() {
		return true
	}
	local, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	return ok && local.AddrPort().Addr().Unmap().WithZone("") == address
}
