# SPDX-License-Identifier: BSD-2-Clause
"""results - turns runs into the figures that are shown: ratios to the baseline of the same round, and what is behind.

The JSON has these figures and the single runs."""
import statistics

from runner import spread


def ratios(series, base, name):
    """Of each round that both have; without a common one, of this tool's runs to the baseline's median."""
    mine, others = getattr(series, name), dict(zip(base.rounds, getattr(base, name)))
    common = [value / others[number] for number, value in zip(series.rounds, mine) if others.get(number)]
    if not common and others:
        middle = statistics.median(others.values())
        common = [value / middle for value in mine if middle]
    return spread(common)


def program_row(workload, all_series):
    """The JSON of one program."""
    return {"name": workload.name, "title": workload.title, "target": workload.target,
            "tools": {name: tool_cell(series, all_series.get(series.tool.baseline), workload)
                      for name, series in all_series.items()}}


def tool_cell(series, base, workload):
    cell = {"error": series.error, "rounds": len(series.rounds), "cpu_s": series.cpu, "client_cpu_s": series.client_cpu,
            "wall_s": series.wall, "rss": series.rss, "written": series.written, "post": series.post, **series.extra}
    if series.rounds and base and base.rounds:
        cell["cpu_ratio"], cell["wall_ratio"] = ratios(series, base, "cpu"), ratios(series, base, "wall")
        cell["client_cpu_ratio"] = ratios(series, base, "client_cpu")
        cell["rss_added"] = statistics.median(series.rss) - statistics.median(base.rss)
        for name, values in series.extra.items():
            others = base.extra.get(name)
            if others:
                cell[name + "_ratio"] = spread([a / b for a, b in zip(values, others)])
    return cell


def pair_row(pair, rows, tools):
    """The JSON of one row of pair.c: the median of a tool's rounds less that of its baseline's."""
    cells = {}
    for tool in tools:
        row = rows.get(tool.name)
        if not row:
            continue
        cell = {"error": row.get("error"), "ns": row["ns"], "helper_ns": row["helper_ns"]}
        base = rows.get(tool.baseline, {}).get("ns")
        if row["ns"] and base:
            middle = statistics.median(base)
            cell["added_ns"] = spread([ns + helper - middle for ns, helper in zip(row["ns"], row["helper_ns"])])
            cell["client_added_ns"] = spread([ns - middle for ns in row["ns"]])
        cells[tool.name] = cell
    return {"name": pair.name, "title": pair.title, "pattern": pair.pattern, "depth": pair.depth, "threads": pair.threads,
            "target": pair.target, "tools": cells}


def figure(cell, name):
    return cell[name]["median"] if cell and cell.get(name) else None


def behind(rows, name, unit, exact):
    """Sentences about rows in which pmem misses its target or is slower than an exact peer."""
    found = []
    for row in rows:
        mine = figure(row["tools"].get("pmem"), name)
        if mine is None:
            error = (row["tools"].get("pmem") or {}).get("error")
            if error:
                found.append("%s: pmem failed: %s" % (row["name"], error))
            continue
        if row["target"] and mine > row["target"]:
            found.append("%s: %.2f%s, target %g%s" % (row["name"], mine, unit, row["target"], unit))
        for peer in exact:
            other = figure(row["tools"].get(peer), name)
            if other is not None and other < mine:
                found.append("%s: %.2f%s, %s %.2f%s" % (row["name"], mine, unit, peer, other, unit))
    return found
