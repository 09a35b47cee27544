/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_blame.c - whose code functions are, and that doc/BLAME.md shows the rules that are in use.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "profile/blame.h"
#include "symbol/demangle.h"

#define PROGRAM "/usr/bin/program"
#define C_LIBRARY "/lib/x86_64-linux-gnu/libc.so.6"
#define RUST_HASH "17h0123456789abcdefE"

struct row {
	enum blame blame;
	const char *module;
	const char *raw_name; /* demangled here; NULL = unknown */
};

static void check(const struct row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		char *function = rows[i].raw_name ? demangle(rows[i].raw_name) : NULL;
		enum blame blame = blame_of(rows[i].module, rows[i].raw_name,
					    function ? function : rows[i].raw_name);

		if (blame != rows[i].blame)
			print_message("# %s %s\n", rows[i].module, rows[i].raw_name);
		assert_string_equal(blame_name(blame), blame_name(rows[i].blame));
		free(function);
	}
}

static void c_functions(void **state)
{
	static const struct row rows[] = {
		{BLAME_OWN, PROGRAM, "main"},
		{BLAME_OWN, PROGRAM, NULL},
		{BLAME_OWN, "", NULL},
		{BLAME_OWN, "", "compiled"},
		{BLAME_OWN, "/usr/lib/libsqlite3.so.0", "sqlite3_open"},
		{BLAME_OWN, "/usr/lib/libsqlite3.so.0", NULL},
		{BLAME_OWN, PROGRAM, "malloc_table"},
		{BLAME_OWN, PROGRAM, "my_malloc"},
		{BLAME_OWN, PROGRAM, "clone"},
		{BLAME_OWN, PROGRAM, "g_hash_table_new"},
		{BLAME_OWN, PROGRAM, "mi_switch"},
		{BLAME_OWN, PROGRAM, "main.part.0"},
		{BLAME_ALLOCATOR, PROGRAM, "malloc"},
		{BLAME_ALLOCATOR, C_LIBRARY, "malloc"},
		{BLAME_ALLOCATOR, C_LIBRARY, "__libc_calloc"},
		{BLAME_ALLOCATOR, "/opt/pmem/libpmem.so", NULL},
		{BLAME_ALLOCATOR, "/opt/pmem/libpmem.so", "hooks"},
		{BLAME_ALLOCATOR, "/usr/lib/libjemalloc.so.2", NULL},
		{BLAME_ALLOCATOR, "/usr/lib/libtcmalloc_minimal.so.4", "do_malloc"},
		{BLAME_ALLOCATOR, "/usr/lib/libmimalloc.so.2.0", NULL},
		{BLAME_ALLOCATOR, PROGRAM, "je_malloc_default"},
		{BLAME_ALLOCATOR, PROGRAM, "mi_malloc"},
		{BLAME_ALLOCATOR, PROGRAM, "xmalloc"},
		{BLAME_ALLOCATOR, PROGRAM, "xmalloc.part.0"},
		{BLAME_ALLOCATOR, PROGRAM, "xcalloc.constprop.0.cold"},
		{BLAME_ALLOCATOR, PROGRAM, "xstrdup"},
		{BLAME_ALLOCATOR, PROGRAM, "zmalloc_usable"},
		{BLAME_ALLOCATOR, "/usr/lib/libglib-2.0.so.0", "g_malloc0"},
		{BLAME_ALLOCATOR, "/usr/lib/libglib-2.0.so.0", "g_strdup"},
		{BLAME_OWN, "/usr/lib/libglib-2.0.so.0", "g_list_append"},
		{BLAME_LIBC, C_LIBRARY, "getdelim"},
		{BLAME_LIBC, C_LIBRARY, NULL},
		{BLAME_LIBC, "/lib/libc-2.28.so", "strdup"},
		{BLAME_LIBC, "/lib/ld-musl-x86_64.so.1", "fopen"},
		{BLAME_LIBC, "/lib64/ld-linux-x86-64.so.2", "_dl_new_object"},
		{BLAME_LIBC, "libpthread.so.0", "allocate_stack"},
		{BLAME_LIBC, "/lib/libm.so.6", NULL},
		{BLAME_OWN, "/usr/lib/libmagic.so.1", NULL},
		{BLAME_OWN, "/usr/lib/libc.so.6/program", NULL},
		{BLAME_START, PROGRAM, "_start"},
		{BLAME_START, C_LIBRARY, "__libc_start_main"},
		{BLAME_START, C_LIBRARY, "__libc_start_call_main"},
		{BLAME_START, C_LIBRARY, "start_thread"},
		{BLAME_START, C_LIBRARY, "clone3"},
	};

	(void)state;
	check(rows, sizeof(rows) / sizeof(rows[0]));
}

