package webhook

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"
)

// The example of the specification.
func TestSignature(t *testing.T) {
	secrets, err := ParseSecrets("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	if err != nil {
		t.Fatal(err)
	}
	have := signature(secrets, "msg_p5jXN8AQM9LWM0D4loKWxJek", time.Unix(1614265330, 0), []byte(`{"test": 2432232314}`))
	const one = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
	if have != one+" "+one {
		t.Errorf("the signature is %s", have)
	}
}

func TestPublicAddresses(t *testing.T) {
	for text, want := range map[string]bool{
		"93.184.216.34": true, "2606:4700::1111": true, "::ffff:93.184.216.34": true,
		"127.0.0.1": false, "127.9.9.9": false, "0.0.0.0": false, "10.1.2.3": false, "172.16.0.1": false, "192.168.1.1": false, "169.254.169.254": false,
		"100.64.0.1": false, "192.0.0.192": false, "198.18.0.1": false, "224.0.0.1": false, "255.255.255.255": false,
		"::": false, "::1": false, "fe80::1": false, "fe80::1%eth0": false, "fc00::1": false, "fd00:ec2::254": false, "ff02::1": false,
		"::ffff:127.0.0.1": false, "::ffff:169.254.169.254": false, "64:ff9b::7f00:1": false, "2002:7f00:1::": false, "2001:db8::1": false, "fec0::1": false, "::7f00:1": false, "3fff::1": false, "5f00::1": false, "2a00:1450::1": true,
	} {
		if have := isPublic(netip.MustParseAddr(text)); have != want {
			t.Errorf("%s is public: %v", text, have)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		status int
		header string
		want   time.Duration
		asked  bool
	}{
		{429, "120", 2 * time.Minute, true}, {503, " 7 ", 7 * time.Second, true}, {429, "0", time.Second, true},
		{503, "Fri, 27 Nov 2026 12:01:00 GMT", time.Minute, true}, {503, "Fri, 27 Nov 2026 11:00:00 GMT", time.Second, true},
		{429, "999999999", maxRetryAfter, true}, {503, "Fri, 27 Nov 2099 11:00:00 GMT", maxRetryAfter, true},
		{429, "9999999999", maxRetryAfter, true}, {429, "1.5", 2 * time.Second, true}, {503, "0.2", time.Second, true}, {429, "86400.5", maxRetryAfter, true},
		{503, strings.Repeat("9", 400), maxRetryAfter, true},
		{429, "", 0, false}, {429, "soon", 0, false}, {429, "-1", 0, false}, {429, "1e3", 0, false}, {429, "0x1p3", 0, false}, {429, "inf", 0, false}, {429, "1.", 0, false}, {500, "120", 0, false}, {200, "120", 0, false},
	} {
		answer := &http.Response{StatusCode: c.status, Header: http.Header{"Retry-After": {c.header}}}
		if have, asked := RetryAfter(answer, now); have != c.want || asked != c.asked {
			t.Errorf("%d with %q: %s, %v", c.status, c.header, have, asked)
		}
	}
}
