#include "textflag.h"

// func dotWide(a *int8, b *int16, n int) int64
TEXT ·dotWide(SB), NOSPLIT, $0-32
	MOVQ a+0(FP), SI
	MOVQ b+8(FP), DI
	MOVQ n+16(FP), CX
	SHRQ $4, CX
	VPXOR Y0, Y0, Y0
	VPXOR Y1, Y1, Y1

pairs:
	CMPQ CX, $2
	JLT  single
	VPMOVSXBW (SI), Y2
	VPMADDWD  (DI), Y2, Y2
	VPADDD    Y2, Y0, Y0
	VPMOVSXBW 16(SI), Y3
	VPMADDWD  32(DI), Y3, Y3
	VPADDD    Y3, Y1, Y1
	ADDQ $32, SI
	ADDQ $64, DI
	SUBQ $2, CX
	JMP  pairs

single:
	TESTQ CX, CX
	JZ    sum
	VPMOVSXBW (SI), Y2
	VPMADDWD  (DI), Y2, Y2
	VPADDD    Y2, Y0, Y0

sum:
	// The eight sums fit in 32 bits each, but not together.
	VPADDD       Y1, Y0, Y0
	VEXTRACTI128 $1, Y0, X1
	VPMOVSXDQ    X0, Y2
	VPMOVSXDQ    X1, Y3
	VPADDQ       Y3, Y2, Y2
	VEXTRACTI128 $1, Y2, X3
	VPADDQ       X3, X2, X2
	VPSHUFD      $0x4e, X2, X3
	VPADDQ       X3, X2, X2
	MOVQ         X2, AX
	VZEROUPPER
	MOVQ AX, ret+24(FP)
	RET