static void cxx_functions(void **state)
{
	static const struct row rows[] = {
		{BLAME_OWN, PROGRAM, "_ZN7Session8rememberEi"},
		{BLAME_ALLOCATOR, PROGRAM, "_Znwm"},
		{BLAME_ALLOCATOR, "/usr/lib/libstdc++.so.6", "_Znam"},
		{BLAME_ALLOCATOR, PROGRAM, "_ZN4PoolnwEm"},
		{BLAME_ALLOCATOR, PROGRAM, "_ZNSt15__new_allocatorIiE8allocateEmPKv"},
		{BLAME_ALLOCATOR, PROGRAM, "_ZN9__gnu_cxx13new_allocatorIiE8allocateEmPKv"},
		{BLAME_ALLOCATOR, PROGRAM, "_ZNSt16allocator_traitsISaIiEE8allocateERS0_m"},
		{BLAME_CXX, PROGRAM, "_ZNSt6vectorIiSaIiEE9push_backERKi"},
		/* void std::sort<int*>(int*, int*) */
		{BLAME_CXX, PROGRAM, "_ZSt4sortIPiEvT_S1_"},
		/* std::vector<int, std::allocator<int> > repeat<int>(int) */
		{BLAME_OWN, PROGRAM, "_Z6repeatIiESt6vectorIT_SaIS1_EES1_"},
		/* int apply<std::vector<int, std::allocator<int> > >(int) */
		{BLAME_OWN, PROGRAM, "_Z5applyISt6vectorIiSaIiEEEii"},
		{BLAME_OWN, PROGRAM, "_ZZ4mainENKUliE_clEi"},
		{BLAME_CXX, PROGRAM, "_ZNSt3__16vectorIiNS_9allocatorIiEEE9push_backEOi"},
		{BLAME_CXX, PROGRAM, "__cxa_allocate_exception"},
		{BLAME_CXX, "/usr/lib/libstdc++.so.6", NULL},
		{BLAME_CXX, "/usr/lib/libc++.so.1", "x"},
		{BLAME_CXX, "/lib/libgcc_s.so.1", "_Unwind_Find_FDE"},
		/* Names of the user's that are Rust's crates, too. */
		{BLAME_OWN, PROGRAM, "_ZN4core6Engine3runEv"},
		{BLAME_OWN, PROGRAM, "_ZN5alloc4PoolC2Ev"},
		{BLAME_OWN, PROGRAM, "_ZN4test3runEv"},
		{BLAME_OWN, PROGRAM, "_ZN7standby3runEv"},
	};

	(void)state;
	check(rows, sizeof(rows) / sizeof(rows[0]));
}

