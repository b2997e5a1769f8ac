package program

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/ndbgate/ndbgate/access"
	"github.com/ndbgate/ndbgate/store/sqlstore"
)

// Pages of the help with the settings of this file.
const (
	accessTopic = "access"
	tlsTopic    = "tls"
)

// accessConfig says who may call, and how connections are secured.
type accessConfig struct {
	KeysFile     string
	JWKS         string // a file or a URL
	JWTIssuer    string
	JWTAudience  string
	CORSOrigins  []string
	Insecure     bool // everybody who reaches the gateway may call
	TLSCert      string
	TLSKey       string
	ClientCA     string
	ClientScopes access.Scopes // of certificates that ClientCA has signed
	SQLTLS       sqlstore.TLSMode
	SQLCA        string
}

// asksWhoCalls tells whether there is access control.
func (c *accessConfig) asksWhoCalls() bool {
	return c.KeysFile != "" || c.JWKS != "" || c.ClientCA != ""
}

// onlyKeys tells whether callers have nothing but API keys.
func (c *accessConfig) onlyKeys() bool {
	return c.KeysFile != "" && c.JWKS == "" && c.ClientCA == ""
}

func accessSettings() []setting {
	return []setting{
		ofTopic(accessTopic, fileOf("api-keys", "file of API keys; see gateway keys", "a readable file",
			func(c *Config) *string { return &c.KeysFile }, nil)),
		ofTopic(accessTopic, neverShown(text("jwt-jwks", "", "public keys of tokens: file or https URL", "a file, or a URL with https, or with http on this host",
			func(c *Config) *string { return &c.JWKS }, checkJWT))),
		ofTopic(accessTopic, text("jwt-issuer", "", "who makes the tokens (iss)", "what tokens have as iss, with jwt-jwks",
			func(c *Config) *string { return &c.JWTIssuer }, func(c *Config) error { return checkNotBlank(c.JWTIssuer) })),
		ofTopic(accessTopic, text("jwt-audience", "", "for whom they are (aud)", "what tokens have in aud, with jwt-jwks",
			func(c *Config) *string { return &c.JWTAudience }, func(c *Config) error { return checkNotBlank(c.JWTAudience) })),
		corsOrigins(),
		insecure(),

		ofTopic(tlsTopic, fileOf("tls-cert", "certificate chain (PEM)", "a readable file, with tls-key",
			func(c *Config) *string { return &c.TLSCert }, checkTLS)),
		ofTopic(tlsTopic, fileOf("tls-key", "its private key (PEM)", "a readable file, with tls-cert",
			func(c *Config) *string { return &c.TLSKey }, nil)),
		ofTopic(tlsTopic, fileOf("tls-client-ca", "CAs whose client certificates may call", "a readable file of certificates (PEM), with tls-cert",
			func(c *Config) *string { return &c.ClientCA }, checkClientCA)),
		clientScopes(),
		sqlTLS(),
		ofTopic(tlsTopic, fileOf("sql-tls-ca", "CAs of the SQL nodes [those of the system]", "a readable file of certificates (PEM)",
			func(c *Config) *string { return &c.SQLCA }, nil)),
	}
}

func ofTopic(topic string, s setting) setting {
	s.topic = topic
	return s
}

func fileOf(name, help, want string, field func(*Config) *string, check func(*Config) error) setting {
	s := text(name, "", help, want, field, check)
	s.file = true
	return s
}

// neverShown is for values that may hold a secret, as the query of a URL.
func neverShown(s setting) setting {
	s.secret = true
	return s
}

func checkJWT(c *Config) error {
	given := []string{c.JWKS, c.JWTIssuer, c.JWTAudience}
	if missing := slices.Contains(given, ""); missing && strings.Join(given, "") != "" {
		return errors.New("jwt-jwks, jwt-issuer and jwt-audience go together")
	}
	if c.JWKS == "" {
		return nil
	}
	tokens := access.TokensConfig{Source: c.JWKS, Issuer: c.JWTIssuer, Audience: c.JWTAudience}
	return tokens.Validate()
}

// checkNotBlank refuses what looks set and matches nothing.
func checkNotBlank(text string) error {
	if text != "" && strings.TrimSpace(text) == "" {
		return errors.New("it is blank")
	}
	return nil
}

