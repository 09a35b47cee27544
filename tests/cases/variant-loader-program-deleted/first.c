#include <stdlib.h>
__attribute__((noinline)) void *first_make(void) { return malloc(500); }