static void rust_functions(void **state)
{
	static const struct row rows[] = {
		{BLAME_OWN, PROGRAM, "_ZN3app4main" RUST_HASH},
		{BLAME_OWN, PROGRAM, "_RNvCsdpnaGqXcp_3app4main"},
		{BLAME_RUST, PROGRAM, "_ZN4core3fmt9Formatter3pad" RUST_HASH},
		{BLAME_RUST, PROGRAM, "_ZN4core3fmt9Formatter3pad" RUST_HASH ".llvm.123"},
		{BLAME_RUST, PROGRAM, "_ZN3std2rt10lang_start" RUST_HASH},
		{BLAME_RUST, PROGRAM, "_ZN5alloc3vec12Vec$LT$T$GT$4push" RUST_HASH},
		{BLAME_RUST, PROGRAM, "_ZN9hashbrown3raw8RawTable6insert" RUST_HASH},
		{BLAME_RUST, PROGRAM, "_ZN5tokio7runtime4task3raw4poll" RUST_HASH},
		{BLAME_RUST, PROGRAM, "_ZN10rayon_core8registry12WorkerThread3run" RUST_HASH},
		{BLAME_RUST, PROGRAM, "rust_begin_unwind"},
		{BLAME_ALLOCATOR, PROGRAM, "_ZN5alloc5alloc15exchange_malloc" RUST_HASH},
		{BLAME_ALLOCATOR, PROGRAM, "_ZN5alloc7raw_vec11finish_grow" RUST_HASH},
		{BLAME_ALLOCATOR, PROGRAM, "__rust_alloc_zeroed"},
		{BLAME_ALLOCATOR, PROGRAM, "__rdl_realloc"},
		/* <alloc::vec::Vec<T> as core::clone::Clone>::clone */
		{BLAME_RUST,
		 PROGRAM, "_ZN63_$LT$alloc..vec..Vec$LT$T$GT$$u20$as$u20$core..clone..Clone$GT$5clone" RUST_HASH},
		/* <app::Tree as core::clone::Clone>::clone */
		{BLAME_OWN, PROGRAM,
		 "_ZN48_$LT$app..Tree$u20$as$u20$core..clone..Clone$GT$5clone" RUST_HASH},
		/* <&app::Tree as core::clone::Clone>::clone: of the type that it refers to */
		{BLAME_OWN, PROGRAM,
		 "_ZN52_$LT$$RF$app..Tree$u20$as$u20$core..clone..Clone$GT$5clone" RUST_HASH},
		/* <alloc::vec::Vec<T> as app::Load>::load */
		{BLAME_OWN, PROGRAM,
		 "_ZN54_$LT$alloc..vec..Vec$LT$T$GT$$u20$as$u20$app..Load$GT$4load" RUST_HASH},
		/* <T as core::convert::Into<U>>::into, <T as app::Load>::load */
		{BLAME_RUST, PROGRAM,
		 "_ZN50_$LT$T$u20$as$u20$core..convert..Into$LT$U$GT$$GT$4into" RUST_HASH},
		{BLAME_OWN, PROGRAM, "_ZN31_$LT$T$u20$as$u20$app..Load$GT$4load" RUST_HASH},
		/* <app::Tree as alloc::string::ToString>::to_string: only Rust's library implements it */
		{BLAME_RUST, PROGRAM,
		 "_ZN53_$LT$app..Tree$u20$as$u20$alloc..string..ToString$GT$9to_string" RUST_HASH},
		{BLAME_RUST, "/usr/lib/libstd-0123456789abcdef.so", NULL},
	};
	static const struct {
		enum blame blame;
		const char *function;
	} shown[] = {
		{BLAME_RUST, "<[u8]>::to_vec"},
		{BLAME_RUST, "<str>::to_string"},
		{BLAME_RUST, "<*const app::Tree>::add"},
		{BLAME_RUST, "<dyn core::any::Any>::is::<u8>"},
		{BLAME_OWN, "<dyn app::Shape>::area"},
		{BLAME_OWN, "<app::Gen<u8>>::leak"},
		{BLAME_RUST, "<alloc::vec::Vec<app::Tree>>::push"},
		{BLAME_RUST,
		 "<u8 as <[_]>::to_vec_in::ConvertVec>::to_vec::<alloc::alloc::Global>"},
		{BLAME_ALLOCATOR, "<alloc::raw_vec::RawVec<u8>>::grow_one"},
	};

	(void)state;
	check(rows, sizeof(rows) / sizeof(rows[0]));
	for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++) {
		assert_int_equal(blame_of(PROGRAM, "_R", shown[i].function), shown[i].blame);
		/* Without a raw name it is Rust by its looks. */
		assert_int_equal(blame_of(PROGRAM, NULL, shown[i].function), shown[i].blame);
	}
}

static void other_languages(void **state)
{
	static const struct row rows[] = {
		{BLAME_GO, PROGRAM, "runtime.mallocgc"},
		{BLAME_GO, PROGRAM, "runtime.(*mheap).alloc"},
		{BLAME_GO, PROGRAM, "runtime/cgo.NewHandle"},
		{BLAME_OWN, PROGRAM, "main.(*Server).remember"},
		{BLAME_OWN, PROGRAM, "main.main.func1"},
		{BLAME_OWN, PROGRAM, "runtime_init"},
		{BLAME_PYTHON, "/usr/bin/python3.11", "_PyEval_EvalFrameDefault"},
		{BLAME_PYTHON, "/usr/lib/libpython3.11.so.1.0", "list_resize"},
		{BLAME_ALLOCATOR, "/usr/bin/python3.11", "_PyObject_Malloc"},
		{BLAME_ALLOCATOR, "/usr/lib/libpython3.11.so.1.0", "PyMem_RawMalloc"},
		{BLAME_ALLOCATOR, "/usr/lib/libpython3.11.so.1.0", "PyType_GenericAlloc"},
		{BLAME_OWN, "/usr/lib/python3/dist-packages/numpy/core/_multiarray.so",
		 "PyArray_NewCopy"},
		{BLAME_OWN, PROGRAM, "PyInit_module"},
	};

	(void)state;
	check(rows, sizeof(rows) / sizeof(rows[0]));
}

