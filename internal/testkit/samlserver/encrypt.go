package samlserver

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1" //nolint:gosec // the hash of the usual key transport, where it is safe
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"hash"
	"strings"
	"testing"

	"github.com/beevik/etree"
)

// The algorithms of XML Encryption that Encrypt knows.
const (
	AES128CBC = "http://www.w3.org/2001/04/xmlenc#aes128-cbc"
	AES256CBC = "http://www.w3.org/2001/04/xmlenc#aes256-cbc"
	AES128GCM = "http://www.w3.org/2009/xmlenc11#aes128-gcm"
	AES256GCM = "http://www.w3.org/2009/xmlenc11#aes256-gcm"

	RSAOAEPMGF1P = "http://www.w3.org/2001/04/xmlenc#rsa-oaep-mgf1p" // with SHA-1, as at Microsoft Entra ID
	RSAOAEP      = "http://www.w3.org/2009/xmlenc11#rsa-oaep"        // with SHA-256
)

const sha256Hash = `<ds:DigestMethod xmlns:ds="http://www.w3.org/2000/09/xmldsig#" Algorithm="http://www.w3.org/2001/04/xmlenc#sha256"/><xenc11:MGF xmlns:xenc11="http://www.w3.org/2009/xmlenc11#" Algorithm="http://www.w3.org/2009/xmlenc11#mgf1sha256"/>`

// Encrypt returns an assertion as an EncryptedAssertion for the owner of a key. Empty
// algorithms are AES256GCM and RSAOAEP; a key transport that it does not know is only
// claimed.
func Encrypt(t testing.TB, assertion *etree.Element, to *rsa.PublicKey, blockCipher, keyTransport string) *etree.Element {
	t.Helper()
	if blockCipher == "" {
		blockCipher = AES256GCM
	}
	if keyTransport == "" {
		keyTransport = RSAOAEP
	}
	document := etree.NewDocument()
	document.SetRoot(assertion.Copy())
	plain, err := document.WriteToBytes()
	if err != nil {
		t.Fatal(err)
	}
	key := make([]byte, 32)
	if strings.Contains(blockCipher, "128") {
		key = key[:16]
	}
	_, _ = rand.Read(key)                        // never fails
	hashing, method := hash.Hash(sha1.New()), "" //nolint:gosec // as above
	if keyTransport == RSAOAEP {
		hashing, method = sha256.New(), sha256Hash
	}
	wrapped, err := rsa.EncryptOAEP(hashing, rand.Reader, to, key, nil)
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf(`<saml:EncryptedAssertion xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion"><xenc:EncryptedData xmlns:xenc="http://www.w3.org/2001/04/xmlenc#" Type="http://www.w3.org/2001/04/xmlenc#Element"><xenc:EncryptionMethod Algorithm="%s"/><ds:KeyInfo xmlns:ds="http://www.w3.org/2000/09/xmldsig#"><xenc:EncryptedKey><xenc:EncryptionMethod Algorithm="%s">%s</xenc:EncryptionMethod><xenc:CipherData><xenc:CipherValue>%s</xenc:CipherValue></xenc:CipherData></xenc:EncryptedKey></ds:KeyInfo><xenc:CipherData><xenc:CipherValue>%s</xenc:CipherValue></xenc:CipherData></xenc:EncryptedData></saml:EncryptedAssertion>`,
		blockCipher, keyTransport, method, base64.StdEncoding.EncodeToString(wrapped), base64.StdEncoding.EncodeToString(encipher(t, key, plain, blockCipher)))
	out := etree.NewDocument()
	if err := out.ReadFromString(text); err != nil {
		t.Fatal(err)
	}
	return out.Root()
}

// encipher returns the nonce or initialization vector, and the encrypted text.
func encipher(t testing.TB, key, plain []byte, algorithm string) []byte {
	t.Helper()
	block, err := aes.NewCipher(key)
	if err != nil {
		t.Fatal(err)
	}
	if strings.HasSuffix(algorithm, "-gcm") {
		sealing, err := cipher.NewGCMWithRandomNonce(block)
		if err != nil {
			t.Fatal(err)
		}
		return sealing.Seal(nil, nil, plain, nil)
	}
	padding := make([]byte, aes.BlockSize-len(plain)%aes.BlockSize)
	padding[len(padding)-1] = byte(len(padding)) //nolint:gosec // at most a block of 16 bytes
	plain = append(plain, padding...)
	out := make([]byte, aes.BlockSize+len(plain))
	_, _ = rand.Read(out[:aes.BlockSize]) // never fails
	cipher.NewCBCEncrypter(block, out[:aes.BlockSize]).CryptBlocks(out[aes.BlockSize:], plain)
	return out
}
