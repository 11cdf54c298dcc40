package tdsserver

import (
	"crypto/tls"
	"encoding/binary"
	"errors"
	"net"
)

// An Encryption says how a server encrypts.
type Encryption byte

// The modes of encryption.
const (
	LoginOnly    Encryption = 0 // only the login is encrypted, if the client does not want more
	Supported    Encryption = 1 // the whole connection is encrypted
	NotSupported Encryption = 2
)

// A Login is the login of a client.
type Login struct{ User, Password, Database, Application string }

// Options of PRELOGIN.
const (
	preloginVersion    = 0
	preloginEncryption = 1
	preloginInstance   = 2
	preloginThread     = 3
	preloginMARS       = 4
	preloginEnd        = 0xFF
)

// prelogin answers PRELOGIN, and makes the handshake of TLS. login is the
// connection of the login, and session that of everything behind it.
func (s *Server) prelogin(conn net.Conn) (login, session net.Conn, err error) {
	kind, body, err := readMessage(conn)
	if err != nil {
		return nil, nil, err
	}
	if kind != packetPrelogin {
		return nil, nil, errors.New("the first packet is no PRELOGIN")
	}
	wanted := preloginOption(body, preloginEncryption)
	if len(wanted) != 1 {
		return nil, nil, errors.New("PRELOGIN has no encryption")
	}
	mode := s.encryption
	const required = 3
	if mode == LoginOnly && (wanted[0] == byte(Supported) || wanted[0] == required) {
		mode = Supported
	}
	if err := writeMessage(conn, packetReply, preloginReply(byte(mode))); err != nil {
		return nil, nil, err
	}
	if mode == NotSupported || mode == LoginOnly && wanted[0] == byte(NotSupported) {
		return conn, conn, nil
	}
	carrier := &handshakeConn{Conn: conn, wrapped: true}
	encrypted := tls.Server(carrier, s.tls)
	if err := encrypted.HandshakeContext(s.handshakes); err != nil {
		return nil, nil, err
	}
	carrier.wrapped = false
	if mode == LoginOnly {
		return encrypted, conn, nil
	}
	return encrypted, encrypted, nil
}

// preloginOption returns the data of an option, nil for none.
func preloginOption(body []byte, option byte) []byte {
	const size = 5
	for i := 0; i+size <= len(body) && body[i] != preloginEnd; i += size {
		start, length := int(binary.BigEndian.Uint16(body[i+1:])), int(binary.BigEndian.Uint16(body[i+3:]))
		if body[i] == option && start+length <= len(body) {
			return body[start : start+length]
		}
	}
	return nil
}

func preloginReply(encryption byte) []byte {
	options := []struct {
		option byte
		data   []byte
	}{{preloginVersion, []byte{16, 0, 4, 33, 0, 0}}, {preloginEncryption, []byte{encryption}}, {preloginInstance, []byte{0}}, {preloginThread, nil}, {preloginMARS, []byte{0}}}
	const size = 5
	var head, data []byte
	for _, o := range options {
		head = append(head, o.option)
		head = binary.BigEndian.AppendUint16(head, uint16(size*len(options)+1+len(data))) //nolint:gosec // small
		head = binary.BigEndian.AppendUint16(head, uint16(len(o.data)))                   //nolint:gosec // small
		data = append(data, o.data...)
	}
	return append(append(head, preloginEnd), data...)
}

// parseLogin parses LOGIN7.
func parseLogin(body []byte) (Login, error) {
	const fixed = 94
	if len(body) < fixed {
		return Login{}, errors.New("LOGIN7 is too short")
	}
	field := func(at int) []byte {
		start, length := int(binary.LittleEndian.Uint16(body[at:])), 2*int(binary.LittleEndian.Uint16(body[at+2:]))
		if start+length > len(body) {
			return nil
		}
		return body[start : start+length]
	}
	password := append([]byte{}, field(44)...)
	for i, b := range password {
		b ^= 0xA5
		password[i] = b<<4 | b>>4
	}
	return Login{User: decodeUTF16(field(40)), Password: decodeUTF16(password), Application: decodeUTF16(field(48)), Database: decodeUTF16(field(68))}, nil
}
