# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The archive of a campaign: no name, address, serial number or free text is in it."""

from __future__ import annotations

import io
import json
import random
import string
import tarfile

import pytest

from ansible_collections.offload.lab.plugins.module_utils._base.errors import InputError, LabError
from ansible_collections.offload.lab.plugins.plugin_utils._exports.pseudonyms import Anonymous
from ansible_collections.offload.lab.plugins.plugin_utils._report import bundle
from ansible_collections.offload.lab.plugins.plugin_utils._report.report import make_report
from ansible_collections.offload.lab.plugins.plugin_utils._trials.records import stream_records
from ansible_collections.offload.lab.tests import report_golden
from ansible_collections.offload.lab.tests.support import each_day

RENAMED = 0.3  # share of the texts that are replaced by a secret
KEPT_FORMS = ("kernel", "version", "firmware-version", "driver", "architecture", "ethtool")


class Secrets:
    """Makes texts that must not be in an archive, and remembers them."""

    def __init__(self, seed):
        self.chance = random.Random(seed)
        self.made = []

    def letters(self, count):
        return "".join(self.chance.choices(string.ascii_lowercase, k=count))

    def one(self):
        number = self.chance.randrange
        make = self.chance.choice(
            [
                lambda: f"{self.letters(7)}-{number(100)}.example.org",
                lambda: self.letters(12),
                lambda: f"10.{number(256)}.{number(256)}.{number(256)}",
                lambda: f"fd00:{number(1, 65536):x}::{number(1, 65536):x}",
                lambda: ":".join(f"{number(256):02x}" for _byte in range(6)),
                lambda: str(number(10**9, 10**10)),
                lambda: f"enx{number(1 << 48):012x}",
                lambda: f"{self.letters(6)} said: {self.letters(8)} is in rack {number(1000)}",
            ]
        )
        self.made.append(make())
        return self.made[-1]

    def planted(self, value, key=""):
        """Return a document in which texts, and keys of mappings that have names, are secrets."""
        if isinstance(value, dict):
            planted = {name: self.planted(part, name) for name, part in value.items()}
            if self.chance.random() < RENAMED / 3:
                planted[self.one()] = self.one()
            return planted
        if isinstance(value, list):
            return [self.planted(part, key) for part in value]
        if isinstance(value, str) and self.chance.random() < RENAMED:
            return f"6.1.0-{self.one()}" if key in KEPT_FORMS else self.one()
        return value


@pytest.fixture(name="folder", scope="module")
def _folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shared")
    report_golden.broken_hop(folder)
    return folder


def renamed(document, names):
    """Return a document in which whole texts have other names, keys too."""
    if isinstance(document, dict):
        return {names.get(key, key): renamed(part, names) for key, part in document.items()}
    if isinstance(document, list):
        return [renamed(part, names) for part in document]
    return names.get(document, document) if isinstance(document, str) else document


def parts_of(folder):
    plan = json.loads((folder / "plan.json").read_text())
    manifest = json.loads((folder / "manifest.json").read_text())
    return plan, manifest, list(stream_records(str(folder / "trials.jsonl"), []))


def texts_of(archive):
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        return {
            entry.name.partition("/")[2]: files.extractfile(entry).read().decode()
            for entry in files.getmembers()
        }


def secret_names(secrets):
    """Return other names for the nodes, the namespaces and a device of the campaign."""
    return {
        "node1": secrets.one(),
        "node2": secrets.one(),
        "node1-node2": secrets.one(),
        "cni-node1": (netns := secrets.letters(9)),
        "cni-node1/eth0": f"{netns}/eth0",
        "cni-node2/eth0": f"{secrets.letters(9)}/eth0",
        "flannel.1": (device := secrets.letters(8)),
        "golden": (campaign := secrets.letters(10)),
    }, [netns, device, campaign]


@pytest.mark.parametrize("seeds", each_day([range(150)], [range(150), range(150, 1000)]), ids=len)
def test_of_a_thousand_manifests_no_secret_is_left(folder, seeds):
    plan, manifest, trials = parts_of(folder)
    for seed in seeds:
        secrets = Secrets(seed)
        names, more = secret_names(secrets)
        odd = secrets.planted(renamed(manifest, names))
        hidden = Anonymous(renamed(plan, names), odd)
        trial = secrets.planted(renamed(trials[seed % len(trials)], names), "")
        hidden.see(trial)
        shared = json.dumps([hidden.document(renamed(plan, names)), hidden.document(odd)])
        shared += json.dumps(hidden.document(trial)) + hidden.names.listed()
        left = [text for text in [*secrets.made, *more] if text in shared]
        assert left == [], (seed, left)
        assert hidden.left(shared) == [], seed


