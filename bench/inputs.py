# SPDX-License-Identifier: BSD-2-Clause
"""inputs - writes what the benchmarked programs read.  All of it is generated, and the same each time."""
import json
import random
import subprocess
import sys

from usage import BENCH

WORDS = "amber birch cedar delta ember flint grove heron iris jade kelp larch maple north ocean pearl quartz reed".split()


def people(path, count):
    """JSON of about 230 bytes for each of count records."""
    rng = random.Random(1)
    with open(path, "w") as out:
        out.write("[\n")
        for i in range(count):
            record = {"id": i, "name": " ".join(rng.choices(WORDS, k=3)), "score": rng.randrange(100000) / 8,
                      "tags": rng.choices(WORDS, k=4), "at": {"x": rng.random(), "y": rng.random(), "zone": rng.choice(WORDS)}}
            out.write(json.dumps(record) + (",\n" if i < count - 1 else "\n"))
        out.write("]\n")


def document(path, count):
    """XML with count items."""
    rng = random.Random(2)
    with open(path, "w") as out:
        out.write("<?xml version='1.0'?>\n<list xmlns:a='urn:a'>\n")
        for i in range(count):
            text = " ".join(rng.choices(WORDS, k=4))
            out.write("<item id='i%d' kind='%s'><a:name>%s</a:name><size>%d</size></item>\n" % (
                i, rng.choice(WORDS), text, rng.randrange(1000)))
        out.write("</list>\n")


def queries(path, count):
    """An SQL script that fills a table with count rows, and groups, joins and sorts them."""
    path.write_text("""
create table t(id integer primary key, name text, kind text, value real);
with recursive n(i) as (select 1 union all select i + 1 from n where i < %d)
insert into t select i, 'name ' || (i * 7919 %% 100003), 'kind ' || (i %% 97), i * 0.5 from n;
create index t_name on t(name);
create table u as select kind, count(*) as c, sum(value) as s, group_concat(substr(name, 6, 2)) as g from t group by kind;
select count(*), sum(c), sum(length(g)) from u;
select count(*) from t a join t b on a.name = b.name and a.id < b.id;
select kind, upper(name) || ' ' || printf('%%08.2f', value) from t order by name desc, id limit 5;
update t set name = replace(name, '1', 'one') where id %% 3 = 0;
select count(distinct name), max(length(name)) from t;
select name, sum(value) over (partition by kind order by id) from t order by id limit 5 offset %d;
""" % (count, count // 2))


def perl_script(path, count):
    path.write_text(r"""use strict; use warnings;
my ($seed, %%seen, %%by) = (1);
for my $i (1 .. %d) {
	$seed = ($seed * 1103515245 + 12345) & 0x7fffffff;
	my $line = join ",", map { "k" . (($seed >> $_) & 1023) . "=" . ($i * $_) } 3 .. 7;
	while ($line =~ /(k(\d+))=(\d+)/g) { $seen{$1} += $3; push @{$by{$2 %% 100}}, $3 if $3 %% 7 == 0; }
	(my $copy = $line) =~ s/(\d)(\d)/$2$1/g;
	$seen{length $copy}++;
}
my @order = sort { $seen{$b} <=> $seen{$a} || $a cmp $b } keys %%seen;
print scalar(@order), " ", join(" ", @order[0 .. 9]), " ", scalar(map { @$_ } values %%by), "\n";
""" % count)


def node_script(path, count):
    path.write_text("""'use strict';
let sum = 0;
for (let i = 0; i < %d; i++) {
	const buffer = Buffer.from('item ' + i).toString('base64');
	const map = new Map(buffer.split('').map((c, j) => [c + j, { c, j }]));
	sum += map.size + JSON.stringify([...map.values()]).length;
}
const chunks = [];
for (let i = 0; i < %d; i++)
	chunks.push(require('zlib').deflateRawSync(Buffer.alloc(2000, i)));
console.log(sum, Buffer.concat(chunks).length);
""" % (count, count // 20))


def templates(path, depth, compiler):
    """A preprocessed C++ file of depth nested instantiations."""
    source = path.with_suffix(".cc")
    source.write_text("""#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <variant>
#include <vector>
template <int N> struct table {
	std::map<std::string, std::vector<std::variant<int, std::string, std::function<int(char[N])>>>> rows;
	void sort()
	{
		for (auto &row : rows)
			std::sort(row.second.begin(), row.second.end(), [](auto &a, auto &b) { return a.index() < b.index(); });
		rows["last"].emplace_back(N);
	}
};
template <int N> void fill()
{
	table<N> t;
	t.rows["first"];
	t.sort();
	if constexpr (N > 1)
		fill<N - 1>();
}
int main() { fill<%d>(); }
""" % depth)
    subprocess.run([compiler, "-std=c++17", "-E", "-o", path, source], check=True)


def many_sites(path, functions, sites):
    """A C program with functions * sites calls of malloc(), all made as many times as its argument says."""
    with open(path, "w") as out:
        out.write("#include <stdio.h>\n#include <stdlib.h>\nstatic void *volatile kept;\n")
        for f in range(functions):
            out.write("static void f%d(void)\n{\n" % f)
            for site in range(sites):
                out.write("\tfree(kept);\n\tkept = malloc(%d);\n" % (8 + (f + site) % 90))
            out.write("}\n")
        out.write("static void (*const all[])(void) = {%s};\n" % ", ".join("f%d" % f for f in range(functions)))
        out.write("int main(int argc, char **argv)\n{\n\tint rounds = argc > 1 ? atoi(argv[1]) : 1, r, f;\n\n"
                  "\tfor (r = 0; r < rounds; r++)\n\t\tfor (f = 0; f < %d; f++)\n\t\t\tall[f]();\n"
                  "\tprintf(\"%%d\\n\", r);\n\treturn 0;\n}\n" % functions)


def many_paths(path, functions, paths):
    with open(path, "w") as out:
        subprocess.run([sys.executable, BENCH / "many_paths.py", str(functions), str(paths)], stdout=out, check=True)
