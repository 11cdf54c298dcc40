#include "textflag.h"

// func dotAVX2(a *int8, b *int16, n int) int64
TEXT ·dotAVX2(SB), NOSPLIT, $0-32
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
	// Each of the eight sums fits in 32 bits, but not their total.
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

// func hammingPOPCNT(out *uint16, codes, code *uint64, words, n int)
TEXT ·hammingPOPCNT(SB), NOSPLIT, $0-40
	MOVQ out+0(FP), DI
	MOVQ codes+8(FP), SI
	MOVQ code+16(FP), DX
	MOVQ words+24(FP), BX
	MOVQ n+32(FP), CX

next:
	XORQ R8, R8
	XORQ R9, R9
	XORQ R10, R10

four:
	MOVQ (SI)(R8*8), R11
	MOVQ 8(SI)(R8*8), R12
	MOVQ 16(SI)(R8*8), R13
	MOVQ 24(SI)(R8*8), AX
	XORQ (DX)(R8*8), R11
	XORQ 8(DX)(R8*8), R12
	XORQ 16(DX)(R8*8), R13
	XORQ 24(DX)(R8*8), AX
	POPCNTQ R11, R11
	POPCNTQ R12, R12
	POPCNTQ R13, R13
	POPCNTQ AX, AX
	ADDQ R11, R9
	ADDQ R12, R10
	ADDQ R13, R9
	ADDQ AX, R10
	ADDQ $4, R8
	CMPQ R8, BX
	JLT  four

	ADDQ R10, R9
	MOVW R9, (DI)
	ADDQ $2, DI
	LEAQ (SI)(BX*8), SI
	DECQ CX
	JNZ  next
	RET

// func hamming4AVX512(out *uint16, codes, code *uint64, n int)
TEXT ·hamming4AVX512(SB), NOSPLIT, $0-32
	MOVQ out+0(FP), DI
	MOVQ codes+8(FP), SI
	MOVQ code+16(FP), DX
	MOVQ n+24(FP), CX
	VBROADCASTI64X4 (DX), Z0

eight:
	// Each register holds two codes. Count the bits of each word.
	VPXORQ   (SI), Z0, Z1
	VPXORQ   64(SI), Z0, Z2
	VPXORQ   128(SI), Z0, Z3
	VPXORQ   192(SI), Z0, Z4
	VPOPCNTQ Z1, Z1
	VPOPCNTQ Z2, Z2
	VPOPCNTQ Z3, Z3
	VPOPCNTQ Z4, Z4

	// Pack the counts into 16 bits each, then add them up over the four words.
	VPSLLQ $16, Z2, Z2
	VPSLLQ $32, Z3, Z3
	VPSLLQ $48, Z4, Z4
	VPORQ  Z2, Z1, Z1
	VPORQ  Z4, Z3, Z3
	VPORQ  Z3, Z1, Z1
	VPERMQ $0x4e, Z1, Z2
	VPADDW Z2, Z1, Z1
	VPERMQ $0xb1, Z1, Z2
	VPADDW Z2, Z1, Z1

	// Codes with even numbers are in the lower half, the others in the upper one.
	VEXTRACTI64X4 $1, Z1, Y2
	VPUNPCKLWD    X2, X1, X1
	VMOVDQU       X1, (DI)
	ADDQ $16, DI
	ADDQ $256, SI
	SUBQ $8, CX
	JNZ  eight
	VZEROUPPER
	RET

// func hamming8AVX512(out *uint16, codes, code *uint64, words, n int)
TEXT ·hamming8AVX512(SB), NOSPLIT, $0-40
	MOVQ out+0(FP), DI
	MOVQ codes+8(FP), SI
	MOVQ code+16(FP), DX
	MOVQ words+24(FP), BX
	MOVQ n+32(FP), CX
	SHLQ $3, BX

one:
	XORQ  R8, R8
	VPXOR X1, X1, X1

words:
	VMOVDQU64 (SI)(R8*1), Z2
	VPXORQ    (DX)(R8*1), Z2, Z2
	VPOPCNTQ  Z2, Z2
	VPADDQ    Z2, Z1, Z1
	ADDQ $64, R8
	CMPQ R8, BX
	JLT  words

	VEXTRACTI64X4 $1, Z1, Y2
	VPADDQ        Y2, Y1, Y1
	VEXTRACTI128  $1, Y1, X2
	VPADDQ        X2, X1, X1
	VPSHUFD       $0x4e, X1, X2
	VPADDQ        X2, X1, X1
	MOVQ X1, R9
	MOVW R9, (DI)
	ADDQ $2, DI
	ADDQ BX, SI
	DECQ CX
	JNZ  one
	VZEROUPPER
	RET

// func prefetchInt8(p *int8, n int)
TEXT ·prefetchInt8(SB), NOSPLIT, $0-16
	MOVQ p+0(FP), SI
	MOVQ n+8(FP), CX

line:
	PREFETCHT0 (SI)
	ADDQ $64, SI
	SUBQ $64, CX
	JGT  line
	RET

// func prefetchUint16(p *uint16, n int)
TEXT ·prefetchUint16(SB), NOSPLIT, $0-16
	MOVQ p+0(FP), SI
	MOVQ n+8(FP), CX
	ADDQ CX, CX

line:
	PREFETCHT0 (SI)
	ADDQ $64, SI
	SUBQ $64, CX
	JGT  line
	RET

