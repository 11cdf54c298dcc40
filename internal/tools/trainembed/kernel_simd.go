//go:build goexperiment.simd && amd64

package main

import "simd/archsimd"

func dot(a, b []float32) float32 {
	var s, t archsimd.Float32x8
	b = b[:len(a)]
	i := 0
	for ; i+16 <= len(a); i += 16 {
		s = archsimd.LoadFloat32x8Slice(a[i:]).MulAdd(archsimd.LoadFloat32x8Slice(b[i:]), s)
		t = archsimd.LoadFloat32x8Slice(a[i+8:]).MulAdd(archsimd.LoadFloat32x8Slice(b[i+8:]), t)
	}
	var sums [8]float32
	s.Add(t).Store(&sums)
	sum := float32(0)
	for _, value := range sums {
		sum += value
	}
	for ; i < len(a); i++ {
		sum += a[i] * b[i]
	}
	return sum
}

// axpy adds factor times x to y.
func axpy(y []float32, factor float32, x []float32) {
	x = x[:len(y)]
	f := archsimd.BroadcastFloat32x8(factor)
	i := 0
	for ; i+8 <= len(y); i += 8 {
		archsimd.LoadFloat32x8Slice(x[i:]).MulAdd(f, archsimd.LoadFloat32x8Slice(y[i:])).StoreSlice(y[i:])
	}
	for ; i < len(y); i++ {
		y[i] += factor * x[i]
	}
}
