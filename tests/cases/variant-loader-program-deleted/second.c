#include <stdlib.h>
__attribute__((noinline)) void *second_make(void) { return malloc(1000); }
