#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#define NOINL __attribute__((noinline, noclone))
static void say(const char *s) { if (write(1, s, strlen(s)) < 0) _exit(9); }
static void die(const char *w, int l) { dprintf(2, "FAIL line %d: %s (errno %d)\n", l, w, errno); _exit(1); }
#define CHECK(c) do { if (!(c)) die(#c, __LINE__); } while (0)
static void *volatile sink;   /* keeps the compiler from removing allocations */
static inline void use(void *p) { sink = p; __asm__ volatile("" ::: "memory"); }

#include <sys/mman.h>
void *asm_leaf(size_t), *asm_jump(size_t), *asm_moved(void *(*)(void), void *), *asm_rbp(void *(*)(void), void *);
__asm__(".text\n"
  ".globl asm_leaf\n.type asm_leaf,@function\nasm_leaf: sub $24, %rsp\n call malloc@plt\n add $24, %rsp\n ret\n.size asm_leaf, .-asm_leaf\n"
  ".globl asm_jump\n.type asm_jump,@function\nasm_jump: jmp malloc@plt\n.size asm_jump, .-asm_jump\n"
  ".globl asm_moved\n.type asm_moved,@function\nasm_moved: push %rbx\n mov %rsp, %rbx\n mov %rsi, %rsp\n call *%rdi\n mov %rbx, %rsp\n pop %rbx\n ret\n.size asm_moved, .-asm_moved\n"
  ".globl asm_rbp\n.type asm_rbp,@function\nasm_rbp: push %rbp\n mov %rsi, %rbp\n call *%rdi\n pop %rbp\n ret\n.size asm_rbp, .-asm_rbp\n");
NOINL void *from_moved_stack(void) { return malloc(14); }
NOINL void *from_odd_rbp(void) { return malloc(15); }
NOINL void *jumped_to(void) { void *p = asm_jump(16); use(p); return p; }
static char buffer[256 * 1024] __attribute__((aligned(16)));
static void keep(int i, void *p) { use(p); CHECK(p); if (i % 10) free(p); }
int main(void) { char *hole = mmap(0, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); CHECK(hole != MAP_FAILED); CHECK(!mprotect(hole + 4096, 4096, PROT_NONE));
  for (int i = 0; i < 100; i++) { keep(i, asm_leaf(130)); keep(i, jumped_to());
    keep(i, asm_moved(from_moved_stack, buffer + sizeof buffer - 16 * (i % 5)));
    keep(i, asm_rbp(from_odd_rbp, (void *)0x1234567890)); keep(i, asm_rbp(from_odd_rbp, hole + 4096)); keep(i, asm_rbp(from_odd_rbp, hole + 4096 - 8)); }
  say("OK\n"); return 0; }
