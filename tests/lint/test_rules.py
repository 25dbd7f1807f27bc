# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The project's own rules: who may import whom, the one process door, and how dense code may be."""

from __future__ import annotations

import ast
import functools
import itertools
import re
import subprocess
import sys

import pytest
import yaml

from ansible_collections.offload.lab.tests.support import CHECKOUT

OURS = "ansible_collections.offload.lab.plugins."
# What runs on the controller may use what requirements/controller.txt installs, and the collections
# of galaxy.yml.
CONTROLLER_LIBRARIES = {
    "ansible",
    "ansible_collections",
    "jinja2",
    "jsonschema",
    "markupsafe",  # of jinja2
    "numpy",
    "orjson",
    "pyDOE3",
    "scipy",
    "yaml",
}
TARGET_FOLDERS = ("modules", "module_utils")
# The rooms in their order: a room may import itself and the rooms of earlier rows. docs/decisions/rooms.md
# describes each.
ROOMS = {
    "module_utils": [
        ["_base"],
        ["_host"],
        ["_engines", "_iproute", "_ethtool", "_ovs", "_machines"],
        ["_load", "_kinds", "_lab", "_nodes"],
        ["_restore"],
        ["_observe", "_persist"],
        ["_preflight"],
    ],
    "plugin_utils": [
        ["_untrusted"],
        ["_known_cases", "_netperf_logs", "_paths", "_statistics", "_store"],
        ["_campaign", "_lab"],
        ["_action", "_trials", "_request"],
        ["_analysis"],
        ["_exports", "_figures", "_search"],
        ["_report"],
        ["_across", "_decisions", "_live"],
    ],
}
ANSIBLE_DOC = ("DOCUMENTATION", "EXAMPLES", "RETURN")
MAY_IMPORT = {
    "modules": {"module_utils"},
    "module_utils": {"module_utils"},
    "plugin_utils": {"plugin_utils", "module_utils"},
    "doc_fragments": {"module_utils"},
}
CONTROLLER_PLUGINS_MAY_IMPORT = {"plugin_utils", "module_utils"}
# On targets everything goes through one door. The connection plugin is the door into a node. The door of
# the servers runs alone, without privileges, and starts netserver or iperf3. What is part of reproduce.sh
# runs without us.
PROCESS_DOORS = [
    "plugins/connection/namespace.py",
    "plugins/module_utils/_engines/door.py",
    "plugins/module_utils/_host/runner.py",
    "plugins/plugin_utils/_exports/reproduce_node.py",
]
PROCESS_CALLS = re.compile(
    r"\bsubprocess\.(Popen|run|call|check_call|check_output|getoutput|getstatusoutput)\("
    r"|\bos\.(system|popen|spawn\w+|posix_spawn\w*)\(|\bpty\.spawn\(|\bfrom subprocess import"
)

SOURCES = sorted(CHECKOUT.glob("plugins/**/*.py"))


def name_of(path):
    return str(path.relative_to(CHECKOUT))


def kind_of(path):
    """Return the folder of plugins/ that a file is below."""
    return path.relative_to(CHECKOUT / "plugins").parts[0]


def absolute(path, node):
    """Return the dotted name of the module that a ``from`` imports from, relative or not."""
    if not node.level:
        return node.module
    package = path.relative_to(CHECKOUT / "plugins").parts[: -node.level]
    return ".".join([OURS.rstrip("."), *package, *filter(None, [node.module])])


