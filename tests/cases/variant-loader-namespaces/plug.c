#include <stdlib.h>
#include <string.h>
__attribute__((noinline)) char *plug_keep(void) { char *p = malloc(1000); memset(p, 'k', 1000); return p; }
const char *plug_churn(int n) { for (int i = 0; i < n; i++) { char *p = malloc(i % 3000), *q = realloc(p, i % 5000 + 1); free(q); } return "churned"; }
