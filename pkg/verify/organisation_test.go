package verify_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net/url"
	"time"
)

// organisation is a private certificate authority: a root and an issuing certificate below it.
type organisation struct {
	now           time.Time
	root, issuing certified
}

type certified struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newOrganisation(now time.Time, bend func(issuing *x509.Certificate)) organisation {
	o := organisation{now: now}
	o.root = certified{}.issue(o.authority("Acme root"))
	o.issuing = o.below("Acme code signing", bend)
	return o
}

func (o organisation) authority(name string) *x509.Certificate {
	return &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, NotBefore: o.now.Add(-365 * day), NotAfter: o.now.Add(10 * 365 * day),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}
}

// below is another authority of the same root.
func (o organisation) below(name string, bend func(*x509.Certificate)) certified {
	template := o.authority(name)
	if bend != nil {
		bend(template)
	}
	return o.root.issue(template)
}

// issue makes a key and a certificate for it. Without a certificate of its own it makes a
// self-signed one.
func (c certified) issue(template *x509.Certificate) certified {
	key := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	if c.cert == nil {
		c = certified{template, key}
	}
	return certified{must(x509.ParseCertificate(c.certify(template, key))), key}
}

func (c certified) certify(template *x509.Certificate, key *ecdsa.PrivateKey) []byte {
	template.SerialNumber = must(rand.Int(rand.Reader, big.NewInt(1<<62)))
	return must(x509.CreateCertificate(rand.Reader, template, c.cert, key.Public(), c.key))
}

// pem returns the chain in the form of a trust policy.
func (o organisation) pem() string {
	var text []byte
	for _, cert := range []*x509.Certificate{o.issuing.cert, o.root.cert} {
		text = append(text, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Raw})...)
	}
	return string(text)
}

// leaf returns a signing certificate for the mail address or URI, valid for a day.
func (o organisation) leaf(name string, bend func(*x509.Certificate)) *x509.Certificate {
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: "somebody"}, NotBefore: o.now.Add(-day / 2), NotAfter: o.now.Add(day / 2),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageCodeSigning},
	}
	if u := must(url.Parse(name)); u.Scheme != "" {
		template.URIs = []*url.URL{u}
	} else {
		template.EmailAddresses = []string{name}
	}
	if bend != nil {
		bend(template)
	}
	return template
}

// ofAYear changes a leaf to a validity of a year.
func (o organisation) ofAYear(template *x509.Certificate) {
	template.NotBefore, template.NotAfter = o.now.Add(-100*day), o.now.Add(265*day)
}

// by returns a set by the organisation's signer of that name.
func (o organisation) by(name string) set { return o.issued(name, nil) }

func (o organisation) issued(name string, bend func(*x509.Certificate)) set {
	return issuedBy(o.issuing, o.leaf(name, bend))
}

func issuedBy(issuer certified, template *x509.Certificate) set {
	return set{certificate: func(key *ecdsa.PrivateKey) []byte { return issuer.certify(template, key) }}
}

// bent returns the set with a change, such as the time in the log.
func (s set) bent(bend func(*set)) set {
	bend(&s)
	return s
}
