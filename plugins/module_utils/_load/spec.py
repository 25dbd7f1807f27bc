# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pure: the options of module visit, shared by its part on the node and its part on the controller."""

from __future__ import annotations

from typing import Any

from .._base import network

CELL: dict[str, dict[str, Any]] = {
    "id": {"type": "str", "required": True},
    "workload": {"type": "dict", "required": True},
    "endpoints": {"type": "list", "elements": "dict", "required": True},
    "path": {"type": "str"},
    "profile": {"type": "str"},
    "mtu": {"type": "int"},
    "pair": {"type": "str"},
}
PROBE: dict[str, dict[str, Any]] = {
    "address": {"type": "str", "required": True},
    "port": {"type": "int", "default": network.PROBE_PORT},
    "token": {"type": "str", "required": True, "no_log": True},
}
# How packets are sampled, of modules evidence and visit.
SAMPLES: dict[str, dict[str, Any]] = {
    "tests": {
        "type": "list",
        "elements": "str",
        "choices": ["TCP_STREAM", "TCP_MAERTS"],
        "default": ["TCP_STREAM"],
    },
    "seconds": {"type": "float", "default": 0.3},
    "vxlan_port": {"type": "int", "default": network.VXLAN_PORT},
}
SAMPLING: dict[str, dict[str, Any]] = {
    **SAMPLES,
    "paths": {"type": "list", "elements": "dict"},
    "engine": {"type": "str"},
    "datagrams": {"type": "dict"},
}
# What the guards compare a trial with. ansible-core 2.18 gives a number of a template as a text.
EXPECT: dict[str, dict[str, Any]] = {
    "vni": {"type": "int"},
    "underlay_ip": {"type": "int", "choices": [4, 6], "default": 4},
    "ipv6_paths": {"type": "list", "elements": "str", "default": []},
    "tag": {"type": "int", "default": 0},
    "timestamps": {"type": "bool", "default": True},
    "speed_mbps": {"type": "int", "default": 0},
}
SPEC: dict[str, dict[str, Any]] = {
    "plan": {"type": "path"},
    "mtu": {"type": "int"},
    "block": {"type": "int"},
    "visit": {"type": "int"},
    "cells": {"type": "list", "elements": "dict", "options": CELL},
    "endpoints": {"type": "dict"},
    "devices": {"type": "dict"},
    "port": {"type": "int", "default": network.NETSERVER_PORT},
    "record": {"type": "path"},
    "campaign": {"type": "str", "default": "netperf"},
    "client": {"type": "str"},
    "server": {"type": "str"},
    "chunk_seconds": {"type": "int", "default": 150},
    "chunks": {"type": "int", "default": 0},
    "collect": {"type": "bool", "default": False},
    "probe": {"type": "dict", "options": PROBE},
    "forwarder": {
        "type": "dict",
        "options": {**PROBE, "name": {"type": "str"}, "devices": {"type": "dict"}},
    },
    "sampling": {"type": "dict", "options": SAMPLING},
    "watch": {"type": "dict"},
    "evidence": {"type": "dict"},
    "expect": {"type": "dict", "options": EXPECT},
    "chunk": {"type": "str"},
    "reach": {"type": "list", "elements": "dict", "default": []},
    "engines": {"type": "list", "elements": "str", "default": ["netperf"]},
    "token": {"type": "str", "no_log": True},
    "spool": {"type": "path", "default": "/var/lib/offload-lab/spool"},
}
# Of the part on the controller alone.
STEP: dict[str, dict[str, Any]] = {"step": {"type": "dict"}}
