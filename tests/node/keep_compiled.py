# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run a file as Python does, and keep what is compiled of the zip files that it imports from:
keep_compiled.py [FILE ARGUMENT...], without a file of standard input.
"""

from __future__ import annotations

import os
import sys
import zipimport
from importlib.util import source_hash
from marshal import dumps, loads

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
KEPT = os.path.join(os.path.dirname(TESTS), ".build/compiled", sys.implementation.cache_tag)
compile_source = zipimport._compile_source


def kept(path, source):
    """Return the code of this source text; a traceback may name the zip file of an earlier module."""
    kept_path = os.path.join(KEPT, source_hash(source).hex())
    try:
        with open(kept_path, "rb") as stream:
            return loads(stream.read())
    except (OSError, EOFError, ValueError, TypeError):
        code = compile_source(path, source)
        os.makedirs(KEPT, exist_ok=True)
        unfinished = f"{kept_path}.{os.getpid()}"
        with open(unfinished, "wb") as stream:
            stream.write(dumps(code))
        os.replace(unfinished, kept_path)
        return code


def run(script):
    """Run the text of a script, as Python does with its standard input or a file."""
    exec(compile(script, globals().get("__file__", "<stdin>"), "exec"), globals())


if __name__ == "__main__":
    zipimport._compile_source = kept
    del sys.argv[0]
    if sys.argv:
        __file__ = sys.argv[0]
        sys.path[0] = os.path.dirname(__file__)
        with open(__file__, "rb") as stream:
            run(stream.read())
    else:
        del __file__
        sys.argv = [""]
        run(sys.stdin.buffer.read())
