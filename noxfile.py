# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Makefile's tests for those who type ``nox``: each session runs the target of the same name."""
from __future__ import annotations

import nox

nox.options.sessions = ["lint", "unit"]


@nox.session(venv_backend="none")
@nox.parametrize("target", [nox.param(name, id=name) for name in ("lint", "unit", "integration", "molecule", "test")])
def make(session, target):
    """Run a target of the Makefile."""
    session.run("make", target, external=True)