static void any_name_has_an_answer(void **state)
{
	char *name = malloc(100001);

	(void)state;
	assert_non_null(name);
	memset(name, '<', 100000);
	name[100000] = 0;
	assert_true(blame_of("", "_R", name) < BLAME_COUNT);
	for (size_t i = 0; i < 100000; i++)
		name[i] = "<x as "[i % 6];
	assert_true(blame_of("", "_R", name) < BLAME_COUNT);
	memset(name, '*', 100000);
	assert_int_equal(blame_of(name, name, name), BLAME_OWN);
	free(name);
}

/* "| own | `a` | Rust | `b` |": takes the column at *at, without backquotes. */
static void take_column(char **at, char *column, size_t size)
{
	char *end = strstr(*at, " |");
	size_t length;

	assert_non_null(end);
	*at += **at == ' ';
	length = end > *at ? (size_t)(end - *at) : 0;
	if (length >= 2 && **at == '`') {
		++*at;
		length -= 2;
	}
	assert_true(length < size);
	memcpy(column, *at, length);
	column[length] = 0;
	*at = end + 2;
}

static void check_doc_row(char *line, const struct blame_rule *rule)
{
	char column[128];

	line++;
	take_column(&line, column, sizeof(column));
	assert_string_equal(column, blame_name(rule->blame));
	take_column(&line, column, sizeof(column));
	assert_string_equal(column, rule->module ? rule->module : "");
	take_column(&line, column, sizeof(column));
	assert_string_equal(column, rule->names == BLAME_RUST_NAMES  ? "Rust"
				    : rule->names == BLAME_JIT_NAMES ? "JIT"
								     : "");
	take_column(&line, column, sizeof(column));
	assert_string_equal(column, rule->function ? rule->function : "");
}

static void document_shows_these_rules(void **state)
{
	FILE *doc = fopen(PMEM_SOURCE_ROOT "/doc/BLAME.md", "r");
	size_t count;
	const struct blame_rule *rules = blame_rules(&count);
	size_t row = 0;
	bool in_table = false;
	char line[512];

	(void)state;
	assert_non_null(doc);
	while (fgets(line, sizeof(line), doc)) {
		if (in_table && line[0] == '|') {
			assert_true(row < count);
			check_doc_row(line, &rules[row++]);
		}
		in_table = in_table || strncmp(line, "| ---", 5) == 0;
	}
	fclose(doc);
	assert_int_equal(row, count);
	assert_true(count > 200);
}

/* A rule that an earlier one makes useless is a mistake. */
static void no_rule_is_there_twice(void **state)
{
	size_t count;
	const struct blame_rule *rules = blame_rules(&count);

	(void)state;
	for (size_t i = 0; i < count; i++) {
		assert_true(rules[i].module || rules[i].function);
		assert_true(rules[i].blame < BLAME_RUNTIME);
		for (size_t j = 0; j < i; j++) {
			const char *module = rules[i].module ? rules[i].module : "";
			const char *function = rules[i].function ? rules[i].function : "";

			assert_false(strcmp(rules[j].module ? rules[j].module : "", module) == 0 &&
				     strcmp(rules[j].function ? rules[j].function : "", function) ==
					     0 &&
				     (rules[i].names == rules[j].names ||
				      rules[j].names == BLAME_ALL_NAMES));
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(c_functions),
		cmocka_unit_test(cxx_functions),
		cmocka_unit_test(rust_functions),
		cmocka_unit_test(other_languages),
		cmocka_unit_test(any_name_has_an_answer),
		cmocka_unit_test(document_shows_these_rules),
		cmocka_unit_test(no_rule_is_there_twice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
