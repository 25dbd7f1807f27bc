# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The project's own rules: who may import whom, the one process door, and how long a file may be."""
from __future__ import annotations

import ast
import re
import subprocess
import sys

import pytest
import yaml

from ansible_collections.offload.lab.tests.support import CHECKOUT

OURS = "ansible_collections.offload.lab.plugins."
LONGEST_FILE = 350
# What runs on the controller may use what requirements/controller.txt installs, and the collections of galaxy.yml.
CONTROLLER_LIBRARIES = {"ansible", "ansible_collections", "jinja2", "jsonschema", "matplotlib", "numpy", "orjson",
                        "scipy", "yaml"}
TARGET_FOLDERS = ("modules", "module_utils")
MAY_IMPORT = {
    "modules": {"module_utils"},
    "module_utils": {"module_utils"},
    "plugin_utils": {"plugin_utils", "module_utils"},
    "doc_fragments": set(),
}
CONTROLLER_PLUGINS_MAY_IMPORT = {"plugin_utils", "module_utils"}
# On targets everything goes through one door. The connection plugin is the door into a node.
PROCESS_DOORS = ["plugins/connection/namespace.py", "plugins/module_utils/_runner.py"]
PROCESS_CALLS = re.compile(r"\bsubprocess\.(Popen|run|call|check_call|check_output|getoutput|getstatusoutput)\("
                           r"|\bos\.(system|popen|spawn\w+|posix_spawn\w*)\(|\bpty\.spawn\(|\bfrom subprocess import")

SOURCES = sorted(CHECKOUT.glob("plugins/**/*.py"))
TEXTS = (".py", ".yml", ".yaml", ".sh", ".j2", ".md", ".toml", ".cfg", ".html", ".css", ".js")


def name_of(path):
    return str(path.relative_to(CHECKOUT))


def kind_of(path):
    """Return the folder of plugins/ that a file is below."""
    return path.relative_to(CHECKOUT / "plugins").parts[0]


def imports(path):
    """Return the dotted names of all modules that a file imports, anywhere in it."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(), str(path))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "{0}:{1}: a relative import".format(name_of(path), node.lineno)
            names.add(node.module)
            if (node.module + ".").startswith(OURS):
                names.update("{0}.{1}".format(node.module, alias.name) for alias in node.names)
    return names


def our_file(module):
    """Return the file of a dotted name of ours, or None for another project's or a name inside a file."""
    if not module.startswith(OURS):
        return None
    path = CHECKOUT / "plugins" / (module[len(OURS):].replace(".", "/") + ".py")
    return path if path.exists() else None


def starts_processes(path, seen=()):
    """Tell whether a file of module_utils imports ansible, subprocess or the process door, itself or through others."""
    if path in seen:
        return False
    names = imports(path)
    if any(name.split(".")[0] in ("ansible", "subprocess") for name in names):
        return True
    files = [found for found in map(our_file, names) if found]
    return any(starts_processes(found, (*seen, path)) for found in files)


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_imports_go_downwards(path):
    allowed = MAY_IMPORT.get(kind_of(path), CONTROLLER_PLUGINS_MAY_IMPORT)
    found = [our_file(name) for name in imports(path)]
    assert {name_of(other) for other in found if other and kind_of(other) not in allowed} == set()


@pytest.mark.parametrize("path", [path for path in SOURCES if kind_of(path) not in TARGET_FOLDERS], ids=name_of)
def test_the_controller_uses_only_pure_files_of_module_utils(path):
    found = [our_file(name) for name in imports(path)]
    assert {name_of(other) for other in found
            if other and kind_of(other) == "module_utils" and starts_processes(other)} == set()


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_libraries_are_installed_where_the_file_runs(path):
    allowed = {"ansible", "ansible_collections"} if kind_of(path) in TARGET_FOLDERS else CONTROLLER_LIBRARIES
    roots = {name.split(".")[0] for name in imports(path)}
    assert roots - allowed - set(sys.stdlib_module_names) == set()


def test_processes_go_through_a_door():
    users = [path for path in SOURCES if PROCESS_CALLS.search(path.read_text())]
    assert [name_of(path) for path in users] == PROCESS_DOORS


def test_files_are_short():
    tracked = subprocess.check_output(["git", "-C", str(CHECKOUT), "ls-files"], text=True).splitlines()
    lengths = {name: (CHECKOUT / name).read_text(errors="replace").count("\n") for name in tracked
               if name.endswith(TEXTS) and (CHECKOUT / name).is_file()}
    assert {name: length for name, length in lengths.items() if length > LONGEST_FILE} == {}


@pytest.mark.parametrize("path", sorted(CHECKOUT.glob("plugins/modules/*.py")), ids=name_of)
def test_every_module_has_an_integration_target(path):
    # A target is run as a role: one of the name of a role of the collection would run that role in its place.
    target = f"module_{path.stem}" if (CHECKOUT / "roles" / path.stem).is_dir() else path.stem
    assert (CHECKOUT / "tests/integration/targets" / target / "tasks/main.yml").is_file()


@pytest.mark.parametrize("path", sorted(path for path in CHECKOUT.glob("roles/*") if path.is_dir()), ids=name_of)
def test_every_role_has_its_parts(path):
    parts = ("README.md", "defaults/main.yml", "meta/argument_specs.yml", "meta/main.yml")
    assert [part for part in parts if not (path / part).is_file()] == []


def test_action_groups_name_every_module():
    modules = sorted("offload.lab." + path.stem for path in CHECKOUT.glob("plugins/modules/*.py"))
    groups = yaml.safe_load((CHECKOUT / "meta/runtime.yml").read_text())["action_groups"]
    named = [name if name.startswith("offload.lab.") else "offload.lab." + name for name in groups["all"]]
    assert named == modules


def test_an_execution_environment_gets_what_the_controller_has():
    wanted = {line.split("==")[0] for line in (CHECKOUT / "requirements/controller.in").read_text().splitlines()}
    listed = set((CHECKOUT / "meta/ee-requirements.txt").read_text().splitlines())
    assert {line for line in listed if line[0] != "#"} == {line for line in wanted if line[0] != "#"} - {"ansible-core"}


def test_no_registry_host_is_named():
    """Set-up asks whatever index, mirror or Galaxy server the machine is configured for."""
    pattern = r"(pypi|galaxy\.ansible|npmjs|deb\.debian|quay|docker|ghcr|pythonhosted)\.(org|com|io)"
    found = subprocess.run(["git", "-C", str(CHECKOUT), "grep", "-lIE", pattern], text=True, stdout=subprocess.PIPE,
                           check=False)
    assert found.stdout.split() == []