// func classifyAVX2(masks *codeMasks, codes *uint16, blocks int, digits *[4][16]byte)
TEXT ·classifyAVX2(SB), NOSPLIT, $0-32
	MOVQ masks+0(FP), DI
	MOVQ codes+8(FP), SI
	MOVQ blocks+16(FP), CX
	MOVQ digits+24(FP), DX

	// A table of sixteen bytes for each of the four digits, in both lanes.
	VBROADCASTI128 (DX), Y10
	VBROADCASTI128 16(DX), Y11
	VBROADCASTI128 32(DX), Y12
	VBROADCASTI128 48(DX), Y13
	VPCMPEQW Y15, Y15, Y15
	VPSRLW   $8, Y15, Y14  // 0x00ff
	VPSRLW   $12, Y15, Y15 // 0x000f
	VPACKUSWB Y15, Y15, Y15 // 0x0f0f
	VPXOR    Y9, Y9, Y9
	VPCMPEQW Y8, Y8, Y8
	VPSRLW   $14, Y8, Y8   // 0x0003

block:
	VMOVDQU (SI), Y0
	VMOVDQU 32(SI), Y1
	VPCMPEQW Y9, Y0, Y4
	VPCMPEQW Y9, Y1, Y5
	VPACKSSWB Y5, Y4, Y4 // 0
	VPMINUW Y8, Y0, Y5
	VPMINUW Y8, Y1, Y6
	VPCMPEQW Y0, Y5, Y5
	VPCMPEQW Y1, Y6, Y6
	VPACKSSWB Y6, Y5, Y5 // 0 to 3
	VPERMQ  $0xd8, Y4, Y4
	VPERMQ  $0xd8, Y5, Y5
	VPMOVMSKB Y4, BX
	VPMOVMSKB Y5, R8
	XORL    BX, R8
	MOVL    BX, 4(DI)
	MOVL    R8, 8(DI)
	VPAND   Y14, Y0, Y2
	VPAND   Y14, Y1, Y3
	VPACKUSWB Y3, Y2, Y2 // the low bytes
	VPSRLW  $8, Y0, Y0
	VPSRLW  $8, Y1, Y1
	VPACKUSWB Y1, Y0, Y0 // the high bytes
	VPSRLW  $4, Y2, Y3
	VPSRLW  $4, Y0, Y1
	VPAND   Y15, Y2, Y2
	VPAND   Y15, Y3, Y3
	VPAND   Y15, Y0, Y0
	VPAND   Y15, Y1, Y1
	VPSHUFB Y2, Y10, Y2
	VPSHUFB Y3, Y11, Y3
	VPSHUFB Y0, Y12, Y0
	VPSHUFB Y1, Y13, Y1
	VPAND   Y2, Y3, Y2
	VPAND   Y0, Y1, Y0
	VPAND   Y2, Y0, Y0
	VPCMPEQB Y9, Y0, Y0
	VPERMQ  $0xd8, Y0, Y0
	VPMOVMSKB Y0, AX
	NOTL    AX
	MOVL    AX, (DI)
	ADDQ    $12, DI
	ADDQ    $64, SI
	DECQ    CX
	JNZ     block
	VZEROUPPER
	RET

// func belowAVX2(numbers *uint16, limit int) uint64
TEXT ·belowAVX2(SB), NOSPLIT, $0-24
	MOVQ numbers+0(FP), SI
	MOVQ limit+8(FP), AX
	MOVQ AX, X0
	VPBROADCASTW X0, Y0
	VPCMPGTW (SI), Y0, Y1
	VPCMPGTW 32(SI), Y0, Y2
	VPCMPGTW 64(SI), Y0, Y3
	VPCMPGTW 96(SI), Y0, Y4
	VPACKSSWB Y2, Y1, Y1
	VPACKSSWB Y4, Y3, Y3
	VPERMQ  $0xd8, Y1, Y1
	VPERMQ  $0xd8, Y3, Y3
	VPMOVMSKB Y1, AX
	VPMOVMSKB Y3, BX
	SHLQ    $32, BX
	ORQ     BX, AX
	VZEROUPPER
	MOVQ    AX, ret+16(FP)
	RET

// func reachingAVX2(scores *float64, floor float64) uint64
TEXT ·reachingAVX2(SB), NOSPLIT, $0-24
	MOVQ scores+0(FP), SI
	VBROADCASTSD floor+8(FP), Y0
	XORQ AX, AX
	MOVQ $48, CX

sixteen:
	// From the last scores to the first: each step shifts the bits up.
	VMOVUPD 0(SI)(CX*8), Y1
	VMOVUPD 32(SI)(CX*8), Y2
	VMOVUPD 64(SI)(CX*8), Y3
	VMOVUPD 96(SI)(CX*8), Y4
	VCMPPD $0x0d, Y0, Y1, Y1
	VCMPPD $0x0d, Y0, Y2, Y2
	VCMPPD $0x0d, Y0, Y3, Y3
	VCMPPD $0x0d, Y0, Y4, Y4
	VMOVMSKPD Y1, R8
	VMOVMSKPD Y2, R9
	VMOVMSKPD Y3, R10
	VMOVMSKPD Y4, R11
	SHLQ $4, R9
	SHLQ $8, R10
	SHLQ $12, R11
	ORQ  R9, R8
	ORQ  R11, R10
	ORQ  R10, R8
	SHLQ $16, AX
	ORQ  R8, AX
	SUBQ $16, CX
	JGE  sixteen
	VZEROUPPER
	MOVQ AX, ret+16(FP)
	RET
