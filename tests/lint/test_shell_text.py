# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Text that a shell or systemd reads is made in few files, and each of them quotes by
``_base/quoting.py``.
"""

from __future__ import annotations

import re

import pytest
import yaml

from ansible_collections.offload.lab.tests.support import CHECKOUT

# Sections and keys of unit, .link and .network files, and shells. Words of a shell that begins with
# "-c" are one text, too.
TEXT_OF_OTHERS = re.compile(
    r"ExecStart|(?<!\w)\[(?:Unit|Service|Install|Match|Link|Network)\]|/bin/(?:ba|da)?sh\b|#!/|shell=True"
    r"|[\"'](?:ba|da)?sh[\"'], *[\"']-c"
)
QUOTING = "plugins/module_utils/_base/quoting.py"
# Each of these makes such text, and imports the functions that quote.
MAKERS = {
    QUOTING,
    "plugins/module_utils/_machines/machine_steps.py",  # .link and .network files of guests
    "plugins/module_utils/_persist/managers.py",  # units, scripts of ifupdown
    "plugins/module_utils/_restore/after_boot.py",  # a unit
    "plugins/plugin_utils/_exports/daemonset.py",  # the command of a pod
}
# Lines of a shell that others put into their text, and profiles of TuneD.
MORE = {
    "plugins/module_utils/_kinds/steering.py",
    "plugins/module_utils/_kinds/sysfs.py",
    "plugins/plugin_utils/_exports/reproduction.py",  # values of a script
    "plugins/plugin_utils/_exports/host_settings.py",
    "plugins/plugin_utils/_exports/host_formats.py",
}
# The connection plugin and the copy of files get a shell's command line from Ansible, which has no
# other way. They quote each word of their own.
OF_ANSIBLE = {"plugins/connection/namespace.py", "plugins/action/visit.py"}
SOURCES = sorted(CHECKOUT.glob("plugins/**/*.py"))
IMPORT = re.compile(r"^from \.+(?:module_utils\.)?_base\.quoting import ", re.MULTILINE)
QUOTES = re.compile(r"\bshlex\b")


def named(paths):
    return {str(path.relative_to(CHECKOUT)) for path in paths}


def code_of(path):
    """Return the text of a file without its first line, which names the program that runs it."""
    return path.read_text().partition("\n")[2]


def test_text_for_a_shell_or_systemd_is_made_in_few_files():
    makers = named(path for path in SOURCES if TEXT_OF_OTHERS.search(code_of(path)))
    assert makers - OF_ANSIBLE == MAKERS


def test_each_maker_quotes_by_the_one_module():
    lacking = {name for name in MAKERS | MORE if not IMPORT.search((CHECKOUT / name).read_text())}
    assert lacking == {QUOTING}


def test_no_other_file_quotes_by_itself():
    quoting = named(path for path in SOURCES if QUOTES.search(path.read_text()))
    assert quoting == {QUOTING} | OF_ANSIBLE


class PlaybookLoader(yaml.SafeLoader):
    """Reads what is tagged !unsafe, too."""


PlaybookLoader.add_constructor("!unsafe", lambda loader, node: loader.construct_scalar(node))


def tasks_of(value):
    """Yield all mappings in a playbook."""
    if isinstance(value, dict):
        yield value
        value = list(value.values())
    for item in value if isinstance(value, list) else ():
        yield from tasks_of(item)


@pytest.mark.parametrize("folder", ["roles", "playbooks"])
def test_no_task_starts_a_shell_or_splits_a_template_into_words(folder):
    wrong = []
    for path in sorted(CHECKOUT.glob(f"{folder}/**/*.yml")):
        for document in yaml.load_all(path.read_text(), PlaybookLoader):
            for task in tasks_of(document):
                if {"ansible.builtin.shell", "ansible.builtin.raw", "shell", "raw"} & set(task):
                    wrong.append((path, "shell"))
                command = task.get("ansible.builtin.command")
                text = command.get("cmd") if isinstance(command, dict) else command
                if text and "{{" in text:
                    wrong.append((path, text))
    assert wrong == []