func checkTLS(c *Config) error {
	if (c.TLSCert == "") != (c.TLSKey == "") {
		return errors.New("tls-cert and tls-key go together")
	}
	return nil
}

func checkClientCA(c *Config) error {
	if c.ClientCA != "" && c.TLSCert == "" {
		return errors.New("client certificates need tls-cert and tls-key")
	}
	return nil
}

func clientScopes() setting {
	return setting{
		topic: tlsTopic, name: "tls-client-scopes", fallback: "read,write", help: "what they may do",
		want: "read, write and admin, or some of them, with commas between them", list: ",", types: []string{yamlText},
		parse: func(c *Config, value string) error {
			scopes, err := access.ParseScopes(value)
			if err != nil {
				return errWant
			}
			c.ClientScopes = scopes
			return nil
		},
		show: func(c *Config) string { return c.ClientScopes.String() },
	}
}

// sqlTLS names the modes of MySQL's own clients (--ssl-mode).
func sqlTLS() setting {
	var words []string
	for _, mode := range sqlstore.TLSModes() {
		words = append(words, string(mode))
	}
	return setting{
		topic: tlsTopic, name: "sql-tls", fallback: string(sqlstore.TLSAuto), help: "TLS to SQL nodes",
		want: strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1], words: words, types: []string{yamlText},
		parse: func(c *Config, value string) error {
			if !slices.Contains(words, value) {
				return errWant
			}
			c.SQLTLS = sqlstore.TLSMode(value)
			return nil
		},
		show: func(c *Config) string { return string(c.SQLTLS) },
	}
}

func corsOrigins() setting {
	return setting{
		topic: accessTopic, name: "cors-origins", help: "origins whose pages may call",
		want: "origins such as https://app.example.com with commas between them, or * where there is access control",
		list: ",", types: []string{yamlText},
		parse: func(c *Config, value string) error {
			c.CORSOrigins = nil
			if strings.TrimSpace(value) == "" {
				return nil
			}
			for part := range strings.SplitSeq(value, ",") {
				c.CORSOrigins = append(c.CORSOrigins, strings.TrimSpace(part))
			}
			return nil
		},
		show: func(c *Config) string { return strings.Join(c.CORSOrigins, ",") },
		check: func(c *Config) error {
			for _, origin := range c.CORSOrigins {
				if origin == "*" && !c.asksWhoCalls() {
					// Browsers reach what is on loopback.
					return errors.New("without access control every page that somebody looks at could read all rows")
				}
				if origin != "*" && !isOrigin(origin) {
					return errWant
				}
			}
			return nil
		},
	}
}

func isOrigin(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.Scheme+"://"+u.Host == text && !strings.Contains(text, "*")
}

func insecure() setting {
	return setting{
		topic: accessTopic, name: "insecure", fallback: "false", help: "let everybody call who reaches the gateway",
		want: "true or false", types: []string{yamlBool}, alone: true,
		parse: func(c *Config, value string) (err error) {
			if c.Insecure, err = strconv.ParseBool(value); err != nil {
				return errWant
			}
			return nil
		},
		show: func(c *Config) string { return strconv.FormatBool(c.Insecure) },
	}
}

// checkReach names the listeners that others than this host reach while nobody
// asks who calls.
func (c *Config) checkReach() []string {
	if c.asksWhoCalls() || c.Insecure {
		return nil
	}
	var problems []string
	for _, l := range []struct{ name, address, harm string }{
		{"listen", c.Listen, "read and write all rows"},
		{"admin-listen", c.AdminListen, "see metrics and profiles"},
	} {
		if checkListen(l.address) == nil && !onLoopback(l.address) {
			problems = append(problems, fmt.Sprintf("%s %s (%s): it is not on loopback, so that others could %s: "+
				"set api-keys, jwt-jwks or tls-client-ca, or insecure where something else decides who may call",
				l.name, quoteHarmless(l.address), c.origin(l.name), l.harm))
		}
	}
	return problems
}

// onLoopback tells whether only this host reaches an address.
func onLoopback(address string) bool {
	host, _, _ := net.SplitHostPort(address) // it was checked
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
