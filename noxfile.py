# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Makefile's tests for those who type ``nox``: each session runs the target of the same name."""

from __future__ import annotations

import nox

nox.options.sessions = ["quick"]


def _session_of(target):
    def session(session):
        session.run("make", target, external=True)

    nox.session(session, name=target, venv_backend="none")


for _target in ("quick", "lint", "unit", "integration", "molecule", "test", "nightly"):
    _session_of(_target)
