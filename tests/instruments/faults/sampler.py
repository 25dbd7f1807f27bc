# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs inside a node, without the project: prints the time and a device's TSO whenever one of them
has jumped.
"""

from __future__ import annotations

import array
import fcntl
import socket
import struct
import sys
import time

SIOCETHTOOL = 0x8946
ETHTOOL_GTSO = 0x1E

sock = socket.socket()
last = None
printed_at = 0.0
while True:
    value = array.array("I", [ETHTOOL_GTSO, 0])
    fcntl.ioctl(
        sock, SIOCETHTOOL, struct.pack("16sP", sys.argv[1].encode(), value.buffer_info()[0])
    )
    now = time.time()
    if value[1] != last or abs(now - printed_at) > 60:
        last = value[1]
        print(now, last, flush=True)
    printed_at = now
    time.sleep(0.02)
