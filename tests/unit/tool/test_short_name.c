/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_short_name.c - names without parameters and template arguments.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "symbol/short_name.h"

struct row {
	const char *function;
	const char *shown;
};

static void check(const struct row *rows, size_t count)
{
	char text[1024];

	for (size_t i = 0; i < count; i++) {
		size_t length = short_name(rows[i].function, text, sizeof(text));

		assert_string_equal(text, rows[i].shown);
		assert_int_equal(length, strlen(text));
	}
}

static void cxx_names(void **state)
{
	static const struct row rows[] = {
		{"Session::remember(int)", "Session::remember"},
		{"void std::sort<int*>(int*, int*)", "std::sort<...>"},
		{"std::vector<int, std::allocator<int> >::push_back(int const&)",
		 "std::vector<...>::push_back"},
		{"std::unique_ptr<Foo> make<Foo>(int, char)", "make<...>"},
		{"unsigned long long get<unsigned long long>()", "get<...>"},
		{"Map<int>::Node<char>::find(int) const &", "Map<...>::Node<...>::find"},
		{"foo[abi:cxx11](int)", "foo"},
		{"foo(int) [clone .isra.0]", "foo"},
		{"foo(int) [clone .part.0] [clone .cold]", "foo"},
		{"non-virtual thunk to Foo::bar(int)", "Foo::bar"},
		{"Foo::~Foo()", "Foo::~Foo"},
		{"(anonymous namespace)::leak(int)", "(anonymous namespace)::leak"},
		{"void ns::(anonymous namespace)::Foo<int>::leak<char>(int)",
		 "ns::(anonymous namespace)::Foo<...>::leak<...>"},
		{"Foo<(3>2)>::x()", "Foo<...>::x"},
		{"Foo<((char)65), (1<<2)>::x()", "Foo<...>::x"},
		{"foo<int (*)(char)>(int (*)(char))", "foo<...>"},
		{"void (*choose<int>(int))(char)", "choose<...>"},
		{"decltype (foo(x)) bar<int>(int)", "bar<...>"},
		{"decltype(auto) bar<int>(int)", "bar<...>"},
		{"decltype (((p)->size)()) bar<A>(A*)", "bar<...>"},
		{"myoperator(int)", "myoperator"},
		{"operators::x(int)", "operators::x"},
	};

	(void)state;
	check(rows, sizeof(rows) / sizeof(rows[0]));
}

static void operators(void **state)
{
	static const struct row rows[] = {
		{"Map<int>::operator()(int) const", "Map<...>::operator()"},
		{"std::function<void (int)>::operator()(int) const",
		 "std::function<...>::operator()"},
		{"A::operator<(A const&) const", "A::operator<"},
		{"A::operator<=>(A const&) const", "A::operator<=>"},
		{"A::operator<<(int)", "A::operator<<"},
		{"A::operator>>(int)", "A::operator>>"},
		{"A::operator>(int)", "A::operator>"},
		{"A::operator->() const", "A::operator->"},
		{"A::operator->*(int)", "A::operator->*"},
		{"A::operator[](unsigned long)", "A::operator[]"},
		{"A::operator,(int)", "A::operator,"},
		{"A::operator=(A&&)", "A::operator="},
		{"std::ostream& operator<< <char>(std::ostream&, char)", "operator<< <...>"},
		{"bool operator< <int>(A<int> const&, A<int> const&)", "operator< <...>"},
		{"bool operator==<int>(A<int> const&, A<int> const&)", "operator==<...>"},
		{"void apply<&(A::operator<(A const&))>(int)", "apply<...>"},
		{"operator new(unsigned long)", "operator new"},
		{"operator new[](unsigned long, std::nothrow_t const&)", "operator new[]"},
		{"operator delete(void*)", "operator delete"},
		{"operator delete[](void*)", "operator delete[]"},
		{"Pool::operator new(unsigned long)", "Pool::operator new"},
		{"operator\"\" _km(long double)", "operator\"\" _km"},
		{"A::operator co_await()", "A::operator co_await"},
		{"Foo::operator bool() const", "Foo::operator bool"},
		{"Foo::operator unsigned long*()", "Foo::operator unsigned long*"},
		{"Foo<int>::operator std::vector<int, A<int> >() const",
		 "Foo<...>::operator std::vector<int, A<int> >"},
	};

	(void)state;
	check(rows, sizeof(rows) / sizeof(rows[0]));
}

static void lambdas(void **state)
{
	static const struct row rows[] = {
		{"run(int)::{lambda(int)#1}::operator()(int) const", "run::{lambda#1}::operator()"},
		{"Foo::bar(int) const::{lambda()#2}::operator()() const",
		 "Foo::bar::{lambda#2}::operator()"},
		{"main::{lambda(std::function<void (int)>)#1}::operator()(std::function<void "
		 "(int)>)",
		 "main::{lambda#1}::operator()"},
		{"int call<f()::{lambda(int)#1}>(f()::{lambda(int)#1})", "call<...>"},
		{"auto f<int>(int)::{lambda(auto:1)#1}::operator()<char>(char) const",
		 "f<...>::{lambda#1}::operator()<...>"},
		{"main::{unnamed type#1}::run()", "main::{unnamed type#1}::run"},
	};

	(void)state;
	check(rows, sizeof(rows) / sizeof(rows[0]));
}

