# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The recipes of CONTRIBUTING.md: a toy engine, a toy kind of the host and a toy guard are added to a
copy of the collection by the steps of their recipe alone, and work there.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import sysconfig

import pytest

from ansible_collections.offload.lab.tests.support import CHECKOUT, run

LICENCE = "# SPDX-License-Identifier: GPL-3.0-or-later\nfrom __future__ import annotations\n\n"
ENGINES = "plugins/module_utils/_engines"
KINDS = "plugins/module_utils/_kinds"
GUARDS = "plugins/plugin_utils/_trials/guards.py"
COMMAND = """
def argv(load, end):
    return ["toyload", end["address"], str(load["duration"])]
"""
OUTPUT = """
def rate_of(raw):
    return float(raw.split()[0])
"""
ENGINE = """
from types import MappingProxyType

from ..engine import Engine
from . import command, output


class Toy(Engine):
    name = "toy"
    tests = ("TCP_STREAM",)
    program = "toyload"
    served_by = "toyserver"
    packages = MappingProxyType({"debian": "toy-tools"})
    called = "toyload"
    server = "toyserver"
    port_offset = 9

    def argv(self, load, test, end, index):
        return command.argv(load, end)

    def serve(self, address, port, count=1):
        return ["toyserver", address, str(port)]

    def rows(self, argv, raw, finished=0.0):
        return [{"test": "TCP_STREAM", "throughput_mbps": output.rate_of(raw)}]
"""
KIND = """
from .host import HostKind


class ToyKind(HostKind):
    name = "toy_backlog"
    about = "is a toy"
    availability = "sysctl net.core.toy_backlog"
    takes = "numbers"
    settings = ["packets"]
    file = "net/core/toy_backlog"


TOY = ToyKind()
"""
GUARD = '''
def toy(trial: Trial, _expected: Expected) -> Iterator[Mark]:
    """The trial is a toy."""
    if trial.get("toy"):
        yield mark("toy", "it has 1 toy", excludes=False)


# What another guest'''
# What the copy with the toy engine can do, by asking what roles, preflight, modules and trials ask.
USE_ENGINE = """
import os
from ansible_collections.offload.lab.plugins.doc_fragments import engine as fragment
from ansible_collections.offload.lab.plugins.module_utils._engines import engines, workload
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.campaign_file import read_campaign
from ansible_collections.offload.lab.plugins.plugin_utils._request import variables
from ansible_collections.offload.lab.plugins.plugin_utils._request.engines import engines_needed

loads = [{"name": "toys", "test": "TCP_STREAM", "engine": "toy"}]
campaign = read_campaign({"name": "x", "blocks": 6, "workloads": loads})
assert engines_needed("netperf", campaign, True).needed == ["netperf", "toy"]
assert "toy" not in engines.candidates("auto")
assert engines.engine_of("TCP_STREAM").name == "netperf"
load = workload.checked(campaign["workloads"][0])
[line] = workload.lines(load, [workload.endpoint({"address": "198.18.0.2"})])
assert line.argv == ["toyload", "198.18.0.2", "10"], line
[row] = engines.engine_that_started(line.argv).rows(line.argv, "941.5 Mbit/s")
assert row["throughput_mbps"] == 941.5
assert "toy" in fragment.ModuleDocFragment.DOCUMENTATION
assert "toy" in fragment.ModuleDocFragment.STREAMING
known = variables.known_variables(os.path.join(ROOT, "roles"))
assert not list(variables.wrong_values("node1", {"offload_lab_engine": "toy"}, known))
assert list(variables.wrong_values("node1", {"offload_lab_engine": "tyo"}, known))
"""
USE_KIND = """
import os, tempfile
from ansible_collections.offload.lab.plugins.module_utils._kinds import host, info
from ansible_collections.offload.lab.plugins.module_utils._kinds.change import change
from ansible_collections.offload.lab.plugins.module_utils._kinds.devices import parse_devices
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.campaign_file import read_campaign
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.design import make_plan

factors = [{"name": "toy_backlog", "levels": [0, 8]}]
plan = make_plan(read_campaign({"name": "x", "blocks": 6, "factors": factors}), "")
settings = [profile["settings"]["client"] for profile in plan["profiles"].values()]
assert {"node": {"toy_backlog": {"packets": 8}}} in settings, settings
host.FOLDER = tempfile.mkdtemp()
file = os.path.join(host.FOLDER, "net/core/toy_backlog")
os.makedirs(os.path.dirname(file))
open(file, "w").write("3")
kept = info.host_item()
assert kept["toy_backlog"] == {"packets": 3}, kept
asked = parse_devices([{"name": "lo", "toy_backlog": {"packets": 8}}])
for changes in (1, 0):
    assert len(change(asked, False, False)["lo"]["steps"]) == changes
    assert open(file).read().strip() == "8"
change(parse_devices([kept]), False, False)
assert open(file).read().strip() == "3"
"""
USE_GUARD = """
from ansible_collections.offload.lab.plugins.plugin_utils._trials import guards

[mark] = guards.marks_of({"toy": 1}, {})
assert (mark["guard"], mark["reason"], mark["excludes"]) == ("toy", "it has 1 toy", False)
assert not guards.marks_of({}, {}) and not guards.excluded({"marks": [mark]})
"""


