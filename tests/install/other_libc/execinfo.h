#error "this C library has no execinfo.h"
