#error "this C library has no error.h"