@pytest.mark.parametrize("seed", range(4))
def test_no_secret_is_in_the_whole_archive(folder, tmp_path, seed):
    secrets = Secrets(seed)
    names, more = secret_names(secrets)
    plan, manifest, trials = parts_of(folder)
    (tmp_path / "plan.json").write_text(json.dumps(renamed(plan, names)))
    manifest = renamed(manifest, names)
    for node in manifest["nodes"].values():
        node["before"]["kernel_log"] = {"lines": [secrets.one(), secrets.one()]}
        node["before"]["host"].update(hostname=secrets.one(), command_line=[secrets.one()])
        node["before"]["host"][secrets.one()] = secrets.one()
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    lines = []
    for trial in trials:
        odd = renamed(trial, names)
        argv = odd["streams"][0]["argv"]
        argv[argv.index("10.244.2.5")] = "10.99.88.77"
        odd["streams"][0].update(raw=secrets.one(), stderr=secrets.one())
        lines.append(json.dumps(odd) + "\n")
    (tmp_path / "trials.jsonl").write_text("".join(lines))
    texts = texts_of(bundle.bundle_of(str(tmp_path)).archive)
    for name, text in texts.items():
        left = [secret for secret in [*secrets.made, *more, "10.99.88.77"] if secret in text]
        assert left == [], (name, left)
    assert "reproduce.sh" in texts and "ADDRESS2=240.0.0." in texts["reproduce.sh"]


def test_the_report_of_an_archive_says_the_same(folder):
    texts = texts_of(bundle.bundle_of(str(folder)).archive)
    make_report(str(folder))
    own = (folder / "report.txt").read_text().splitlines()
    shared = texts["report.txt"].splitlines()
    assert len(own) == len(shared)
    assert "16 of 16 trials" in texts["report.txt"] and "flannel.1" in texts["reproduce.sh"]
    assert "node: 2 replaced, node-1 to node-2\n" in texts[bundle.LISTED]


def test_counted_packets_and_reasons_of_drops_stay(folder, tmp_path):
    plan, manifest, trials = parts_of(folder)
    drop = "drop_reason TCP_CSUM tcp_v4_rcv"
    private = "drop_reason TCP_CSUM node1"
    counts = {"sent": 9, "sent_bytes": 900, "cut": 3, "cut_bytes": 300, "checksum_left": 9}
    counts.update(into_gro=8, received=7, received_bytes=700, namespaces=1)
    at_end = {"seconds": 0.1, "cost_s": 0.001, "devices": {"cni-node1/eth0": counts}}
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    with open(tmp_path / "trials.jsonl", "w") as stream:
        for trial in trials:
            trial["crossed"] = {"client": at_end}
            if trial.get("error"):
                counters = {drop: 4, private: 2, "TcpInCsumErrors": 4}
                trial["damage"] = {"server": {"counters": counters}}
            stream.write(json.dumps(trial) + "\n")
    texts = texts_of(bundle.bundle_of(str(tmp_path)).archive)
    shared = list(map(json.loads, texts["trials.jsonl"].splitlines()))
    (counted,) = shared[0]["crossed"]["client"]["devices"].values()
    assert counted == counts
    in_trouble = next(trial for trial in shared if trial.get("error"))
    counters = in_trouble["damage"]["server"]["counters"]
    assert counters[drop] == 4 and private not in counters
    assert "in tcp_v4_rcv, reason TCP_CSUM" in " ".join(texts["report.txt"].split())


@pytest.mark.parametrize("name", ["confirmed", "search"])
def test_a_campaign_with_decisions_has_them_in_its_archive(tmp_path, name):
    report_golden.CAMPAIGNS[name](tmp_path)
    texts = texts_of(bundle.bundle_of(str(tmp_path)).archive)
    make_report(str(tmp_path))
    own = json.loads((tmp_path / "analysis.json").read_text())
    shared = json.loads(texts["analysis.json"])
    assert shared["confirmation"]["blocks"] == own["confirmation"]["blocks"]
    assert shared["recommendation"]["confirmed"] == own["recommendation"]["confirmed"]


def test_the_same_folder_gives_the_same_archive(folder):
    first, again = (bundle.bundle_of(str(folder)) for _time in range(2))
    assert first.archive == again.archive and first.checksum == again.checksum


def test_the_originals_stay_outside(folder, tmp_path):
    made = bundle.write_bundle(str(folder), str(tmp_path), check=False)
    assert made["changed"] and "node1" in (tmp_path / bundle.NAMES).read_text()
    assert bundle.NAMES not in made["files"]
    assert not bundle.write_bundle(str(folder), str(tmp_path), check=False)["changed"]


def test_check_mode_writes_nothing(folder, tmp_path):
    assert bundle.write_bundle(str(folder), str(tmp_path), check=True)["changed"]
    assert list(tmp_path.iterdir()) == []


def test_a_name_that_is_left_is_refused(folder, monkeypatch):
    monkeypatch.setattr(Anonymous, "document", lambda self, value, key="": value)
    with pytest.raises(LabError, match="would still have the name"):
        bundle.bundle_of(str(folder))


def test_a_folder_without_a_campaign_is_refused(tmp_path):
    with pytest.raises(InputError, match="there is no plan.json"):
        bundle.bundle_of(str(tmp_path))
