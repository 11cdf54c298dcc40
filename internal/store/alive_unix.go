//go:build unix

package store

import (
	"crypto/tls"
	"syscall"

	"github.com/jackc/pgx/v5"
)

// isQuiet reports whether the server has sent nothing on an idle connection. A
// server that has stopped or ended the session has closed the connection or sent a
// reason. The check costs a system call and no round trip.
func isQuiet(conn *pgx.Conn) bool {
	base := conn.PgConn().Conn()
	if secured, ok := base.(*tls.Conn); ok {
		base = secured.NetConn()
	}
	socket, ok := base.(syscall.Conn)
	if !ok {
		return true
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return false
	}
	nothing := false
	// Control, because Read would wait for a read of the driver that still runs.
	err = raw.Control(func(fd uintptr) {
		var b [1]byte
		_, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		nothing = err == syscall.EAGAIN || err == syscall.EINTR
	})
	return err == nil && nothing
}
