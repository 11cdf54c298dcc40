package tdsserver

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"time"
	"unicode/utf16"
)

// Types of packets.
const (
	packetBatch     = 0x01
	packetRPC       = 0x03
	packetReply     = 0x04
	packetAttention = 0x06
	packetLogin     = 0x10
	packetPrelogin  = 0x12

	packetHeader = 8
	packetSize   = 4096
	statusEnd    = 0x01
)

// readMessage reads the packets of a message.
func readMessage(r io.Reader) (kind byte, body []byte, err error) {
	for {
		var header [packetHeader]byte
		if _, err := io.ReadFull(r, header[:]); err != nil {
			return 0, nil, err
		}
		length := int(binary.BigEndian.Uint16(header[2:]))
		if length < packetHeader {
			return 0, nil, fmt.Errorf("a packet of %d bytes", length)
		}
		part := make([]byte, length-packetHeader)
		if _, err := io.ReadFull(r, part); err != nil {
			return 0, nil, err
		}
		kind, body = header[0], append(body, part...)
		if header[1]&statusEnd != 0 {
			return kind, body, nil
		}
	}
}

// writeMessage writes a message in packets.
func writeMessage(w io.Writer, kind byte, body []byte) error {
	const most = packetSize - packetHeader
	for id := byte(1); ; id++ {
		part := body[:min(len(body), most)]
		body = body[len(part):]
		packet := make([]byte, packetHeader, packetHeader+len(part))
		packet[0], packet[6] = kind, id
		if len(body) == 0 {
			packet[1] = statusEnd
		}
		binary.BigEndian.PutUint16(packet[2:], uint16(packetHeader+len(part))) //nolint:gosec // at most 4096
		if _, err := w.Write(append(packet, part...)); err != nil {
			return err
		}
		if len(body) == 0 {
			return nil
		}
	}
}

// A handshakeConn carries the handshake of TLS in packets of the type PRELOGIN,
// and after it bytes as they are.
type handshakeConn struct {
	net.Conn
	wrapped bool
	unread  []byte
}

// Read implements net.Conn.
func (c *handshakeConn) Read(p []byte) (int, error) {
	if len(c.unread) == 0 {
		if !c.wrapped {
			return c.Conn.Read(p)
		}
		_, body, err := readMessage(c.Conn)
		if err != nil {
			return 0, err
		}
		c.unread = body
	}
	n := copy(p, c.unread)
	c.unread = c.unread[n:]
	return n, nil
}

// Write implements net.Conn.
func (c *handshakeConn) Write(p []byte) (int, error) {
	if !c.wrapped {
		return c.Conn.Write(p)
	}
	if err := writeMessage(c.Conn, packetPrelogin, p); err != nil {
		return 0, err
	}
	return len(p), nil
}

// SetDeadline implements net.Conn.
func (c *handshakeConn) SetDeadline(t time.Time) error { return c.Conn.SetDeadline(t) }

func encodeUTF16(text string) []byte {
	var out []byte
	for _, unit := range utf16.Encode([]rune(text)) {
		out = binary.LittleEndian.AppendUint16(out, unit)
	}
	return out
}

func decodeUTF16(raw []byte) string {
	units := make([]uint16, len(raw)/2)
	for i := range units {
		units[i] = binary.LittleEndian.Uint16(raw[2*i:])
	}
	return string(utf16.Decode(units))
}
