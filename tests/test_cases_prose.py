# SPDX-License-Identifier: BSD-2-Clause
"""test_cases_prose - what the expect.md files of tests/cases say beside their truth blocks; of log and profile."""
import os

import pytest

import pmem_names
import pmem_truth
from test_cases import cases  # noqa: F401  the fixture

pytestmark = pytest.mark.usefixtures("cases")
SOURCES = (pmem_truth.LOG, pmem_truth.PROFILE)


@pytest.fixture(params=SOURCES)
def source(request):
    return request.param


def views(cases, name, source):
    outcome = cases.outcome(name)
    if outcome.code == 77:
        pytest.skip("run.sh says 77")
    return outcome.views(source)


def live(entries):
    return sum(e.live for e in entries)


def test_each_forked_child_has_a_file_of_its_own(cases, source):
    found = views(cases, "06-fork-child-has-own-profile", source)
    assert len({v.source.pid for v in found}) == len(found) == 4
    parents = [v for v in found if v.site("leak_parent")]
    assert len(parents) == 1 and not parents[0].site("leak_child")
    for child in found:
        if child is not parents[0]:
            assert live(child.site("leak_child")) == 3000
            assert live(child.site("leak_before")) in (0, 7000)
            assert live(child.site("main")) == 0
    assert live(parents[0].site("main")) == 0


def test_vfork_children_do_not_write_into_the_parents_file(cases, source):
    found = [v for v in views(cases, "07-vfork-spawn-system-popen", source) if os.path.basename(v.source.exe) == "prog"]
    assert len(found) == 1
    assert live(found[0].site("main_leak")) == 8880
    if source == pmem_truth.LOG:
        assert len(found[0].source.snapshots) == 1, "a child's _exit is no end of the parent"


def test_images_of_one_process_do_not_share_a_file(cases, source):
    for view in views(cases, "08-exec-chain-same-pid", source):
        sizes = {e.live for e in view.site("leak_level")}
        assert len(sizes) <= 1, "two images in one file"


def test_a_reused_address_is_another_site(cases, source):
    found, = views(cases, "37-dlopen-dlclose-attribution", source)
    for plugin, size in (("alpha", 11110), ("beta", 22220)):
        entries = found.site("leak_plugin_" + plugin)
        assert live(entries) == size
        for e in entries:
            assert os.path.basename(pmem_names.stack(e)[0].object) == "plug%c.so" % plugin[0]


def test_stacks_end_where_their_coroutine_began(cases, source):
    found, = views(cases, "32-ucontext-coroutines", source)
    for e in found.site("co_leak"):
        names = [pmem_names.function(f) for f in pmem_names.stack(e)]
        assert names[:2] == ["co_leak", "co_body"] and len(names) <= 4, names
        assert "main" not in names


def test_a_stack_passes_the_signal_frame(cases, source):
    found, = views(cases, "28-malloc-in-handler-on-altstack", source)
    for e in found.site("handler_leak"):
        names = [pmem_names.function(f) for f in pmem_names.stack(e)]
        assert names[:2] == ["handler_leak", "h"] and "main" in names, names


def test_no_frames_are_left_over_after_throw_and_longjmp(cases, source):
    found, = views(cases, "31-exceptions-and-longjmp", source)
    for site in ("leak_after_throw", "leak_after_jump"):
        for e in found.site(site):
            names = found.below(pmem_names.stack(e), "main")
            assert names == ["main", site]


def test_deep_stacks_are_whole_or_say_that_they_are_cut(cases, source):
    found, = views(cases, "35-deep-recursion", source)
    for e in found.site("bottom_leak"):
        frames = pmem_names.stack(e)
        names = [pmem_names.function(f) for f in frames]
        assert "main" in names or frames[-1].mark, "cut without a mark after %d frames" % len(names)
    depths = sorted(sum(pmem_names.function(f) == "rec" for f in pmem_names.stack(e))
                    for e in found.site("bottom_leak"))
    assert depths == [2, 101, 1001, 10001, 10001]


def test_jit_frames_end_the_stack_or_go_on_truthfully(cases, source):
    found, = views(cases, "40-jit-code-without-cfi", source)
    for e in found.site("jit_cb_leak"):
        names = [pmem_names.function(f) for f in pmem_names.stack(e)]
        assert "main" in names or e.frames[-1].mark == "[truncated]", names


def test_blocks_that_crossed_a_deepbind_border_are_no_leak(cases, source):
    found, = views(cases, "39-rtld-deepbind", source)
    main = found.site("main")
    assert live(e for e in main if e.frames[0].symbol == "malloc") < 1000, "500 blocks of 100 bytes are all dead"
    if live(main) >= 1000:  # realloc in the program, free in the plugin: blocks escaped, and that must be said
        assert found.stale_blocks() > 0


def test_a_stripped_program_has_no_invented_names(cases, source):
    found = [v for v in views(cases, "42-stripped-with-debuglink", source) if "/none/" in v.source.exe]
    assert len(found) == 1
    program = [f for e, frames in found[0].entries for f in frames if f.object.endswith("/none/prog")]
    assert program and not [f for f in program if f.symbol]
    assert live(e for e, _ in found[0].program_entries) == 2700


def test_inlined_calls_are_told_apart(cases, source):
    found, = views(cases, "44-inline-frames", source)
    assert sorted(e.live for e in found.site("real_one")) == [1000, 2000]


@pytest.mark.parametrize("name,states", [
    ("08-exec-chain-same-pid", ["killed"] * 3 + ["ended"]), ("53-kill-9-mid-run", ["killed"]),
    ("54-abort-and-segv", ["killed", "killed", "ended", "killed", "killed"]),
])
def test_the_end_of_each_image_is_known(cases, name, states):
    found = [v for v in views(cases, name, pmem_truth.PROFILE) if os.path.basename(v.source.exe) != "bash"]
    assert [v.source.process["state"] for v in found] == states


def test_rss_stands_beside_live_bytes(cases, source):
    fragmented, = views(cases, "70-fragmentation", source)
    assert max(fragmented.rss()) >= 100 << 20
    assert live(e for e, _ in fragmented.entries) < 13 << 20


def test_a_block_that_glibc_maps_is_counted_once(cases, source):
    found, = views(cases, "69-mmap-heavy", source)
    assert sum(e.alloc_total for e in found.site("main")) == 40 << 20


def test_processes_of_a_script_each_have_their_file(cases, source):
    found = views(cases, "72-shell-pipeline", source)
    assert {"bash", "sort", "seq", "head", "tr"} <= {os.path.basename(v.source.exe) for v in found}


def test_every_key_of_every_truth_block_is_understood():
    import pmem_cases
    for name in pmem_cases.names():
        for claim in pmem_cases.claims(name):
            assert isinstance(claim, pmem_truth.Claim)
