# SPDX-License-Identifier: BSD-2-Clause
"""prog.py LIBRARY - interpreters that come and go in one process, each of which allocates known blocks through ctypes.

Exits 77 if this Python has no subinterpreters.
"""
import sys
import threading

try:
    import _interpreters as interpreters  # 3.13
except ImportError:
    try:
        import _xxsubinterpreters as interpreters
    except ImportError:
        sys.exit(77)

CODE = """
import ctypes
known = ctypes.CDLL(%r)
known.known_keep.restype = ctypes.c_void_p
known.known_keep.argtypes = [ctypes.c_size_t]
known.known_keep(%d)
known.known_temporary(333, 50)
words = {i: str(i) * 3 for i in range(2000)}
"""


def create():
    """One that shares the lock of all: ctypes is an extension of the old kind in some versions."""
    try:
        return interpreters.create("legacy")
    except (TypeError, ValueError):
        pass
    try:
        return interpreters.create(isolated=False)
    except TypeError:
        return interpreters.create()


def work(number):
    one = create()
    failed = interpreters.run_string(one, CODE % (sys.argv[1], 1000 + number))
    assert failed is None, failed
    interpreters.destroy(one)


for number in range(6):
    work(number)
thread = threading.Thread(target=work, args=(6,))
thread.start()
thread.join()
print("OK")
