package resident

// HammingNoAVX512 is Hamming on processors without AVX-512.
var HammingNoAVX512 = hammingNoAVX512