@functools.cache
def imports(path):
    """Return the dotted names of all modules that a file imports, anywhere in it."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(), str(path))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = absolute(path, node)
            names.add(module)
            if (module + ".").startswith(OURS):
                names.update(f"{module}.{alias.name}" for alias in node.names)
    return names


def our_file(module):
    """Return the file of a dotted name of ours, or None for another project's or a name inside a
    file.
    """
    if not module.startswith(OURS):
        return None
    path = CHECKOUT / "plugins" / (module[len(OURS) :].replace(".", "/") + ".py")
    return path if path.exists() else None


@functools.cache
def starts_processes(path, visited=()):
    """Return whether a file of module_utils imports ansible, subprocess or the process door,
    directly or not.
    """
    if path in visited:
        return False
    names = imports(path)
    if any(name.split(".")[0] in ("ansible", "subprocess") for name in names):
        return True
    files = [imported for imported in map(our_file, names) if imported]
    return any(starts_processes(imported, (*visited, path)) for imported in files)


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_imports_go_downwards(path):
    allowed = MAY_IMPORT.get(kind_of(path), CONTROLLER_PLUGINS_MAY_IMPORT)
    imported = [our_file(name) for name in imports(path)]
    assert {
        name_of(other) for other in imported if other and kind_of(other) not in allowed
    } == set()


def room_of(path):
    """Return ``(kind, room)`` of a file of a room, or None."""
    parts = path.relative_to(CHECKOUT / "plugins").parts
    return parts[:2] if len(parts) > 2 else None


@pytest.mark.parametrize("path", [path for path in SOURCES if room_of(path)], ids=name_of)
def test_rooms_import_in_their_order(path):
    kind, room = room_of(path)
    position = next(order for order, row in enumerate(ROOMS[kind]) if room in row)
    allowed = {room}.union(*ROOMS[kind][:position])
    others = {our_file(name) for name in imports(path)} - {None}
    assert {
        name_of(other)
        for other in others
        if kind_of(other) == kind and room_of(other)[1] not in allowed
    } == set()


@pytest.mark.parametrize("kind", ROOMS)
def test_rooms_are_those_of_the_map(kind):
    """Each room is a package without code of its own, has few files, and a row in docs/decisions/rooms.md's
    map.
    """
    rooms = {room for row in ROOMS[kind] for room in row}
    folder = CHECKOUT / "plugins" / kind
    assert {path.name for path in folder.iterdir() if path.name != "__pycache__"} == rooms
    page = (CHECKOUT / "docs/decisions/rooms.md").read_text()
    for room in rooms:
        assert (folder / room / "__init__.py").read_text() == ""
        assert f"| `{room}` |" in page, room


@pytest.mark.parametrize(
    "path", [path for path in SOURCES if kind_of(path) not in TARGET_FOLDERS], ids=name_of
)
def test_the_controller_uses_only_pure_files_of_module_utils(path):
    imported = [our_file(name) for name in imports(path)]
    assert {
        name_of(other)
        for other in imported
        if other and kind_of(other) == "module_utils" and starts_processes(other)
    } == set()


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_libraries_are_installed_where_the_file_runs(path):
    allowed = (
        {"ansible", "ansible_collections"}
        if kind_of(path) in TARGET_FOLDERS
        else CONTROLLER_LIBRARIES
    )
    roots = {name.split(".")[0] for name in imports(path)}
    assert roots - allowed - set(sys.stdlib_module_names) == set()


def test_processes_go_through_a_door():
    users = [path for path in SOURCES if PROCESS_CALLS.search(path.read_text())]
    assert [name_of(path) for path in users] == PROCESS_DOORS


PYTHON_STARTER = "plugins/module_utils/_host/script.py"
# A program's name, alone or at the end of a path, as the word of a command line
IS_PYTHON = re.compile(r"(?:.*/)?python[0-9.]*")
# What names an interpreter but starts none: a variable of Ansible
NAMES_PYTHON = {("plugins/module_utils/_nodes/lab_hosts.py", "/usr/bin/python3")}
STARTS_PYTHON = re.compile(r"(?<![\w.-])(?:/\S*/)?python[0-9.]*(?![\w.-])|ansible_python")
# Packages that are installed, and a folder of an image: no command starts with these words.
PACKAGES_OF_PYTHON = {"roles/machines/files/machine_image.sh": "packages="}


def python_words(path):
    """Return what names Python in a file of plugins: text of a command line, and sys.executable."""
    words_of_file = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            words_of_file.update(filter(IS_PYTHON.fullmatch, [node.value]))
        elif isinstance(node, ast.Attribute) and node.attr in ("executable", "_base_executable"):
            words_of_file.add("sys.executable")
    return {(name_of(path), word) for word in words_of_file} - NAMES_PYTHON


def test_python_is_started_in_one_way():
    """Another one would import from the folder of its script, or from the one it is started in."""
    words_of_all = set().union(*map(python_words, SOURCES))
    assert {name for name, _word in words_of_all} == {PYTHON_STARTER}


def python_lines(path):
    """Return the lines of a task file or a script that name Python; not comments or package lists."""
    packages = PACKAGES_OF_PYTHON.get(name_of(path))
    lines = [line for line in path.read_text().splitlines() if not line.lstrip().startswith("#")]
    return [
        f"{name_of(path)}: {line}"
        for line in lines
        if STARTS_PYTHON.search(line) and not (packages and line.startswith(packages))
    ]


def test_no_role_or_playbook_starts_python():
    paths = [*CHECKOUT.glob("roles/**/*"), *CHECKOUT.glob("playbooks/**/*")]
    texts = [path for path in paths if path.suffix in (".yml", ".yaml", ".sh", ".j2", ".py")]
    assert len(texts) > 50
    assert list(itertools.chain.from_iterable(map(python_lines, texts))) == []


def test_the_rule_of_python_sees_a_start():
    for line in (
        "cmd: python3 -c pass",
        "argv: [/usr/bin/python3.11, x]",
        "#!/usr/bin/env python",
        '"{{ ansible_python_interpreter }}" x',
    ):
        assert STARTS_PYTHON.search(line), line
    for word in ("python3", "/usr/bin/python3.11", "python"):
        assert IS_PYTHON.fullmatch(word), word


COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
BRANCHES = (ast.If, ast.For, ast.While, ast.IfExp, ast.ExceptHandler, ast.comprehension)
MOST_BRANCHES = 10
# How many there are yet; never more.
MANY_BRANCHES = 2
NESTED_COMPREHENSIONS = 5
NESTED_TERNARIES = 0


def branches(function):
    """Return how many ways through a function there are, its comprehensions and operators counted."""
    count = 1
    for node in ast.walk(function):
        count += isinstance(node, BRANCHES)
        if isinstance(node, ast.BoolOp):
            count += len(node.values) - 1
        elif isinstance(node, ast.comprehension):
            count += len(node.ifs)
    return count


def holds(nodes, kinds):
    """Return whether one of the nodes is, or has in it, a node of these kinds."""
    return any(isinstance(inner, kinds) for node in nodes for inner in ast.walk(node))


def has_many_branches(node):
    return isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and (
        branches(node) > MOST_BRANCHES
    )


def is_nested_comprehension(node):
    """Return whether it has two loops, or another comprehension in its element or what it goes over."""
    if not isinstance(node, COMPREHENSIONS):
        return False
    element = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
    sources = [loop.iter for loop in node.generators]
    return len(sources) > 1 or holds([*element, *sources], COMPREHENSIONS)


def is_nested_ternary(node):
    return isinstance(node, ast.IfExp) and holds(ast.iter_child_nodes(node), ast.IfExp)


def has_its_reason(lines, number):
    """Return whether a comment in this line, or above it, gives a measured figure."""
    line = lines[number - 1]
    above = lines[number - 2].lstrip()
    beside = line.partition("  # ")[2] or (above if above.startswith("#") else "")
    return any(character.isdigit() for character in beside)


DENSE = {
    has_many_branches: MANY_BRANCHES,
    is_nested_comprehension: NESTED_COMPREHENSIONS,
    is_nested_ternary: NESTED_TERNARIES,
}


@functools.cache
def dense_places():
    """Return the places of plugins that are dense, by the rule; each file is read once."""
    hits = {dense: [] for dense in DENSE}
    for path in SOURCES:
        lines = path.read_text().splitlines()
        for node in ast.walk(ast.parse("\n".join(lines))):
            for dense in DENSE:
                if dense(node) and not has_its_reason(lines, node.lineno):
                    hits[dense].append(f"{name_of(path)}:{node.lineno}")
    return hits


@pytest.mark.parametrize("dense", DENSE)
def test_plugins_have_one_idea_a_line(dense):
    """More than is allowed is given a name, step by step; a measured hot spot says so in a
    comment."""
    hits = dense_places()[dense]
    assert len(hits) <= DENSE[dense], hits


# A path of a file of Python in a text, such as _restore/dead_man.py
NAMED_FILE = re.compile(r"(?<![\w./])(?:\w+/)+\w+\.py\b")


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_named_files_are_there(path):
    named = set(NAMED_FILE.findall(path.read_text()))
    there = [str(source) for source in SOURCES]
    missing = [
        name
        for name in named
        if not (CHECKOUT / name).exists() and not any(file.endswith(f"/{name}") for file in there)
    ]
    assert missing == []


def tracked_files():
    return subprocess.check_output(["git", "-C", str(CHECKOUT), "ls-files"], text=True).splitlines()


def test_where_is_what_names_files_that_are_there():
    """The page answers twenty questions of a newcomer with files."""
    text = (CHECKOUT / "docs/decisions/where-is-what.md").read_text()
    rows = [line.split("|")[1:3] for line in text.splitlines() if line.startswith("| ")][2:]
    assert len(rows) >= 20
    files = [name for _question, answer in rows for name in re.findall(r"`([^`]+)`", answer)]
    assert len(files) >= len(rows)
    assert [name for name in files if not (CHECKOUT / name).exists()] == []


@pytest.mark.parametrize(
    "path", [path for path in SOURCES if not kind_of(path).endswith("_utils")], ids=name_of
)
def test_documentation_is_yaml(path):
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") in ANSIBLE_DOC:
            list(
                yaml.load_all(
                    ast.literal_eval(node.value),
                    Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader),
                )
            )


@pytest.mark.parametrize("path", sorted(CHECKOUT.glob("plugins/modules/*.py")), ids=name_of)
def test_every_module_has_an_integration_target(path):
    # A target is run as a role: one of the name of a role of the collection would run that role in
    # its place.
    target = f"module_{path.stem}" if (CHECKOUT / "roles" / path.stem).is_dir() else path.stem
    assert (CHECKOUT / "tests/integration/targets" / target / "tasks/main.yml").is_file()


@pytest.mark.parametrize(
    "path", sorted(path for path in CHECKOUT.glob("roles/*") if path.is_dir()), ids=name_of
)
def test_every_role_has_its_parts(path):
    parts = ("README.md", "defaults/main.yml", "meta/argument_specs.yml", "meta/main.yml")
    assert [part for part in parts if not (path / part).is_file()] == []


EMPTY = ("", [], {})


def role_files(part):
    return {
        path.parts[-3]: yaml.safe_load(path.read_text()) or {}
        for path in CHECKOUT.glob(f"roles/*/{part}")
    }


def role_defaults():
    """Return ``{variable: {role: default}}``; what a role takes over from another host's variables
    is not a default.
    """
    defaults = {}
    for role, values in role_files("defaults/main.yml").items():
        for name, value in values.items():
            if "__offload_lab_first_node" not in str(value):
                defaults.setdefault(name, {})[role] = value
    return defaults


def documented_defaults():
    """Return [(role, variable, its option)] of all argument specs."""
    return [
        (role, name, option)
        for role, specs in role_files("meta/argument_specs.yml").items()
        for entry in specs["argument_specs"].values()
        for name, option in (entry.get("options") or {}).items()
    ]


def test_a_variable_has_its_default_in_one_place():
    assert {name: roles for name, roles in role_defaults().items() if len(roles) > 1} == {}


def kept_names(role):
    """Return the names under which the tasks of a role keep what a task answered."""
    texts = [path.read_text() for path in (role / "tasks").glob("*.yml")]
    return set(re.findall(r"^ *register: (\w+)$", "\n".join(texts), re.MULTILINE))


def test_what_a_task_keeps_hides_no_variable_of_its_role():
    """A registered variable hides the variable of vars/main.yml for the rest of the play."""
    hidden = {}
    for file in sorted(CHECKOUT.glob("roles/*/vars/main.yml")):
        role = file.parents[1]
        variables = set(yaml.safe_load(file.read_text()) or {})
        hidden[role.name] = sorted(variables & kept_names(role))
    assert hidden and {role: names for role, names in hidden.items() if names} == {}


def test_the_documented_default_is_that_of_the_variable():
    """One that is empty or a template need not be documented."""
    defaults = {name: next(iter(roles.values())) for name, roles in role_defaults().items()}
    documented = [
        (role, name, option.get("default"), defaults[name])
        for role, name, option in documented_defaults()
        if name in defaults and "{{" not in str(defaults[name])
    ]
    assert documented
    assert [
        row
        for row in documented
        if row[2] != row[3] and (row[2] is not None or row[3] not in EMPTY)
    ] == []


def test_a_default_that_is_repeated_in_a_template_is_that_of_the_variable():
    """A playbook may ask for a variable where no role is that has its default."""
    defaults = {
        name: option["default"]
        for _role, name, option in documented_defaults()
        if "default" in option
    }
    defaults.update({name: next(iter(roles.values())) for name, roles in role_defaults().items()})
    pattern = re.compile(r"\b(offload_lab_\w+) \| default\(([^()]+)\)")
    paths = [*CHECKOUT.glob("playbooks/*.yml"), *CHECKOUT.glob("roles/*/*/*.yml")]
    repeated = [
        (path, name, yaml.safe_load(text))
        for path in paths
        for name, text in pattern.findall(path.read_text())
        if name in defaults and defaults[name] not in EMPTY and "{{" not in str(defaults[name])
    ]
    assert repeated
    assert [
        (name_of(path), name, value) for path, name, value in repeated if value != defaults[name]
    ] == []


def test_every_play_has_tags():
    """So that a part of what imports playbooks can be chosen: their names are the tags."""
    plays = [
        (path.stem, play)
        for path in CHECKOUT.glob("playbooks/*.yml")
        for play in path.read_text().split("\n- ")
        if "\n  hosts: " in play
    ]
    assert plays
    assert [
        name for name, play in plays if not re.search(rf"\n  tags: \[({name}|always)\]\n", play)
    ] == []


@pytest.mark.parametrize(
    "path", sorted(CHECKOUT.glob("playbooks/*.yml")), ids=lambda path: path.stem
)
def test_every_playbook_checks_the_names_of_variables_first(path):
    name = path.name
    while name != "variables_check.yml":
        first = re.search(
            r"^- name: .*\n  (\S+): (\S+)$", path.with_name(name).read_text(), re.MULTILINE
        )
        assert first and first[1] == "ansible.builtin.import_playbook", name
        name = first[2]


def test_action_groups_name_every_module():
    modules = sorted("offload.lab." + path.stem for path in CHECKOUT.glob("plugins/modules/*.py"))
    groups = yaml.safe_load((CHECKOUT / "meta/runtime.yml").read_text())["action_groups"]
    named = [
        name if name.startswith("offload.lab.") else "offload.lab." + name for name in groups["all"]
    ]
    assert named == modules


def test_an_execution_environment_gets_what_the_controller_has():
    packages = {
        line.split("==")[0]
        for line in (CHECKOUT / "requirements/controller.in").read_text().splitlines()
    }
    listed = set((CHECKOUT / "meta/ee-requirements.txt").read_text().splitlines())
    assert {line for line in listed if line[0] != "#"} == {
        line for line in packages if line[0] != "#"
    } - {"ansible-core"}


def test_no_registry_host_is_named():
    """Set-up asks whatever index, mirror or Galaxy server the machine is configured for."""
    pattern = (
        r"(pypi|galaxy\.ansible|npmjs|deb\.debian|quay|docker|ghcr|pythonhosted)\.(org|com|io)"
    )
    names_found = subprocess.run(
        ["git", "-C", str(CHECKOUT), "grep", "-lIE", pattern],
        text=True,
        stdout=subprocess.PIPE,
        check=False,
    )
    assert names_found.stdout.split() == []
