package api

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"
)

const originHeader = "Origin"

// refuseForeign keeps out pages of other hosts where only this host reaches the
// listener and nobody asks who calls. A browser on this host does reach it, and a
// page whose name leads to 127.0.0.1 all of a sudden (DNS rebinding) may read what it
// gets: only the name tells, which the browser sends in Host and Origin.
func (s *server) refuseForeign(next http.Handler) http.Handler {
	if !s.localOnly {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if p := checkLocal(r, s.origins); p != nil {
			s.finish(&exchange{w: w, r: r, ctx: r.Context(), begun: time.Now()}, p)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// checkLocal returns a problem where the request is for another name than those of
// this host, or of a page of another host that is none of the origins.
func checkLocal(r *http.Request, origins []string) *problem {
	// Every browser sends a Host; probes by HTTP/1.0 need not.
	if r.Host != "" && !isLocalHost(r.Host) {
		return newProblem(codeHostNotAllowed, "nothing was done: nobody asks who calls here, so that only names and addresses of loopback are answered; "+
			"call localhost or 127.0.0.1, or have the operator switch on access control, or start the gateway with --insecure")
	}
	for _, origin := range r.Header[originHeader] {
		if !isLocalOrigin(origin) && !isNamedOrigin(origin, origins) {
			return newProblem(codeOriginNotAllowed, "nothing was done: nobody asks who calls here, so that pages of other hosts may not; "+
				"have the operator name the page's origin in --cors-origins, switch on access control, or start the gateway with --insecure")
		}
	}
	return nil
}

// checkCertificateOrigin is for requests that nothing vouches for but the
// certificate of the connection, which a browser shows for pages of any origin that
// ask it to. It returns a problem where the page is of another origin than the
// gateway and none of the origins; "*" is not enough.
func checkCertificateOrigin(r *http.Request, origins []string) error {
	for _, origin := range r.Header[originHeader] {
		if _, host, _ := strings.Cut(origin, "://"); !strings.EqualFold(host, r.Host) && !isNamedOrigin(origin, origins) {
			return newProblem(codeOriginNotAllowed, "nothing was done: a client certificate alone does not let pages of other hosts call; "+
				"send a key or token, or have the operator name the page's origin in --cors-origins")
		}
	}
	return nil
}

func isNamedOrigin(origin string, origins []string) bool {
	return slices.ContainsFunc(origins, func(named string) bool { return strings.EqualFold(named, origin) })
}

// isLocalOrigin is false for null, which sandboxed pages and files have.
func isLocalOrigin(origin string) bool {
	scheme, address, _ := strings.Cut(origin, "://")
	return (scheme == "http" || scheme == "https") && isLocalHost(address)
}

// isLocalHost tells whether a host, with or without a port, is this one by any name
// that browsers never ask DNS for: localhost, those below it (RFC 6761), and addresses
// of loopback.
func isLocalHost(address string) bool {
	host := strings.TrimSuffix(hostOf(address), ".")
	const local = "localhost"
	if below := len(host) - len(local); below >= 0 && strings.EqualFold(host[below:], local) {
		return below == 0 || below > 1 && host[below-1] == '.'
	}
	if host == "" || host[0] != ':' && (host[0] < '0' || host[0] > '9') {
		return false // no address of loopback begins so
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// hostOf is an address without its port and the brackets of IPv6.
func hostOf(address string) string {
	if rest, ok := strings.CutPrefix(address, "["); ok {
		host, _, _ := strings.Cut(rest, "]")
		return host
	}
	host, port, _ := strings.Cut(address, ":")
	if strings.Contains(port, ":") {
		return address // IPv6 without brackets
	}
	return host
}
