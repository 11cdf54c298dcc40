package resident

// DifferSome is Differ as it is where there is no AVX-512.
var DifferSome = differSome
