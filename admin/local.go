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

// proxyPrefixes returns how the names of header fields begin that proxies, tunnels and load balancers add.
func proxyPrefixes() []string {
	return []string{
		"X-Forwarded", "X-Original-", "X-Proxy", "X-Envoy-", "X-Arr-", "X-Azure-", "X-Amz", "X-Appengine-", "X-Vercel-", "X-Nf-",
		"Cf-", "Fastly-", "Fly-", "Tailscale-",
	}
}

// proxyFields returns the names of other such fields.
func proxyFields() []string {
	return []string{
		"Forwarded", "Via", "X-Real-Ip", "X-Client-Ip", "X-Cluster-Client-Ip", "Client-Ip", "True-Client-Ip", "Do-Connecting-Ip", "Cdn-Loop", "Proxy-Connection", "X-Scheme",
		"X-Host", "X-Rewrite-Url", "X-Varnish", "X-Cloud-Trace-Context",
	}
}

// notLocal returns why a request may come from another machine, as a phrase that follows "this one", or "" if it comes from
// a program on this machine. A proxy on this machine that speaks HTTP/1.1, adds no header field and replaces the Host cannot
// be told from such a program, except when a browser says that the page has another host.
func notLocal(r *http.Request) string {
	if !isLoopback(r) {
		return "did not come over a loopback interface or a Unix socket"
	}
	if !r.ProtoAtLeast(1, 1) { // what nginx sends by default; browsers and HTTP libraries have not for decades
		return "has the version HTTP/1.0, as a proxy sends it"
	}
	prefixes, fields := proxyPrefixes(), proxyFields()
	for name := range r.Header {
		// A field without a value counts: the client may have sent it before the proxy added its own.
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

// isOriginOf reports whether an Origin header field is that of pages of the host, or empty.
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

// knowsHost reports whether the handler answers to the host of a request. Another site can make its own name point to this
// machine, and a browser then takes this server for that site; an address cannot be made to do so.
func (h *Handler) knowsHost(r *http.Request) bool {
	host := hostOf(r)
	return isOwnHost(r, host) || slices.ContainsFunc(h.config.Hosts, func(known string) bool { return strings.EqualFold(known, host) })
}

// hostOf returns the host that a request is for, without its port and the dot of a complete name.
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
	address = address.Unmap().WithZone("") // a zone is this machine's own name for an interface
	if address.IsLoopback() {
		return true
	}
	local, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	return ok && local.AddrPort().Addr().Unmap().WithZone("") == address
}