def recipe(title):
    """Return the text of a recipe."""
    text = (CHECKOUT / "CONTRIBUTING.md").read_text()
    return re.search(rf"\n### {title}\n(.*?)\n##", text, re.DOTALL).group(1)


class Copy:
    """A copy of the collection, changed by the steps of one recipe."""

    def __init__(self, folder, title):
        self.folder = folder
        self.root = folder / "ansible_collections/offload/lab"
        self.recipe = recipe(title)
        for name in ("plugins", "roles", "meta"):
            shutil.copytree(CHECKOUT / name, self.root / name)
        shutil.copy(CHECKOUT / "galaxy.yml", self.root)

    def new(self, path, text):
        """Write a new file."""
        file = self.root / path
        assert not file.exists()
        file.parent.mkdir(exist_ok=True)
        file.write_text(LICENCE + text if text else "")

    def edit(self, path, old, new):
        """Change a file, which the recipe has to name."""
        assert os.path.basename(path) in self.recipe
        text = (self.root / path).read_text()
        assert text.count(old) == 1, (path, old)
        (self.root / path).write_text(text.replace(old, new))

    def python(self, code):
        """Run code that uses the copy."""
        path = f"{self.folder}:{sysconfig.get_paths()['purelib']}"
        start = f"ROOT = {str(self.root)!r}\n"
        return run([sys.executable, "-c", start + code], cwd=self.folder, PYTHONPATH=path)

    def programs(self, *engines):
        """Return of each engine the packages of the programs that role common wants on Debian."""
        file = str(self.root / "roles/common/vars/main.yml")
        distribution = {"preflight": {"distribution": {"id": "debian"}}}
        plays = []
        for engine in engines:
            variables = {"offload_lab_engine": engine, "offload_lab_ends": [], "groups": {}}
            variables["__offload_lab_preflight"] = distribution
            copy = {"content": "{{ __offload_lab_packages }}", "dest": f"{engine}.json"}
            tasks = [{"include_vars": file}, {"copy": copy}]
            play = {"hosts": "localhost", "gather_facts": False, "vars": variables, "tasks": tasks}
            plays.append(play)
        (self.folder / "play.yml").write_text(json.dumps(plays))
        path = f"{self.folder}:{sysconfig.get_paths()['purelib']}"
        argv = ["ansible-playbook", "-i", "localhost,", "-c", "local", "play.yml"]
        run(argv, cwd=self.folder, ANSIBLE_COLLECTIONS_PATH=path)
        return [json.loads((self.folder / f"{engine}.json").read_text()) for engine in engines]


def test_an_engine(tmp_path):
    copy = Copy(tmp_path, "An engine")
    copy.new(f"{ENGINES}/toy/__init__.py", "")
    copy.new(f"{ENGINES}/toy/command.py", COMMAND)
    copy.new(f"{ENGINES}/toy/output.py", OUTPUT)
    copy.new(f"{ENGINES}/toy/toy.py", ENGINE)
    file = f"{ENGINES}/engines.py"
    copy.edit(file, "Sockets())", "Sockets(), Toy())")
    copy.edit(file, "import Sockets\n", "import Sockets\nfrom .toy.toy import Toy\n")
    copy.python(USE_ENGINE)
    usual, toys = copy.programs("netperf", "toy")
    assert usual["netserver"] == "netperf" and not {"toyload", "iperf3"} & set(usual)
    assert toys["toyload"] == toys["toyserver"] == "toy-tools" and "netperf" not in toys


def test_a_kind_of_the_host(tmp_path):
    copy = Copy(tmp_path, "A kind of setting")
    assert "HostKind" in copy.recipe
    copy.new(f"{KINDS}/toy_backlog.py", KIND)
    file = f"{KINDS}/kinds.py"
    copy.edit(file, "    IRQ_AFFINITY,\n", "    IRQ_AFFINITY,\n    TOY,\n")
    copy.edit(
        file,
        "import IRQ_AFFINITY, RFS, RPS, XPS\n",
        "import IRQ_AFFINITY, RFS, RPS, XPS\nfrom .toy_backlog import TOY\n",
    )
    copy.python(USE_KIND)


def test_a_guard(tmp_path):
    copy = Copy(tmp_path, "A guard")
    copy.edit(GUARDS, "\n# What another guest", GUARD)
    copy.edit(GUARDS, "    encapsulation,\n", "    encapsulation,\n    toy,\n")
    copy.python(USE_GUARD)


@pytest.mark.parametrize(
    "title", ["A path", "A kind of setting", "An engine", "A guard", "A design"]
)
def test_the_files_of_a_recipe_are_there(title):
    named = re.findall(r"`((?:plugins|docs|tests)/[\w/.]+\.\w+)`", recipe(title))
    assert [path for path in named if not (CHECKOUT / path).exists()] == []
