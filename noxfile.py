# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# /// script
# dependencies = ["nox>=2025.2.9", "antsibull-nox==1.10.0"]
# ///
"""The sessions of antsibull-nox.toml, and a session for each of these targets of the Makefile."""

from __future__ import annotations

import nox

try:
    import antsibull_nox
except ImportError:  # a nox of its own has the targets alone
    antsibull_nox = None

if antsibull_nox:
    antsibull_nox.load_antsibull_nox_toml()


def _session_of(target):
    def session(session):
        session.run("make", target, external=True)

    session.__doc__ = f"Run: make {target}"
    nox.session(session, name=target, venv_backend="none", default=target == "quick")


for _target in ("quick", "lint", "unit", "integration", "molecule", "test", "nightly"):
    _session_of(_target)

if __name__ == "__main__":
    nox.main()
