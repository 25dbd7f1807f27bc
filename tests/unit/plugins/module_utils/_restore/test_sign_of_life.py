# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an error says that comes from a harm which the other end has seen first."""

from __future__ import annotations

import threading

import pytest

from ansible_collections.offload.lab.plugins.module_utils._base.errors import LabError
from ansible_collections.offload.lab.plugins.module_utils._restore import sign_of_life

HARM = "10.244.2.5 did not answer for 1.2 s"


@pytest.fixture(name="node")
def _node(monkeypatch, tmp_path):
    """The files of a node's switch; none exists yet."""
    for name in ("FIRED", "WATCHED", "ALIVE"):
        monkeypatch.setattr(sign_of_life, name, str(tmp_path / name))
    return tmp_path


def test_an_error_of_a_node_whose_switch_has_fired_is_explained(node):
    (node / "FIRED").write_text(f"{HARM}\n")
    with pytest.raises(LabError, match=HARM):
        sign_of_life.explain()


def test_a_switch_that_checks_for_harm_is_waited_for(node):
    (node / "WATCHED").touch()
    soon = threading.Timer(0.2, (node / "FIRED").write_text, [HARM])
    soon.start()
    with pytest.raises(LabError, match=HARM):
        sign_of_life.explain()
    soon.join()


@pytest.mark.parametrize("files", [[], ["WATCHED"]])
def test_another_error_stays_what_it_is(node, monkeypatch, files):
    monkeypatch.setattr(sign_of_life, "HARM_S", 0.05)
    for name in files:
        (node / name).touch()
    sign_of_life.explain()
