//go:build unix

package store

import (
	"crypto/tls"
	"syscall"

	"github.com/jackc/pgx/v5"
)

// quiet reports whether nothing has come from the server on a connection that nobody uses. A server that has stopped, or has ended
// the session, has closed the connection or sent why; looking costs one system call and no round trip.
func quiet(conn *pgx.Conn) bool {
	under := conn.PgConn().Conn()
	if secured, ok := under.(*tls.Conn); ok {
		under = secured.NetConn()
	}
	socket, ok := under.(syscall.Conn)
	if !ok {
		return true
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return false
	}
	nothing := false
	// Control and not Read: the driver may have left a read under way, for whose end Read would wait.
	err = raw.Control(func(fd uintptr) {
		var b [1]byte
		_, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		nothing = err == syscall.EAGAIN || err == syscall.EINTR
	})
	return err == nil && nothing
}