static void rust_names(void **state)
{
	static const struct row rows[] = {
		{"app::outer::Gen<u32>::leak", "app::outer::Gen<...>::leak"},
		{"<app::outer::Gen<u32>>::leak", "app::outer::Gen<...>::leak"},
		{"<app::outer::Gen<(u8, u32), *const i8>>::leak", "app::outer::Gen<...>::leak"},
		{"<core::option::Option<u16> as app::Speak>::say",
		 "<core::option::Option<...> as app::Speak>::say"},
		{"<alloc::vec::Vec<T,A> as core::clone::Clone>::clone",
		 "<alloc::vec::Vec<...> as core::clone::Clone>::clone"},
		{"alloc::slice::<impl [T]>::to_vec", "alloc::slice::to_vec"},
		{"app::main::{{closure}}", "app::main::{{closure}}"},
		{"app::main::{closure#0}", "app::main::{closure#0}"},
		{"<app::main::{closure#0} as core::ops::function::FnOnce<(usize,)>>::call_once",
		 "<app::main::{closure#0} as core::ops::function::FnOnce<...>>::call_once"},
		{"<[u8]>::to_vec", "<[u8]>::to_vec"},
		{"<(u8, u16) as app::Speak>::say", "<(...) as app::Speak>::say"},
		{"<&T as core::fmt::Debug>::fmt", "<&T as core::fmt::Debug>::fmt"},
		{"<u8 as <[_]>::to_vec_in::ConvertVec>::to_vec",
		 "<u8 as <[_]>::to_vec_in::ConvertVec>::to_vec"},
		{"core::ptr::drop_in_place::<app::Foo>", "core::ptr::drop_in_place"},
		{"app::apply::<fn(u8) -> u8>", "app::apply"},
	};

	(void)state;
	check(rows, sizeof(rows) / sizeof(rows[0]));
}

static void other_names_stay(void **state)
{
	static const struct row rows[] = {
		{"", ""},
		{"main", "main"},
		{"xmalloc.part.0", "xmalloc.part.0"},
		{"main.(*Server).remember", "main.(*Server).remember"},
		{"github.com/x/y.Map[go.shape.int].Get", "github.com/x/y.Map[go.shape.int].Get"},
		{"((((", "(((("},
		{"operator", "operator"},
	};

	(void)state;
	check(rows, sizeof(rows) / sizeof(rows[0]));
}

static void never_more_than_there_is_room_for(void **state)
{
	char text[8];

	(void)state;
	memset(text, 'z', sizeof(text));
	assert_int_equal(short_name("Session::remember(int)", text, 5), 4);
	assert_string_equal(text, "Sess");
	assert_int_equal(text[5], 'z');
	assert_int_equal(short_name("<app::Gen<u8>>::leak", text, 4), 3);
	assert_int_equal(short_name("app::f::<u8>", text, 2), 1);
	assert_int_equal(short_name("x", text, 1), 0);
}

/* Each of 64 KiB. */
static void brackets_without_end(void **state)
{
	static const char *const pieces[] = {"<",  "(",		"[",	     "{",      "<(",
					     ">",  "operator<", "operator ", "x<y>::", "<x as ",
					     "(*", " const",	"decltype(", "::<",    "&(",
					     "{(", "->"};
	enum { SIZE = 64 * 1024 };
	char *name = malloc(SIZE + 1);
	char *text = malloc(SIZE + 1);

	(void)state;
	assert_non_null(name);
	assert_non_null(text);
	for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
		for (size_t at = 0; at < SIZE; at++)
			name[at] = pieces[i][at % strlen(pieces[i])];
		name[SIZE] = 0;
		assert_true(short_name(name, text, SIZE + 1) <= SIZE);
	}
	free(text);
	free(name);
}

static void scopes_from_the_outermost_on(void **state)
{
	static const char *const names[][4] = {
		{"inventory::Index::load", "Index::load", "load", NULL},
		{"std::vector<...>::push_back", "vector<...>::push_back", "push_back", NULL},
		{"Map<a::b>::operator()", "operator()", NULL},
		{"a::operator<< <b::c>", "operator<< <b::c>", NULL},
		{"(anonymous namespace)::leak", "leak", NULL},
		{"<a::B as c::D>::clone", "clone", NULL},
		{"app::serve::{{closure}}", "serve::{{closure}}", NULL},
		{"app::run::{lambda#1}::operator()", "run::{lambda#1}::operator()", NULL},
		{"main", NULL},
		{"::main", NULL},
		{"a::", NULL},
		{"a<b::c", NULL},
		{"", NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *name = names[i][0];

		for (unsigned j = 1; (name = short_name_inner(name)); j++) {
			assert_non_null(names[i][j]);
			assert_string_equal(name, names[i][j]);
			if (!names[i][j + 1]) {
				assert_null(short_name_inner(name));
				break;
			}
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cxx_names),
		cmocka_unit_test(operators),
		cmocka_unit_test(lambdas),
		cmocka_unit_test(rust_names),
		cmocka_unit_test(other_names_stay),
		cmocka_unit_test(never_more_than_there_is_room_for),
		cmocka_unit_test(brackets_without_end),
		cmocka_unit_test(scopes_from_the_outermost_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
