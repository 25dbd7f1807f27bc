# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each integration target, run by ansible-test on this machine, as root, on devices that the target makes itself.

ansible-test takes the environment that runs the tests: with ``--venv`` it would make another, without the
collections of requirements.yml.
"""
from __future__ import annotations

import sys

import pytest

from ansible_collections.offload.lab.tests.support import CHECKOUT, run

TARGETS = sorted(path.name for path in CHECKOUT.glob("tests/integration/targets/*") if path.is_dir())


@pytest.mark.usefixtures("lab_packages_required")
@pytest.mark.parametrize("target", TARGETS)
def test_target(target):
    output = run([sys.executable, "tools/run_ansible_test.py", "integration", "--allow-root", "--allow-destructive",
                  target])
    assert "PLAY RECAP" in output, "ansible-test ran nothing:\n" + output
