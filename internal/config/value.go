package config

import (
	"fmt"
	"math"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

// Networks is a list of address ranges: 10.0.0.0/8,::1,192.168.1.7.
type Networks []netip.Prefix

// UnmarshalText parses a comma-separated list of prefixes and addresses.
func (n *Networks) UnmarshalText(text []byte) error {
	*n = nil
	for part := range strings.SplitSeq(string(text), ",") {
		part = strings.TrimSpace(part)
		if part == "" {
			continue
		}
		prefix, err := netip.ParsePrefix(part)
		if err != nil {
			address, addressErr := netip.ParseAddr(part)
			if addressErr != nil || address.Zone() != "" {
				return fmt.Errorf("%q is not a network; write it as 10.0.0.0/8 or as an address", part)
			}
			prefix = netip.PrefixFrom(address, address.BitLen())
		}
		if prefix.Addr().Is4In6() && prefix.Bits() >= 96 {
			prefix = netip.PrefixFrom(prefix.Addr().Unmap(), prefix.Bits()-96)
		}
		*n = append(*n, prefix.Masked())
	}
	return nil
}

// Contain reports whether an address is in one of the networks. An IPv4-mapped
// address counts as IPv4.
func (n Networks) Contain(address netip.Addr) bool {
	address = address.Unmap().WithZone("") // zones never match a prefix
	for _, prefix := range n {
		if prefix.Contains(address) {
			return true
		}
	}
	return false
}

// Days is a duration: 90d or 2160h.
type Days time.Duration

// Duration returns the duration.
func (d Days) Duration() time.Duration { return time.Duration(d) }

// UnmarshalText parses a number of days, or a duration of package time.
func (d *Days) UnmarshalText(text []byte) error {
	const maxDays = math.MaxInt64 / int64(24*time.Hour)
	if number, found := strings.CutSuffix(string(text), "d"); found {
		days, err := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
		if err == nil && days >= 0 && days <= maxDays {
			*d = Days(time.Duration(days) * 24 * time.Hour)
			return nil
		}
	} else if length, err := time.ParseDuration(string(text)); err == nil && length >= 0 {
		*d = Days(length)
		return nil
	}
	return fmt.Errorf("%q is not a length of time; write it as 90d or as 2160h", text)
}

// Bytes is a size: 1048576, 64MiB or 64MB.
type Bytes int64

var units = []struct {
	suffix string
	factor int64
}{
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30},
	{"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"B", 1},
}

// UnmarshalText parses a number of bytes with or without a unit.
func (b *Bytes) UnmarshalText(text []byte) error {
	number, factor := strings.TrimSpace(string(text)), int64(1)
	for _, unit := range units {
		if rest, found := strings.CutSuffix(number, unit.suffix); found {
			number, factor = strings.TrimSpace(rest), unit.factor
			break
		}
	}
	count, err := strconv.ParseInt(number, 10, 64)
	if err != nil || count < 0 || count > math.MaxInt64/factor {
		return fmt.Errorf("%q is not a size; write it as 64MiB or as a number of bytes", text)
	}
	*b = Bytes(count * factor)
	return nil
}
