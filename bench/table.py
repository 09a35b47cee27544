# SPDX-License-Identifier: BSD-2-Clause
"""table - the Markdown of a run's results, and its place in a document."""
import pathlib

BEGIN = "<!-- bench/run: begin; what follows is written by it -->"
END = "<!-- bench/run: end -->"
# A busy machine: more than this many processes wanted to run, for each CPU, when it began.
BUSY = 0.25


def with_spread(value, digits):
    if not value:
        return ""
    return "%.*f (%.*f..%.*f)" % (digits, value["median"], digits, value["min"], digits, value["max"])


def size(value):
    if value is None:
        return ""
    for unit in ("B", "KiB", "MiB"):
        if abs(value) < 1024 or unit == "MiB":
            return ("%d %s" if unit == "B" else "%.1f %s") % (value, unit)
        value /= 1024


def seconds(value):
    return "" if value is None else "%.2f s" % value


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    return lines + ["| " + " | ".join(cell.replace("|", "/") for cell in row) + " |" for row in rows] + [""]


def columns(data):
    """(heading, tool, whether only the client): the tools that have a baseline of their own kind."""
    found = []
    for tool in data["tools"]:
        if tool["name"] == tool["baseline"] or tool["name"] in ("bare", "jemalloc", "tcmalloc"):
            continue
        found.append((tool["name"], tool["name"], False))
        if tool["name"] == "heaptrack":
            found.append(("heaptrack, client", tool["name"], True))
    return found


def cell_of(row, tool, name, digits):
    cell = row["tools"].get(tool)
    if not cell:
        return ""
    if cell.get(name):
        return with_spread(cell[name], digits)
    return cell["error"][:60] if cell["error"] else ""


def target_of(row, form):
    return form % row["target"] if row["target"] else ""


def pair_table(data):
    head = ["malloc + free", "bare ns"] + [title for title, _, _ in columns(data)] + ["target"]
    rows = []
    for row in data["pairs"]:
        bare = sorted(row["tools"]["bare"]["ns"])
        rows.append([row["title"], "%.1f" % bare[len(bare) // 2] if bare else ""] +
                    [cell_of(row, tool, "client_added_ns" if client else "added_ns", 1) for _, tool, client in columns(data)] +
                    [target_of(row, "%g")])
    return ["Nanoseconds of CPU time added to each pair (`bench/pair.c`), median (least..most) of the rounds:", ""] + table(
        head, rows)


def cpu_table(data):
    head = ["program", "bare"] + [title for title, _, _ in columns(data)] + ["target"]
    rows = []
    for row in data["programs"]:
        bare = sorted(row["tools"]["bare"]["cpu_s"])
        rows.append([row["title"], seconds(bare[len(bare) // 2]) if bare else ""] +
                    [cell_of(row, tool, "client_cpu_ratio" if client else "cpu_ratio", 2) for _, tool, client in columns(data)] +
                    [target_of(row, "%.2f")])
    return ["CPU time (user + system, all processes) as a ratio to the baseline's of the same round, median (least..most):",
            ""] + table(head, rows)


def post_of(post):
    if not post:
        return ""
    return post["error"] or "%s, %s" % (seconds(post["wall_s"]), size(post["rss"]))


def detail_table(data):
    rows = []
    for row in data["programs"]:
        for _, tool, client in columns(data):
            cell = row["tools"].get(tool)
            if client or not cell or not cell["rounds"]:
                continue
            rate = figure_of(cell, "requests_per_s_ratio")
            rows.append([row["name"], tool, str(cell["rounds"]), with_spread(cell.get("wall_ratio"), 2), rate,
                         size(cell.get("rss_added")), size(max(cell["written"])), post_of(cell["post"])])
    head = ["program", "tool", "rounds", "wall time", "requests/s", "RSS added", "on disk", "first page of the report"]
    return ["Ratios to the baseline, and what recording costs besides CPU time:", ""] + table(head, rows)


def figure_of(cell, name):
    return with_spread(cell.get(name), 2)


def notes(data):
    lines = ["Tools:", ""]
    for tool in data["tools"]:
        lines.append("- %s: %s%s" % (tool["name"], tool["title"],
                                     "" if tool["baseline"] == tool["name"] else "; compared with " + tool["baseline"]))
    if data["skipped"]:
        lines += ["", "Not measured:", ""] + ["- " + reason for reason in data["skipped"]]
    lines += ["", "Where pmem misses a target or is behind an exact peer:", ""]
    lines += ["- " + text for text in data["behind"]] or ["- nowhere"]
    return lines + [""]


def heading(data):
    machine, load = data["machine"], data["load_average"]
    lines = ["%s, %d CPUs, Linux %s, %s; %s; %d rounds after one to warm up; %d s. Load average %.2f before, %.2f after;"
             " other processes used %.0f %% of the CPUs meanwhile." % (
                 machine["cpu"], machine["cores"], machine["kernel"], machine["libc"], data["date"], data["rounds"],
                 data["seconds"], load["before"], load["after"], 100 * data["other_cpu_share"]), ""]
    if load["before"] > BUSY * machine["cores"] or data["other_cpu_share"] > BUSY / 2:
        lines += ["**Warning: the machine was busy with other work; these figures are not to be quoted.**", ""]
    return lines


def markdown(data, more):
    lines = heading(data)
    if data["pairs"]:
        lines += pair_table(data)
    if data["programs"]:
        lines += cpu_table(data) + detail_table(data)
    return "\n".join(lines + more + notes(data))


def insert(path, text):
    """Puts text between the two markers of the document; adds them at its end if it has none."""
    path = pathlib.Path(path)
    old = path.read_text() if path.exists() else ""
    if BEGIN in old and END in old:
        before, after = old.split(BEGIN)[0], old.split(END, 1)[1]
    else:
        before, after = old + "\n", "\n"
    path.write_text(before + BEGIN + "\n\n" + text.strip() + "\n\n" + END + after)
